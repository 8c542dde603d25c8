"""Text files of users: a size limit, byte-order marks, and errors that name the file."""

from __future__ import annotations

import codecs
from pathlib import Path

from hopflow.checks import file_path, shown

__all__ = ["MAX_BYTES", "read_text"]

MAX_BYTES = 64 * 2**20
"""Size of the largest text file that is read."""
MAX_PATH = 4096
"""Characters of a path at most, as in Linux: a longer one is a text in its place."""


def read_text(name: str, path: str | Path, max_bytes: int = MAX_BYTES) -> str:
    r"""Return the text of a file, with ``\n`` at the ends of lines.

    UTF-8 with or without a byte-order mark; UTF-16 with one, as Windows' shell writes it.

    Parameters
    ----------
    name
        The parameter's name in messages.
    path
        Path of the file.
    max_bytes
        Size limit.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        For a larger file, or bytes that are no text; the message names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    ...     read_text("source", Path(folder, "a.txt"))
    'one\ntwo'
    """
    path = file_path(name, path)
    if len(str(path)) > MAX_PATH:
        raise ValueError(f"{name} = {shown(str(path))}: must be the path of a file")
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{name} = {str(path)!r}: must have at most {max_bytes} bytes")
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name} = {str(path)!r}, line {line}: must be UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
