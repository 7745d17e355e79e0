"""Why a build stops."""

from pathlib import Path


class BuildError(Exception):
    """The site cannot be published as it is; the message lists every fault found."""


class NotOurs(BuildError):
    """The target holds files that no build of the site wrote."""

    def __init__(self, target: Path, mark: str) -> None:
        super().__init__(
            f"{target} is not empty and holds no {mark} of an earlier build; name another folder or empty it"
        )
