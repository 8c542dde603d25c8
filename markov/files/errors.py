"""Errors in model and property files: file, line and reason."""

from __future__ import annotations

__all__ = ["FileError", "Place"]

Place = tuple[str, int]
"""Name of a file, or of what stands for one, and a line counted from one."""


class FileError(ValueError):
    """A model file, or a property, cannot be used as it stands.

    Attributes
    ----------
    file
        Its name.
    line
        Counted from one; None where that is not known.
    reason
        What is wrong, without the place.

    Examples
    --------
    >>> from markov.files import FileError
    >>> error = FileError(("queue.sm", 3), "'arival' is not defined")
    >>> str(error), error.line
    ("queue.sm, line 3: 'arival' is not defined", 3)
    """

    file: str
    line: int | None

    def __init__(self, place: tuple[str, int | None], reason: str) -> None:
        self.file, self.line = place
        self.reason = reason
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        super().__init__(f"{where}: {reason}")
