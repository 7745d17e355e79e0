"""Puts the data folders into a built wheel, and leaves them out of an editable install.

A wheel must work without the repository, so it carries copies under `rooflight/_data/`. An editable install reads the
repository's own folders: copies would go stale at the first edit of a spec.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA_FOLDERS = ("specs", "gpus")


class PackageData(BuildHookInterface):
    """Adds each data folder that exists to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        for folder in DATA_FOLDERS:
            source = Path(self.root, folder)
            if source.is_dir():
                build_data["force_include"][str(source)] = f"rooflight/_data/{folder}"
