"""The manifest of the bundled data: every file with its SHA-256, and the manifest's own.

``data/manifest.txt`` lists the SHA-256 of all files below ``data``, and `MANIFEST_SHA256` is its own: a file
that is not in it, or differs from it, is refused. ``published/manifest.txt`` does the same for the tables
that others printed or measured, the ledger, the excuses and the texts of the claims.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
from pathlib import Path
from typing import NamedTuple

from hopflow.errors import DamagedDataError

__all__ = [
    "DATA",
    "MANIFEST",
    "MANIFEST_SHA256",
    "PUBLISHED",
    "DamagedDataError",
    "Programs",
    "changed_programs",
    "listed",
    "listing",
    "published_listing",
    "read",
    "sums",
    "verify",
    "verify_programs",
    "verify_published",
]

DATA = Path(__file__).parent / "data"
PUBLISHED = Path(__file__).parent / "published"
TEXTS = Path(__file__).parent / "claims"
"""The texts of the findings stand beside the modules of the claims."""
OURS = ("verdicts.csv", "thresholds.csv", "readings.csv", "numbers.csv")
"""Files of ``published`` that ``hopflow validate --record`` writes and ``hopflow validate`` compares: without a checksum."""
CHANGED_PROGRAMS = "changed_programs.csv"
"""The programs whose files changed after they made bundled runs, with the commits that changed them and why the runs stay right."""
MANIFEST = "manifest.txt"
MANIFEST_SHA256 = "bf7935c04d7286db444dc21aebac4a73ed3cba06011aaa845307b3f7b1134736"
"""The SHA-256 of the manifest of the data; ``python -m validation.generate --seal`` writes it."""

PUBLISHED_SHA256 = "ef7db13edf7479c8b4698ede511f438fb42d0715976f1c0630bce6b602717f8e"
"""The SHA-256 of the manifest of the published tables: the ledger, the tables of others, the texts of the claims."""


def listing() -> str:
    """Return the manifest of the files as they are: a line for each, sorted by path."""
    files = sorted(
        path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file() and path != DATA / MANIFEST
    )
    return "".join(f"{sha256_of((DATA / file).read_bytes())}  {file}\n" for file in files)


@functools.cache
def listed() -> dict[str, str]:
    """Return the SHA-256 of every file by its path, from the manifest."""
    try:
        text = (DATA / MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedDataError(f"{DATA / MANIFEST}: cannot be read ({error})") from None
    if sha256_of(text) != MANIFEST_SHA256:
        raise DamagedDataError(f"{DATA / MANIFEST}: damaged, its SHA-256 is not the package's")
    return sums(text.decode())


def sums(listing: str) -> dict[str, str]:
    """Return the SHA-256 of files by their names, from the lines of a manifest."""
    pairs = (line.split("  ", 1) for line in listing.splitlines())
    return {name: sha256 for sha256, name in pairs}


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read(name: str) -> bytes:
    """Return a file of the manifest when it is as listed there."""
    path, files = DATA / name, listed()
    if name not in files:
        raise DamagedDataError(f"{path}: not in {MANIFEST}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedDataError(f"{path}: cannot be read ({error})") from None
    if sha256_of(content) != files[name]:
        raise DamagedDataError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST}")
    return content


def verify() -> list[str]:
    """Recompute every checksum; return the files that were checked.

    Raises
    ------
    DamagedDataError
        Naming the first file that is missing, changed, not in the manifest, or in the manifest
        and no record.

    Examples
    --------
    >>> from validation import verify
    >>> len(verify()) > 400
    True
    """
    files = listed()
    folders = {folder.as_posix() for name in files for folder in Path(name).parents}
    for path in DATA.rglob("*"):
        known = folders if path.is_dir() else {*files, MANIFEST}
        if path.relative_to(DATA).as_posix() not in known:
            raise DamagedDataError(f"{path}: not in {MANIFEST}")
    for name in files:
        read(name)
    for case in sorted({name.rpartition("/")[0] for name in files}):
        record = json.loads(read(f"{case}/provenance.json"))
        recorded = {file: about["sha256"] for file, about in record["files"].items()}
        kept = {n.rpartition("/")[2]: sha for n, sha in files.items() if n.startswith(f"{case}/")}
        del kept["provenance.json"]
        if recorded != kept:
            raise DamagedDataError(f"{DATA / case}: its provenance.json names other files")
    return list(files)


def published_listing() -> str:
    """Return the manifest of the ledger, the tables of others and the claims' texts as they are, sorted by name."""
    files = {path.name: path for path in PUBLISHED.iterdir() if path.name not in (*OURS, MANIFEST)}
    files |= {path.relative_to(TEXTS.parent).as_posix(): path for path in TEXTS.rglob("*.md")}
    return "".join(f"{sha256_of(files[name].read_bytes())}  {name}\n" for name in sorted(files))


