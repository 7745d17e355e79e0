"""How one checkpoint stores its weights: the scheme its config names, what is left out, and what is overridden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rooflight.spec.located import Section
from rooflight.spec.match import MAX_PATTERNS, Matcher, ModuleSet, matcher, module_set
from rooflight.spec.quant import MODEL_DTYPE, Scheme, StoreRule, look, recognizes, scheme_numbers
from rooflight.spec.reader import Reader, described, nearest
from rooflight.values import SpecError

if TYPE_CHECKING:
    from rooflight.spec.config import Config

NONE = "none"  # in an override: leave the weights as they are


class Format(NamedTuple):
    """How one weight is stored. `weight` and `activation` are what a matrix product works on.

    A plain format has no rules: the weight stands under its own name, in `weight`, as it is.
    """

    name: str
    weight: str
    activation: str
    rules: tuple[StoreRule, ...] = ()
    given: tuple[tuple[str, int], ...] = ()  # the scheme's numbers
    padded: bool = False  # a part of a block is filled up when weights are cut

    @property
    def numbers(self) -> dict[str, int]:
        """The scheme's numbers by name."""
        return dict(self.given)

    def block(self, axis: str) -> int:
        """Return how many elements along an axis share what is stored once, 1 where each stands alone."""
        found = [
            numbers[tree[2]] if isinstance(tree[2], str) else tree[2]
            for numbers in [self.numbers]
            for rule in self.rules
            for tree in rule.shape
            if isinstance(tree, tuple) and tree[0] == "ceil_div" and tree[1] == axis and isinstance(tree[2], str | int)
        ]
        return max((block for block in found if block > 0), default=1)


def plain(dtype: str) -> Format:
    """Return the format of a weight that is stored as it is."""
    return Format(dtype, dtype, dtype)


class Override(NamedTuple):
    """Another format for the modules of a role, or for those a pattern matches."""

    what: str
    role: str | None
    matches: Matcher | None
    format: Format | None  # None: plain
    where: str


class Storage(NamedTuple):
    """A checkpoint's quant context.

    dtype       of everything the scheme leaves alone
    format      what the scheme makes of a weight, None without one
    roles       the roles whose linear weights it covers
    ignored     modules it leaves alone
    overrides   the first that fits decides before the scheme does
    refused     why the quantization_config could not be read; weights then count as unquantized
    """

    dtype: str
    format: Format | None
    roles: tuple[str, ...]
    ignored: ModuleSet
    overrides: tuple[Override, ...]
    refused: SpecError | None = None


def read_storage(config: Config, dtype: str, schemes: Mapping[str, Scheme], given: Any = None) -> Storage:
    """Derive a checkpoint's storage from its quantization_config, and from `given`, what stands beside its snapshot.

    SpecError where no scheme answers to the config, or more than one does.
    """
    quantization = config.facts.get("quantization_config")
    if quantization is None:
        quantization = config.facts.get("compression_config")
    named = None
    overrides: list[Override] = []
    if given is not None:
        reader = Reader(given, "", given.at() if isinstance(given, Section) else config.where)
        named = reader.maybe_text("scheme")
        if named is not None and named not in schemes:
            raise SpecError(
                "unknown-scheme",
                reader.where("scheme"),
                "a scheme of specs/quant",
                named,
                nearest(named, tuple(schemes)),
            )
        overrides = _read_overrides(reader, schemes, quantization, config.where)
        reader.done()
    if quantization is None and named is None:
        return Storage(dtype, None, (), module_set((), config.where), tuple(overrides))
    data = _mapping(quantization)
    try:
        scheme = _scheme(data, config.where, schemes, named)
    except SpecError as error:
        # The architecture is none the worse for it: show it, say so, and let no such model be published.
        return Storage(dtype, None, (), module_set((), config.where), tuple(overrides), error)
    ignored: list[str] = []
    for key in scheme.ignored:
        listed = look(data, key)
        if listed is None:
            continue
        if not isinstance(listed, list) or len(cast("list[Any]", listed)) > MAX_PATTERNS:
            raise SpecError(
                "config-wrong-type",
                f"{config.where} quantization_config.{key}",
                "a list of module names",
                described(listed),
                "correct the config",
            )
        ignored += [str(item) for item in cast("list[Any]", listed)]
    made = format_from(scheme, scheme_numbers(scheme, data, config.where))
    left_out = module_set(ignored, f"{config.where} quantization_config", children=scheme.with_children)
    return Storage(dtype, made, scheme.roles, left_out, tuple(overrides))


def _mapping(quantization: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", quantization) if isinstance(quantization, dict) else {}


def _scheme(data: Mapping[str, Any], where: str, schemes: Mapping[str, Scheme], named: str | None) -> Scheme:
    if named is not None:
        return schemes[named]
    found = [scheme for scheme in schemes.values() if scheme.recognized and recognizes(scheme, data)]
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        raise SpecError(
            "ambiguous-scheme",
            f"{where} quantization_config",
            "one scheme that answers to it",
            ", ".join(scheme.name for scheme in found),
            "name the scheme in storage.yaml beside the config",
        )
    raise SpecError(
        "unknown-scheme",
        f"{where} quantization_config",
        "a scheme of specs/quant that answers to it",
        f"quant_method {described(data.get('quant_method'))}",
        "write the scheme as YAML in specs/quant",
    )


def format_from(scheme: Scheme, numbers: Mapping[str, int]) -> Format:
    """Return what a scheme with its numbers makes of a weight."""
    rules = tuple(rule for rule in scheme.stores if rule.when is None or numbers[rule.when])
    return Format(scheme.name, scheme.weight, scheme.activation, rules, tuple(numbers.items()), scheme.padded)


def _read_overrides(reader: Reader, schemes: Mapping[str, Scheme], quantization: Any, where: str) -> list[Override]:
    overrides: list[Override] = []
    for item in reader.items("overrides", []):
        name = item.text("scheme")
        if name != NONE and name not in schemes:
            raise SpecError(
                "unknown-scheme",
                item.where("scheme"),
                "none, or a scheme of specs/quant",
                name,
                nearest(name, tuple(schemes)),
            )
        role, pattern = item.maybe_text("role"), item.maybe_text("modules")
        if (role is None) == (pattern is None):
            raise SpecError("node-kind", item.where(), "exactly one of role, modules", "both or none", "keep one")
        data = _mapping(quantization)
        made = None
        if name != NONE:
            made = format_from(schemes[name], scheme_numbers(schemes[name], data, where))
        test = None if pattern is None else matcher(pattern, item.where("modules"))
        overrides.append(Override(role or pattern or "", role, test, made, item.where()))
        item.done()
    return overrides


def format_of(
    storage: Storage, module: str, role: str, dtype: str | None, *, linear: bool
) -> tuple[Format, int | None]:
    """Return the format of one weight, and the index of the override that decided.

    module  the checkpoint's name of the module, with a layer number
    dtype   what the spec says of this weight itself, e.g. a bias kept in F32
    linear  whether it is the matrix of a linear op: nothing else is ever quantized
    """
    base = plain(dtype or storage.dtype)
    if not linear:
        return base, None
    for index, override in enumerate(storage.overrides):
        if override.role == role or (override.matches is not None and override.matches(module)):
            return (override.format or base), index
    if storage.format is None or role not in storage.roles or module in storage.ignored:
        return base, None
    return storage.format, None


def stored_dtype_of(rule: StoreRule, storage_dtype: str) -> str:
    """Return the dtype a rule stores in."""
    return storage_dtype if rule.dtype == MODEL_DTYPE else rule.dtype
