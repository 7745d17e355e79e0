"""What the system refuses, as a refusal: any file or folder a command opens may be unreadable, gone, or no file."""

from __future__ import annotations

from rooflight.values import SpecError


def no_access(error: OSError) -> SpecError:
    """Return the refusal for an error of the system."""
    where = next((str(name) for name in (error.filename, error.filename2) if name is not None), "the system")
    return SpecError(
        "no-access",
        where if where.isprintable() else repr(where),
        "a file or folder that this user may open",
        error.strerror or type(error).__name__,
        "check the path, its owner and its permissions",
    )
