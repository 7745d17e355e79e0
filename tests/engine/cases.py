"""Tables of refusals: text files in which a case is a change to a small spec and the whole message it must give.

    === a key nobody asks for
    @ components/norm.yaml
    - role: norm
    + role: norm
    + colour: red
    ---
    unknown-key at specs/components/norm.yaml:3 norm.colour
      expected  ...

`@` names the file; `-` lines, which must stand in it exactly once and in a row, make way for the `+` lines after
them; `+` lines alone go to its end (of a new file, too). `config KEY = JSON` sets a key of the small config, `config
KEY` drops it. UPDATE_GOLDEN=1 in the environment writes the messages that come out: read the diff before committing.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


@dataclass
class Case:
    name: str
    edits: list = field(default_factory=list)  # (path, removed lines, added lines)
    config: list = field(default_factory=list)  # (key, JSON text or None)
    message: str = ""

    def texts(self, base):
        """`base`, files by path, with the edits made."""
        texts = dict(base)
        for path, removed, added in self.edits:
            old, new = "".join(f"{line}\n" for line in removed), "".join(f"{line}\n" for line in added)
            before = texts.get(path, "")
            if not old:
                texts[path] = before + new
                continue
            at = [i for i in range(len(before)) if before.startswith(old, i) and (i == 0 or before[i - 1] == "\n")]
            assert len(at) == 1, f"{self.name}: these lines stand {len(at)} times in {path}:\n{old}"
            texts[path] = before[: at[0]] + new + before[at[0] + len(old) :]
        return texts

    def config_of(self, base):
        """`base`, a config, with the keys set or dropped."""
        config = dict(base)
        for key, value in self.config:
            if value is None:
                del config[key]
            else:
                config[key] = json.loads(value)
        return config


def read_cases(path):
    """The cases of a file, by name."""
    cases = {}
    for block in path.read_text().split("\n=== ")[1:]:
        head, _, message = f"{block}\n".partition("\n---\n")
        name, *lines = head.splitlines()
        assert name not in cases, f"{path}: two cases called {name}"
        cases[name] = case = Case(name, message=message.strip("\n"))
        file = None
        for line in lines:
            sign, _, rest = line.partition(" ")
            if sign == "@":
                file = rest
                case.edits.append((file, [], []))
            elif sign == "-":
                if case.edits[-1][2]:
                    case.edits.append((file, [], []))
                case.edits[-1][1].append(rest)
            elif sign == "+":
                case.edits[-1][2].append(rest)
            elif sign == "config":
                key, equals, value = rest.partition(" = ")
                case.config.append((key, value if equals else None))
            else:
                assert not line, f"{path}: {name}: what is {line!r}?"
    return cases


def each_case(file, table):
    """Parametrize a test over the table that stands beside its file."""
    path = Path(file).with_name(table)
    return pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in read_cases(path).items()])


def expect(case, message, file, table):
    """Assert the whole message, or write it down under UPDATE_GOLDEN."""
    if UPDATE:
        path = Path(file).with_name(table)
        before = path.read_text()
        start = before.index(f"\n=== {case.name}\n")
        body = before.index("\n---\n", start) + len("\n---\n")
        end = before.find("\n=== ", body - 1)
        path.write_text(before[:body] + f"{message}\n" + (before[end:] if end >= 0 else ""))
        return
    assert message == case.message
