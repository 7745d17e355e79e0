"""A progress bar on standard error, where a person looks at it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@contextmanager
def bar(*, quiet: bool) -> Generator[Callable[[int, int], None]]:
    """Give the function that moves the bar: headers read, headers in all."""
    console = Console(stderr=True)
    columns = (TextColumn("headers"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("headers", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
