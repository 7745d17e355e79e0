"""Every refusal of someone's input is one record: where, what was expected, what came, how to fix it."""

from dataclasses import asdict, dataclass


@dataclass(eq=False)
class SpecError(Exception):
    """A repair order. `code` is stable (docs/errors.md lists them all); the rest is for the reader.

    Never frozen: `contextlib` must be able to set its traceback.
    """

    code: str
    where: str
    expected: str
    got: str
    fix: str

    def __str__(self) -> str:
        """Return the four lines a person reads."""
        return (
            f"{self.code} at {self.where}\n  expected  {self.expected}\n  got       {self.got}\n  fix       {self.fix}"
        )

    def as_json(self) -> dict[str, str]:
        """Return the same five facts as a JSON object."""
        return asdict(self)
