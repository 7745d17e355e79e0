"""Every refusal of an author's or a visitor's input is one record: where, what was expected, what came, how to fix it."""


class SpecError(Exception):
    """A repair order. `code` is stable (docs/errors.md lists them all); the rest is for the reader.

    Not frozen: `contextlib` must be able to set its traceback.
    """

    def __init__(self, code: str, where: str, expected: str, got: str, fix: str) -> None:
        super().__init__(code, where, expected, got, fix)
        self.code = code
        self.where = where
        self.expected = expected
        self.got = got
        self.fix = fix

    def __str__(self) -> str:
        return (
            f"{self.code} at {self.where}\n"
            f"  expected  {self.expected}\n"
            f"  got       {self.got}\n"
            f"  fix       {self.fix}"
        )

    def as_json(self) -> dict[str, str]:
        """The same five facts as a JSON object."""
        return {
            "code": self.code,
            "where": self.where,
            "expected": self.expected,
            "got": self.got,
            "fix": self.fix,
        }


class SpecErrors(Exception):
    """Several repair orders found in one reading, in the order of the text."""

    def __init__(self, errors: tuple[SpecError, ...]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)
