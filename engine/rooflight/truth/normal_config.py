"""Brings a config.json to the one form in which snapshots keep it: flat, as transformers 4 has it, facts only."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from rooflight.spec import Config, described
from rooflight.spec.config import read_config
from rooflight.spec.records import ConfigKeys
from rooflight.values import SpecError

# Keys that change no architecture (config_keys.yaml) and yet are facts of what forward() computes.
_KEPT = re.compile(r"rope_|.*_eps$|.*_epsilon$|.*factor$|original_max_position_embeddings$")
# Generation, run time, dropout, initialisation, auxiliary losses, who wrote the file.
_DROPPED = re.compile(
    r"_|.*_token_id$|.*_token_index$|.*_token_ids$|summary_|.*dropout|.*_pdrop$|initializer_|auto_map$|.*_version$"
    r"|.*aux_loss|.*z_loss|output_router_logits$|seq_aux$|ep_size$|max_length$|min_length$|do_sample$|temperature$"
    r"|num_beams|num_return_sequences$|repetition_penalty$|length_penalty$|no_repeat_ngram_size$"
    r"|early_stopping$|bad_words_ids$|problem_type$|id2label$|label2id$|finetuning_task$|pruned_heads$"
    r"|chunk_size_feed_forward$|remove_invalid_values$|forced_|suppress_tokens$|begin_suppress_tokens$|tf_legacy_loss$"
    r"|n_special$|predict_special_tokens$|use_bfloat16$|encoder_no_repeat_ngram_size$|diversity_penalty$|typical_p$|exponential_decay_length_penalty$"
)
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_KINDS_OF_LAYERS = ("full_attention", "sliding_attention")


class Normal(NamedTuple):
    """A config in the form of a snapshot, and the names of keys that were left out although nothing says why."""

    facts: dict[str, Any]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def normal_config(data: Any, where: str, keys: ConfigKeys) -> Normal:
    """Return the facts of a parsed config.json. SpecError where it is no config, or names no single architecture."""
    config = read_config(data, where, keys)  # bounds depth and size, and lifts the text section
    top = cast("dict[str, Any]", data)
    facts = dict(_lifted(top, keys))
    for old, new in keys.aliases.items():
        if old in facts:
            facts.setdefault(new, facts[old])
            del facts[old]
    notes = list(config.warnings)
    for name in keys.unpack:
        section = facts.pop(name, None)
        if isinstance(section, dict):
            _unpack_rope(cast("dict[str, Any]", section), facts, notes)
    _check_named(facts, config)
    if isinstance(facts.get("dtype"), str):
        facts["dtype"] = facts["dtype"].removeprefix("torch.")
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in facts.items():
        if _dropped(key, keys):
            continue
        if not _NAME.fullmatch(key):
            left_out.append(key)
        else:
            kept[key] = _without(value, keys) if key.endswith("_config") and key != "quantization_config" else value
    return Normal({key: kept[key] for key in sorted(kept)}, tuple(sorted(left_out)), tuple(notes))


def _lifted(top: dict[str, Any], keys: ConfigKeys) -> dict[str, Any]:
    """The text section's keys among the outer ones; the outer class name and type stay."""
    facts = dict(top)
    for name in keys.text_sections:
        section = facts.pop(name, None)
        if isinstance(section, dict):
            inner = cast("dict[str, Any]", section)
            # Of a key that both levels hold, the section's is what the text model is built from.
            facts |= {key: value for key, value in inner.items() if key not in ("architectures", "model_type")}
            for key in ("architectures", "model_type"):
                if facts.get(key) is None and inner.get(key) is not None:
                    facts[key] = inner[key]
    return facts


def _unpack_rope(section: dict[str, Any], facts: dict[str, Any], notes: list[str]) -> None:
    """Take transformers 5's rope_parameters apart into what transformers 4 had beside each other."""
    if section and all(isinstance(value, dict) for value in section.values()):
        by_kind = cast("dict[str, dict[str, Any]]", section)
        if not set(by_kind) <= set(_KINDS_OF_LAYERS):
            facts.setdefault("rope_scaling", section)
            notes.append("rope_scaling holds rope_parameters as the config has it: one entry per kind of layer")
            return
        local = by_kind.get("sliding_attention", {})
        if "rope_theta" in local:
            facts.setdefault("rope_local_base_freq", local["rope_theta"])
        section = by_kind.get("full_attention", local)
    rest = dict(section)
    for key in ("rope_theta", "partial_rotary_factor"):
        if key in rest:
            facts.setdefault(key, rest.pop(key))
    plain = set(rest) <= {"rope_type", "type"} and set(map(str, rest.values())) <= {"default"}
    facts.setdefault("rope_scaling", None if plain else rest)


def _check_named(facts: dict[str, Any], config: Config) -> None:
    names = facts.get("architectures")
    if not isinstance(names, list) or len(cast("list[Any]", names)) != 1 or not isinstance(names[0], str):
        raise SpecError(
            "config-no-architecture",
            f"{config.where} architectures",
            "a list of one class name",
            described(names),
            "pass the model's own config.json, or add architectures to it",
        )
    if not config.model_type:
        raise SpecError(
            "config-no-architecture",
            f"{config.where} model_type",
            "the config's own word for its architecture",
            described(facts.get("model_type")),
            "pass the model's own config.json, or add model_type to it",
        )


def _dropped(key: str, keys: ConfigKeys) -> bool:
    return bool(_DROPPED.match(key)) or (key in keys.ignores and not _KEPT.match(key))


def _without(value: Any, keys: ConfigKeys) -> Any:
    """A nested section without what is left out of the outer one."""
    if not isinstance(value, dict):
        return value
    section = cast("dict[str, Any]", value)
    return {key: _without(inner, keys) for key, inner in section.items() if not _dropped(key, keys)}
