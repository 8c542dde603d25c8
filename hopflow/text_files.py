"""Text files: those of users with size limits, byte-order marks and errors with the file name; JSON, TOML and CSV."""

from __future__ import annotations

import codecs
import csv
import json
import re
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from hopflow.checks import file_path, format_value
from hopflow.whole_files import replacing

__all__ = [
    "MAX_BYTES",
    "compression_hint",
    "parse_json",
    "parse_toml",
    "read_rows",
    "read_text",
    "stand_in_hint",
    "unique_fields",
    "write_rows",
]

MAX_BYTES = 64 * 2**20
"""Size of the largest text file that is read."""
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""Programs by the first bytes of their files."""
MAX_KEY_PARTS = 256
"""Maximum number of parts of a dotted TOML key; the time of tomllib grows quadratically."""
MAX_PATH_LENGTH = 4096
"""Maximum length of a path, as in Linux; longer strings are probably text."""
LFS_POINTER = "version https://git-lfs.github.com/spec/"
"""Beginning of the file that Git stores in place of one in large file storage."""
_LINK_TARGET = re.compile(r"(?:\.{0,2}/)*+(?:[\w.+@-]+/)*+[\w.+@-]*\.[a-z]\w*", re.ASCII)
_LONG_KEY = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){256}""",
    re.ASCII,
)


def read_text(name: str, path: str | Path | TextIO, max_bytes: int = MAX_BYTES) -> str:
    r"""Return the text of a file, or of an open one, with ``\n`` at the ends of lines.

    UTF-8 with or without a byte-order mark; UTF-16 with one, as Windows' shell writes it.

    Parameters
    ----------
    name
        The parameter's name in messages.
    path
        Path of the file, or a file that is open as text.
    max_bytes
        Size limit; of an open file in characters.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        Naming the file, if it is too large or is not text, or stands in for another file (`stand_in_hint`).
    TypeError
        For an argument that is neither a path nor an open text file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    ...     read_text("source", Path(folder, "a.txt"))
    'one\ntwo'
    """
    if hasattr(path, "read"):
        source = str(getattr(path, "name", "") or "an open file")
        try:
            text = path.read(max_bytes + 1)
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} = {source!r}: must be {error.encoding} text") from None
        if not isinstance(text, str):
            raise TypeError(f"{name} = {source!r}: must be open as text")
        if len(text) > max_bytes:
            raise ValueError(f"{name} = {source!r}: must have at most {max_bytes} characters")
        if hint := stand_in_hint(text):
            raise ValueError(f"{name} = {source!r}: {hint}")
        return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(str(path)) > MAX_PATH_LENGTH:
        raise ValueError(f"{name} = {format_value(str(path))}: must be the path of a file")
    path = file_path(name, path)
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{name} = {str(path)!r}: must have at most {max_bytes} bytes")
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} = {str(path)!r}, line {line}: must be UTF-8 text{compression_hint(content)}"
        ) from None
    if hint := stand_in_hint(text):
        raise ValueError(f"{name} = {str(path)!r}: {hint}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def compression_hint(content: bytes) -> str:
    r"""Return the end of a message on a file that is no text; empty unless it is compressed.

    >>> compression_hint(b"\x1f\x8b\x08"), compression_hint(b"\xff")
    ('; it is compressed with gzip, and must be unpacked before', '')
    """
    for magic, program in COMPRESSED.items():
        if content.startswith(magic):
            return f"; it is compressed with {program}, and must be unpacked before"
    return ""


def stand_in_hint(text: str) -> str:
    """Return the end of a message on a text that stands in for a file; empty for other texts.

    Git stores a symbolic link as the path of its target, and a large file as a pointer. Downloads of single files and
    checkouts on Windows contain these.

    Examples
    --------
    >>> stand_in_hint("../SN4700/buffers.json.j2")
    "has the path '../SN4700/buffers.json.j2' alone, as a downloaded symbolic link: read the file of that path"
    >>> stand_in_hint("1.e5"), stand_in_hint("")
    ('', '')
    """
    if text.startswith(LFS_POINTER):
        return "is a pointer to a file in Git's large file storage: read that file"
    target = text.strip()
    if len(text) > MAX_PATH_LENGTH or not _LINK_TARGET.fullmatch(target):
        return ""
    try:
        float(target)
    except ValueError:
        return f"has the path {target!r} alone, as a downloaded symbolic link: read the file of that path"
    return ""


def parse_json(text: str) -> Any:
    """Parse JSON; duplicate keys are refused.

    Raises
    ------
    ValueError
        For invalid JSON, too deep nesting, or a duplicate key, with the key.

    Examples
    --------
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: 'a' is given twice in one object
    """
    try:
        return json.loads(text, object_pairs_hook=unique_fields)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def unique_fields(pairs: list[tuple[str, Any]], message: str = "{} is given twice in one object") -> dict[str, Any]:
    """Return the fields of a JSON object, as ``object_pairs_hook``; ValueError for a duplicate name."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = set[str]()
        for name, _ in pairs:
            if name in names:
                raise ValueError(message.format(format_value(name)))
            names.add(name)
    return fields


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    ValueError
        For invalid TOML, too deep nesting, or a dotted key of more than 256 parts.

    Examples
    --------
    >>> parse_toml("a.b = 1")
    {'a': {'b': 1}}
    """
    if (match := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise ValueError(f"line {line}: a key of more than {MAX_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def read_rows(package: str, name: str) -> list[dict[str, str]]:
    """Read a CSV file in a package folder: a dictionary per row; lines that begin with # are comments.

    Examples
    --------
    >>> [row["level"] for row in read_rows("dfcmodel.levels", "accuracies.csv")]
    ['fluid', 'packet level']
    """
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return list(csv.DictReader(lines))


def write_rows(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]], comment: str = "") -> None:
    """Write a CSV file atomically, with an optional comment line above the header."""
    with replacing(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        if comment:
            file.write(f"# {comment}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
