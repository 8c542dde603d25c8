"""Text files of strangers: read whole, up to a limit, as UTF-8 with or without a byte-order mark."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from hopflow.checks import file_path, shown

__all__ = ["MAX_TEXT", "read_text"]

MAX_TEXT = 16 * 2**20
"""Bytes of the largest text file that is read; characters of an open one."""


def read_text(path: str | Path | TextIO, *, name: str = "path", limit: int = MAX_TEXT) -> str:
    r"""Return the text of a file, or of an open one.

    Parameters
    ----------
    path
        The file, in UTF-8; a byte-order mark is left out.
    name
        The parameter's name in messages.
    limit
        Bytes of the largest file, characters of an open one. No more than that is read.

    Raises
    ------
    ValueError
        For a file above the limit, and for bytes that are not UTF-8, with the line.
    TypeError
        For an open file of bytes.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import io
    >>> read_text(io.StringIO("\ufeffspeed,cable"))
    'speed,cable'
    """
    if isinstance(path, str | Path) or not hasattr(path, "read"):
        file = file_path(name, path)
        with file.open("rb") as binary:
            content = binary.read(limit + 1)
        if len(content) > limit:
            raise ValueError(f"{file.name}: is larger than {limit:,} bytes")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            byte = f"byte {content[error.start]:#04x}"
            raise ValueError(f"{file.name}, line {line}: {byte}: must be UTF-8 text") from None
    source = str(getattr(path, "name", "") or "the open file")
    try:
        text = path.read(limit + 1)
    except UnicodeDecodeError as error:
        raise ValueError(f"{source}: {error.reason}: must be UTF-8 text") from None
    if not isinstance(text, str):
        raise TypeError(f"{name} = {shown(path)}: must be a path, or a file opened as text")
    if len(text) > limit:
        raise ValueError(f"{source}: is larger than {limit:,} characters")
    return text.removeprefix("\ufeff")