def verify_published() -> list[str]:
    """Recompute the checksums of the ledger, of the tables of others and of the claims' texts; return their names.

    Raises
    ------
    DamagedDataError
        Naming the first file that is missing, changed, or not in the manifest.

    Examples
    --------
    >>> "spang2021_queue_depths.csv" in verify_published()
    True
    """
    if sha256_of((PUBLISHED / MANIFEST).read_bytes()) != PUBLISHED_SHA256:
        raise DamagedDataError(f"{PUBLISHED / MANIFEST}: its SHA-256 is not that in the package")
    known = sums((PUBLISHED / MANIFEST).read_text(encoding="utf-8"))
    here = sums(published_listing())
    for name in sorted({*known, *here}):
        path = (TEXTS.parent if "/" in name else PUBLISHED) / name
        if name not in here:
            raise DamagedDataError(f"{path}: cannot be read")
        if name not in known:
            raise DamagedDataError(f"{path}: not in {MANIFEST}")
        if known[name] != here[name]:
            raise DamagedDataError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST}")
    return list(known)


def changed_programs() -> list[dict[str, str]]:
    """Return the rows of `CHANGED_PROGRAMS`: a program, the SHA-256 in records and that of the file, commits, and the reason.

    ``change`` is "format" if both versions have the same syntax tree, and "options" if the runs do not use what was added.
    """
    text = (PUBLISHED / CHANGED_PROGRAMS).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


class Programs(NamedTuple):
    """Hashes of programs in the records of cases, compared with the files: how many there are, and how many of each kind.

    Attributes
    ----------
    compared, equal, listed
        All hashes, those of the files as they are, and those of versions in `CHANGED_PROGRAMS`.
    absent
        Those whose file is not here: drivers of simulators are not installed.
    """

    compared: int
    equal: int
    listed: int
    absent: int


def verify_programs() -> Programs:
    """Compare the SHA-256 of each program in the records of cases with that of its file.

    Raises
    ------
    DamagedDataError
        Naming the first file that is neither the program that made a case nor a listed later version of it, or is missing.

    Examples
    --------
    >>> from validation.manifest import verify_programs
    >>> verify_programs().compared > 400
    True
    """
    root = DATA.parent.parent
    has_drivers = (DATA.parent / "generate").is_dir()
    later = {(row["program"], row["recorded"], row["now"]) for row in changed_programs()}
    hashes: dict[str, str] = {}
    counts = dict.fromkeys(("compared", "equal", "listed", "absent"), 0)
    for name in listed():
        case, _, file = name.rpartition("/")
        if file != "provenance.json":
            continue
        for program, recorded in json.loads(read(name))["programs"].items():
            counts["compared"] += 1
            path = root / program
            if not path.is_file():
                if has_drivers:
                    raise DamagedDataError(f"{path}: missing, it made {case}")
                counts["absent"] += 1
                continue
            now = hashes.setdefault(program, sha256_of(path.read_bytes()))
            if now != recorded and (program, recorded, now) not in later:
                raise DamagedDataError(
                    f"{path}: not the program that made {case} (SHA-256 {recorded[:12]}, now {now[:12]}); run the case again,"
                    f" or say in {CHANGED_PROGRAMS} which commit changed the file and why the runs stay right"
                )
            counts["equal" if now == recorded else "listed"] += 1
    return Programs(**counts)
