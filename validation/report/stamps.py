"""Whether a report still says what a check of all claims would find.

Its stamp has two hashes: of all that the findings are made from (every file of the packages, data included,
and the versions of Python and of the libraries), and of the files of the report themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hopflow.whole_files import replacing
from validation.judgements.code_hashes import PACKAGES
from validation.judgements.keeping import versions

STAMP = "made_from.txt"
ROOT = Path(__file__).parents[2]


def hash_of_sources() -> str:
    """Return the hash of all that findings are made from, as it is now: before they are, for `write_stamp`."""
    sources = (path for name in PACKAGES for path in _files(ROOT / name))
    return _hash(ROOT, sources, versions())


def is_current(folder: Path, sources: str) -> bool:
    """Return whether a stamp was written to this folder for these sources, and no page has changed since."""
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(folder, sources)


def write_stamp(folder: Path, sources: str) -> None:
    """Write the stamp of a report that is complete, with the hash of the sources when its checks began."""
    with replacing(folder / STAMP) as scratch:
        scratch.write_text(_stamp(folder, sources), encoding="utf-8")


def _stamp(folder: Path, sources: str) -> str:
    pages = _hash(folder, (path for path in _files(folder) if path != folder / STAMP))
    return f"made from {sources}\npages {pages}\n"


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in the order of their names, without compiled modules."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__")


def _hash(root: Path, files: Iterator[Path], beginning: str = "") -> str:
    """Return the hash of the names and contents of files."""
    digest = hashlib.sha256(beginning.encode())
    for path in files:
        content = path.read_bytes()
        name = path.relative_to(root).as_posix()
        digest.update(f"\n{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
