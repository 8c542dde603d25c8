"""Errors in model and property files: file, line and reason."""

from __future__ import annotations

from typing import Any

from hopflow.errors import RuleError

__all__ = ["FileError", "Location"]

Location = tuple[str, int]
"""Name of a file, or a word in its place, and a line counted from one."""


class FileError(RuleError):
    """A model file or a property that cannot be used; a ValueError.

    It is a `RuleError`, since the commands of a file are rules: its message has the location in the file, and searches
    through states pass it on unchanged.

    Attributes
    ----------
    file
        Name of the file.
    line
        Line, counted from one; None if unknown.
    reason
        Description of the error, without the location.

    Examples
    --------
    >>> from markov.files import FileError
    >>> error = FileError(("queue.sm", 3), "'arival' is not defined")
    >>> str(error), error.line
    ("queue.sm, line 3: 'arival' is not defined", 3)
    """

    file: str

    def __init__(self, location: tuple[str, int | None], reason: str) -> None:
        self.file, self.line = location
        self.reason = reason
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        super().__init__(f"{where}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return FileError, ((self.file, self.line), self.reason)
