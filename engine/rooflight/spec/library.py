"""Reads everything under specs/ at once: tables, components with what they extend, drafts, models."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rooflight.spec.located import Section, overlay
from rooflight.spec.precision import read_precision
from rooflight.spec.quant import read_scheme
from rooflight.spec.read_component import read_component
from rooflight.spec.read_model import read_model
from rooflight.spec.read_tables import read_config_keys, read_dims, read_roles
from rooflight.spec.reader import nearest
from rooflight.spec.records import ComponentSpec, Library, ModelSpec
from rooflight.spec.scope import check_model_names
from rooflight.values import SpecError


class Sources(NamedTuple):
    """The located text of a library: one entry per file, components and models by file name."""

    dims: Any
    roles: Any
    config_keys: Any
    components: Mapping[str, Any]
    drafts: Mapping[str, Any]
    models: Mapping[str, Any]
    schemes: Mapping[str, Any]
    precisions: Mapping[str, Any]


def read_library(sources: Sources) -> Library:
    """Read all specs. Raises SpecError at the first fault."""
    dims = read_dims(sources.dims, _place(sources.dims))
    roles = read_roles(sources.roles, _place(sources.roles))
    both = {**sources.components, **sources.drafts}
    for name in sources.drafts:
        if name in sources.components:
            raise SpecError(
                "name-taken",
                _place(sources.drafts[name]),
                "a name no component of the library has",
                name,
                "rename the draft",
            )

    def read(name: str, section: Any) -> ComponentSpec:
        return read_component(name, extended(name, section, both), _place(section), roles)

    models: dict[str, ModelSpec] = {}
    for name, section in sources.models.items():
        spec = read_model(name, section, _place(section), roles)
        check_model_names(spec, section, dims)
        _check_taken(spec, models, section)
        for draft in spec.drafts:
            if draft not in sources.drafts:
                where = f"{section.at('drafts')} {name}.drafts"
                raise SpecError("unknown-component", where, "a draft", draft, nearest(draft, tuple(sources.drafts)))
        models[name] = spec
    schemes = {name: read_scheme(name, section, _place(section), roles) for name, section in sources.schemes.items()}
    return Library(
        dims=dims,
        roles=roles,
        config_keys=read_config_keys(sources.config_keys, _place(sources.config_keys)),
        components={name: read(name, section) for name, section in sources.components.items()},
        drafts={name: read(name, section) for name, section in sources.drafts.items()},
        models=models,
        schemes=schemes,
        precisions={
            name: read_precision(name, section, _place(section), schemes)
            for name, section in sources.precisions.items()
        },
    )


def extended(name: str, section: Any, known: Mapping[str, Any], trail: tuple[str, ...] = ()) -> Any:
    """Lay a component over the one it extends, and that one over what it extends."""
    if not isinstance(section, Section) or "extends" not in section:
        return section
    base = section["extends"]
    place = f"{section.at('extends')} {name}.extends"
    if not isinstance(base, str) or base not in known:
        raise SpecError("unknown-component", place, "a component", str(base), nearest(str(base), tuple(known)))
    if base in (name, *trail):
        raise SpecError(
            "cyclic-extends", place, "a chain that ends", " extends ".join((*trail, name, base)), "break the chain"
        )
    below = extended(base, known[base], known, (*trail, name))
    own = Section(section.place)
    for key, value in section.items():
        if key != "extends":
            own.put(key, value, section.at(key))
    return overlay(below, own)


def _check_taken(spec: ModelSpec, earlier: Mapping[str, ModelSpec], section: Any) -> None:
    """Two specs of one architecture would let the order of files decide."""
    for other in earlier.values():
        for key in ("architectures", "model_types"):
            for word in getattr(spec, key):
                if word in getattr(other, key):
                    where = f"{section.at(key)} {spec.name}.{key}"
                    raise SpecError(
                        "name-taken", where, "what no other spec covers", f"{word}, as {other.name}", "keep one"
                    )


def _place(section: Any) -> str:
    return section.place.rpartition(":")[0] if isinstance(section, Section) else "specs"
