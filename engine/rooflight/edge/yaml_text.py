"""Reads YAML the strict way: JSON's scalars, no tags, no anchors, no duplicate keys, and every value knows its line.

YAML 1.1 reads `on` as true, 010 as 8 and 1e6 as text. Here a plain scalar is true, false, null, a plain decimal number
or text, and whatever 1.1 would read otherwise is refused with what to write instead.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from rooflight.spec import Items, Section, described
from rooflight.values import SpecError

MAX_BYTES = 1 << 20
MAX_DEPTH = 40
MAX_NODES = 100_000

_INT = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?|-?(0|[1-9][0-9]*)[eE][-+]?[0-9]+", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_BOOLEAN_TRAPS = re.compile(r"(y|yes|n|no|on|off|true|false)", re.ASCII | re.IGNORECASE)
_NULL_TRAPS = re.compile(r"null", re.ASCII | re.IGNORECASE)
_NUMBER_TRAPS = re.compile(
    r"[-+]?(0[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+|0o[0-7]+|[0-9][0-9_]*_[0-9_]*|\+[0-9.]+|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?"
    r"|\.[0-9]+|[0-9]+\.|\.inf|\.nan|\+[0-9].*)",
    re.ASCII | re.IGNORECASE,
)
_DATE_TRAPS = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", re.ASCII)

# libyaml where it is compiled in, PyYAML's own parser elsewhere; both compose the same nodes.
# PyYAML ships no types for either function.
_yaml: Any = yaml
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, file: str) -> Any:
    """Return the located data of one YAML document. Raises SpecError, naming file and line."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise SpecError(
            "yaml-too-large", file, f"at most {MAX_BYTES:,} bytes", f"{len(text):,} characters", "split the file"
        )
    try:
        _refuse_aliases(text, file)
        root = _yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else file
        raise SpecError(
            "yaml-syntax", where, "YAML", str(error.problem or error.context), "correct the syntax"
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise SpecError("yaml-syntax", file, "YAML", str(error).splitlines()[0][:120], "correct the syntax") from None
    if root is None:
        raise SpecError("yaml-empty", file, "a mapping", "an empty file", "write the spec")
    data = _Builder(file).build(root, 0)
    if not isinstance(data, Section):
        place = f"{file}:{root.start_mark.line + 1}"
        raise SpecError("wrong-type", place, "a mapping", described(data), "write key: value lines")
    return data


def _refuse_aliases(text: str, file: str) -> None:
    """Anchors allow a few bytes to stand for millions of nodes; specs do without."""
    for event in _yaml.parse(text, Loader=_LOADER):
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            line = event.start_mark.line + 1
            raise SpecError(
                "yaml-alias",
                f"{file}:{line}",
                "no anchors or aliases",
                f"&{anchor} or *{anchor}",
                "write the value out; quote a text that starts with & or *",
            )


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0

    def place(self, node: Any) -> str:
        return f"{self.file}:{node.start_mark.line + 1}"

    def build(self, node: Any, depth: int) -> Any:
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_NODES:
            raise SpecError(
                "yaml-too-large",
                self.place(node),
                f"at most {MAX_DEPTH} levels and {MAX_NODES:,} values",
                "more",
                "split the file",
            )
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        self.refuse_tag(node, ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
        if isinstance(node, yaml.SequenceNode):
            items = Items(self.place(node))
            for child in node.value:
                items.put(self.build(child, depth + 1), self.place(child))
            return items
        section = Section(self.place(node))
        for key_node, value_node in node.value:
            key = self.key(key_node)
            if key in section:
                raise SpecError(
                    "duplicate-key",
                    f"{self.place(key_node)} {key}",
                    "every key once",
                    f"{key} again, first at {section.at(key)}",
                    "keep one of the two",
                )
            section.put(key, self.build(value_node, depth + 1), self.place(key_node))
        return section

    def key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise SpecError("yaml-key", self.place(node), "a name as key", "a list or mapping as key", "write a name")
        value = self.scalar(node)
        if not isinstance(value, str):
            raise SpecError(
                "yaml-key",
                self.place(node),
                "text as key",
                f"{node.value!r}, which is no text",
                f'write "{node.value}"',
            )
        return value

    def scalar(self, node: Any) -> Any:
        self.refuse_tag(
            node,
            tuple(
                f"tag:yaml.org,2002:{kind}"
                for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
            ),
        )
        text: str = node.value
        if node.style:  # quoted or block; libyaml says '' for plain, PyYAML's own parser None
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            if len(text) > 20:  # noqa: PLR2004 - past any 64-bit number
                raise SpecError("yaml-trap", self.place(node), "a number of at most 20 digits", text[:24], "correct it")
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        self.refuse_traps(text, node)
        return text

    def refuse_traps(self, text: str, node: Any) -> None:
        fix = None
        if text == "<<":
            fix = "write the keys out"
        elif _BOOLEAN_TRAPS.fullmatch(text):
            fix = f'write true or false for a yes/no, "{text}" for the text'
        elif _NULL_TRAPS.fullmatch(text):
            fix = f'write null for nothing, "{text}" for the text'
        elif _NUMBER_TRAPS.fullmatch(text):
            fix = f'write plain decimal digits, e.g. 4096, or "{text}" for the text'
        elif _DATE_TRAPS.fullmatch(text):
            fix = f'write "{text}"'
        if fix is not None:
            raise SpecError("yaml-trap", self.place(node), "a scalar that every YAML reader reads alike", text, fix)

    def refuse_tag(self, node: Any, plain: tuple[str, ...]) -> None:
        if node.tag not in plain:
            raise SpecError("yaml-tag", self.place(node), "no tags", node.tag, "remove the tag")
