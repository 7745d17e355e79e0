"""Orders the nodes of a component so that every input comes before its readers."""

from collections.abc import Mapping

from rooflight.spec import ComponentSpec, NodeSpec
from rooflight.values import SpecError


def ordered(component: ComponentSpec) -> tuple[NodeSpec, ...]:
    """Return the nodes, inputs first, else as written. SpecError names the cycle where there is one."""
    done: dict[str, NodeSpec] = {}
    for start in component.graph:
        trail: list[tuple[str, int]] = [(start, 0)]
        on_trail = {start}
        while trail:
            name, at = trail.pop()
            node = component.graph[name]
            waiting = [source for source in node.inputs if source in component.graph]
            if name in done:
                on_trail.discard(name)
                continue
            if at < len(waiting):
                trail.append((name, at + 1))
                source = waiting[at]
                if source in on_trail and source not in done:
                    raise _cycle(source, [step for step, _ in trail], component.graph)
                if source not in done:
                    trail.append((source, 0))
                    on_trail.add(source)
                continue
            done[name] = node
            on_trail.discard(name)
    return tuple(done.values())


def _cycle(back_to: str, trail: list[str], graph: Mapping[str, NodeSpec]) -> SpecError:
    loop = [*trail[trail.index(back_to) :], back_to]
    return SpecError(
        "cyclic-graph",
        graph[back_to].where,
        "a graph in which no node needs itself",
        " <- ".join(loop),
        f"let one of these read an earlier node than {back_to}",
    )
