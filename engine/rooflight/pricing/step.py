"""A step on one GPU, priced: every kernel and collective of one layer, and how often a stage runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rooflight.derive.device import Collective
from rooflight.expr import Value, named
from rooflight.pricing.backend import Backend, Spent
from rooflight.pricing.collectives import cheapest
from rooflight.pricing.work import Work, works

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rooflight.derive.device import Device
    from rooflight.hardware import Gpu
    from rooflight.pricing.collectives import Prices
    from rooflight.pricing.place import Place, Span
    from rooflight.pricing.rates import Rates
    from rooflight.spec import Precision
    from rooflight.walk import Program

BEHIND, BETWEEN = -1, -2  # instead of a group: behind the last node, and between stages


class Line(NamedTuple):
    """One kernel or collective of one layer; an exchange of rows that a kernel spreads is that kernel.

    group      of the graph's layers, or BEHIND the last node, or BETWEEN stages
    entry      it runs once where a stack is entered, not in every layer
    span       how the group of the collective lies that has it worst
    algorithm  that it takes
    """

    id: str
    op: str
    group: int
    entry: bool
    spent: Spent
    work: Work | None
    move: Collective | None = None
    span: Span | None = None
    algorithm: str = ""

    @property
    def gpus(self) -> int:
        """GPUs that take part in the collective, 1 where there is none."""
        return 1 if self.span is None else self.span.gpus

    @property
    def bound(self) -> str:
        """The resource that it keeps busy longest."""
        one = self.spent
        if one.communication > max(one.compute, one.memory) or self.work is None:
            return "communication"
        return "compute" if one.compute >= one.memory else "memory"


class Machine(NamedTuple):
    """What a step is priced on. `chosen` gives algorithm and group of every collective, where they were settled."""

    gpu: Gpu
    rates: Rates
    place: Place
    backend: Backend
    chosen: Mapping[str, tuple[str, Span]] | None = None


def lines(program: Program, held: Device, precision: Precision, dtype: str, machine: Machine) -> tuple[Line, ...]:
    """Return a step's kernels and collectives in order, what is sent between stages last."""
    kernels = {work.members[-1]: work for work in works(program, held, precision, dtype, machine.gpu)}
    found: list[Line] = []
    for index, step in enumerate(program.steps):
        node, work = step.node, kernels.get(index)
        kinds: list[str] = []
        for move in held.collectives[index]:
            kinds.append(move.kind)
            one = _moved(_name(node.id, kinds), node.group, move, machine.place.spans(move.group), machine)
            if one.gpus == 1 or _nothing(one, machine):
                continue
            if work is not None and node.op.rows == "spread" and move.kind == "all_to_all":
                # The exchange is what spreads the rows: it reads tokens and writes rows where their experts are.
                spent = _computed(work, node.id, machine)._replace(communication=one.spent.communication)
                one, work = one._replace(spent=spent, work=work), None
            found.append(one)
        if work is not None:
            spent = _computed(work, node.id, machine)
            found.append(Line(node.id, node.op.name, node.group, entry=False, spent=spent, work=work))
    ends = [_moved(f"logits:{move.kind}", BEHIND, move, machine.place.spans(move.group), machine) for move in held.ends]
    found += [one for one in ends if one.gpus > 1]
    if machine.place.stages > 1:
        found.append(_send(program, held, machine))
    return tuple(found)


def _nothing(line: Line, machine: Machine) -> bool:
    """Whether nothing is to be sent under this plan, such as sums of groups that every GPU has whole."""
    if machine.chosen is not None:
        return line.id not in machine.chosen
    return line.move is not None and isinstance(line.move.bytes, int | float) and not line.move.bytes


def _computed(work: Work, node: str, machine: Machine) -> Spent:
    spent, word = machine.backend.kernel(work, machine.rates), _word(node)
    return Spent(named(f"compute_{word}", spent.compute), named(f"memory_{word}", spent.memory), 0)


def _send(program: Program, held: Device, machine: Machine) -> Line:
    """The trunk crosses from every stage to the next; nothing else in these models does."""
    size = held.written_bytes[program.graph.seams[0].leaves]
    move = Collective("send", (), "trunk", 2, size, size, entry=False)
    return _moved("trunk:send", BETWEEN, move, machine.place.hops(), machine)


def _name(node: str, kinds: list[str]) -> str:
    """Return the id of the last of a node's collectives: the second of a kind is told apart by its number."""
    nth = kinds.count(kinds[-1])
    return f"{node}:{kinds[-1]}" + (f":{nth}" if nth > 1 else "")


def _moved(name: str, group: int, move: Collective, spans: Sequence[Span], machine: Machine) -> Line:
    """The group that has it worst decides, each by its cheapest algorithm: everyone waits for it."""
    algorithm, worst, seconds = _settled(name, move, spans, machine)
    spent = Spent(0, 0, named(f"comm_{_word(name)}", seconds))
    return Line(name, move.kind, group, move.entry, spent, None, move, worst, algorithm)


def _settled(name: str, move: Collective, spans: Sequence[Span], machine: Machine) -> tuple[str, Span, Value]:
    """Return the algorithm, the group and its seconds: as chosen before, or the worst of the groups' cheapest."""

    def priced(span: Span) -> Prices:
        return machine.backend.collective(move.kind, move.bytes, span, machine.rates, machine.place)

    if machine.chosen is not None:
        algorithm, span = machine.chosen.get(name, ("", spans[0]))  # among one GPU nothing was chosen
        return algorithm, span, priced(span)[algorithm] if algorithm else 0
    found = [(*cheapest(prices), span) for span in spans if (prices := priced(span))]
    if not found:
        return "", spans[0], 0
    algorithm, seconds, span = max(found, key=lambda one: one[1])
    return algorithm, span, seconds


def _word(name: str) -> str:
    return name.replace(".", "_").replace(":", "_")


__all__ = ["BEHIND", "BETWEEN", "Line", "Machine", "lines"]
