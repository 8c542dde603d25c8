"""What git says of the bundled data and the ledger: which files are not as committed, and what was changed after it was first committed.

Whoever renews a checksum together with its file leaves a trace there. Without the repository's history, such as in an installed wheel,
nothing of it can be said.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from validation import manifest

PACKAGE = Path(manifest.__file__).parent
NAME = PACKAGE.name
LEDGER = {
    "claims.csv": ("id",),
    "own_claims.csv": ("id",),
    "fabric_claims.csv": ("id",),
    "paraphrases.csv": ("id",),
    "statements.csv": ("claim", "statement"),
    "minor_statements.csv": ("claim", "statement"),
    "undecidable_statements.csv": ("claim", "statement"),
    "excused_cases.csv": ("case", "claim"),
    "without_packet_level.csv": ("id",),
    "without_explanation.csv": ("id",),
}
"""Tables of ``published`` whose rows are followed through the history, with the columns that identify a row."""
EXPECTATIONS = {
    "fabric_expectations.csv": ("statistic", "threshold", "model", "packet level"),
    "linux_expectations.csv": ("statistic", "threshold", "Linux"),
}
"""What was expected of claims before their first run, and the columns that must not change afterwards."""
OPEN = "undecidable"
"""A verdict expected of a statement that nothing could decide then; the expectation may follow later."""
MADE_BY = ("programs", "commands", "version", "parameters", "seeds", "runs")
"""Entries of a record of which one at least changes when the runs of a simulator do."""


class Commit(NamedTuple):
    """A commit by its hash, date and first line; without a hash it is the working tree."""

    sha: str = ""
    date: str = ""
    subject: str = ""

    def __str__(self) -> str:
        return f"{self.sha[:8]} of {self.date}" if self.sha else "none, the working tree"


class Change(NamedTuple):
    """A row of a table that was changed after it was first committed.

    Attributes
    ----------
    table, row
        The table, and the entries that identify the row.
    first
        The commit that first held the row.
    commit
        The last one that changed it.
    """

    table: str
    row: str
    first: Commit
    commit: Commit


class History(NamedTuple):
    """What git says.

    Attributes
    ----------
    missing
        Why it says nothing; "": it does.
    uncommitted
        Protected files that are not as in the last commit.
    without_record
        Tables of simulators that a commit changed, or the working tree, without a change of what made them.
    first
        For each expectation, ``claim statement``, the commit that first held it.
    expectations
        Those that are not as that commit held them.
    rows
        Rows of `LEDGER` that were changed after they were first committed.
    """

    missing: str = ""
    uncommitted: tuple[str, ...] = ()
    without_record: tuple[str, ...] = ()
    first: Mapping[str, Commit] = MappingProxyType({})
    expectations: tuple[Change, ...] = ()
    rows: tuple[Change, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is there that an honest change does not leave."""
        return not (self.uncommitted or self.without_record or self.expectations)


def read_history() -> History:
    """Return what the history of the repository says, if the package is a checkout.

    Examples
    --------
    >>> from validation.history import read_history
    >>> about = read_history()
    >>> bool(about.missing) or len(about.first) > 90
    True
    """
    if why := _missing():
        return History(why)
    first: dict[str, Commit] = {}
    changed: list[Change] = []
    for table, columns in EXPECTATIONS.items():
        for row, versions in _rows(table, ("claim", "statement")).items():
            values = [(commit, [entry[name] for name in columns]) for commit, entry in versions]
            decided = list(itertools.dropwhile(lambda each: OPEN in each[1], values)) or values
            first[row] = decided[0][0]
            changed += _changes(table, row, decided)
    rows = [
        change
        for table, keys in LEDGER.items()
        for row, versions in _rows(table, keys).items()
        for change in _changes(table, row, versions)
    ]
    return History("", _uncommitted(), tuple(_without_record()), first, tuple(changed), tuple(rows))


def _changes(table: str, row: str, versions: list[tuple[Commit, Any]]) -> Iterator[Change]:
    """Yield the last change of a row, if it is not as it was first committed."""
    changed = [commit for (_, before), (commit, now) in itertools.pairwise(versions) if now != before]
    if changed and versions[-1][1] != versions[0][1]:
        yield Change(table, row, versions[0][0], changed[-1])


def _git(*arguments: str) -> bytes:
    """Return what git prints of the repository that the package is in."""
    command = ["git", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, check=True).stdout


def _missing() -> str:
    """Return why there is no history; "": there is one."""
    try:
        tracked = _git("ls-files", f"{NAME}/manifest.py")
        shallow = _git("rev-parse", "--is-shallow-repository")
    except FileNotFoundError:
        return "there is no git"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return f"git says: {lines[0]}" if lines else "git fails"
    if not tracked.strip():
        return "this copy is not of a git checkout"
    return "the clone is shallow: it lacks older commits" if shallow.strip() == b"true" else ""


def _log(*paths: str, raw: bool = False) -> Iterator[tuple[Commit, list[str]]]:
    """Yield the commits that changed paths, the oldest first, with the lines of their raw differences."""
    options = ["--raw", "-c", "--no-renames", "--no-abbrev"] if raw else []
    form = "--format=%x00%H%x01%ad%x01%s"
    log = _git("log", "--reverse", form, "--date=short", *options, "--", *paths)
    for entry in log.decode("utf-8", "replace").split("\0")[1:]:
        head, *lines = entry.splitlines()
        yield Commit(*head.split("\1", 2)), [line for line in lines if line]


def _rows(table: str, keys: tuple[str, ...]) -> dict[str, list[tuple[Commit, dict[str, str]]]]:
    """Return the versions of each row of a table that it has now, from the commit that first held the row on."""
    path = f"{NAME}/published/{table}"
    commits = [commit for commit, _ in _log(path)]
    content = [_blob(f"{commit.sha}:{path}") for commit in commits]
    file = PACKAGE / "published" / table
    content.append(file.read_bytes() if file.is_file() else b"")
    found: dict[str, list[tuple[Commit, dict[str, str]]]] = {}
    known: set[str] = set()
    for commit, version in zip([*commits, Commit()], content, strict=True):
        known = set()
        for entry in csv.DictReader(io.StringIO(version.decode("utf-8", "replace"))):
            row = " ".join(entry.get(key) or "" for key in keys)
            found.setdefault(row, []).append((commit, entry))
            known.add(row)
    return {row: versions for row, versions in found.items() if row in known}


def _blob(name: str) -> bytes:
    """Return a file of a commit; empty where that has none."""
    try:
        return _git("cat-file", "blob", name)
    except subprocess.CalledProcessError:
        return b""


def _uncommitted() -> tuple[str, ...]:
    """Return the protected files that are not as in the last commit, by their paths in the repository."""
    paths = [f"{NAME}/{name}" for name in ("data", "published", "claims", "manifest.py")]
    status = _git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *paths)
    files = [entry[3:] for entry in status.decode("utf-8", "replace").split("\0") if entry]
    ours = {f"{NAME}/published/{name}" for name in manifest.OURS}
    texts = f"{NAME}/claims/"
    return tuple(file for file in files if file not in ours and (not file.startswith(texts) or file.endswith(".md")))


def _without_record() -> Iterator[str]:
    """Yield tables of simulators that changed while nothing changed of what made them, with the commit."""
    data = f"{NAME}/data"
    now = _git("diff", "--raw", "--no-renames", "--no-abbrev", "HEAD", "--", data).decode()
    for commit, lines in [*_log(data, raw=True), (Commit(), now.splitlines())]:
        changed = {}
        for line in lines:
            about, _, path = line.partition("\t")
            if about.rpartition(" ")[2].strip("M") == "":
                parents = about.count(":")
                blobs = about.split()[parents + 1 :]
                changed[path.rpartition("\t")[2]] = blobs[0], blobs[-2]
        for path in changed:
            folder, _, file = path.rpartition("/")
            if folder != data and file != "provenance.json":
                before, after = (
                    _record(f"{folder}/provenance.json", blob)
                    for blob in changed.get(f"{folder}/provenance.json", ("", ""))
                )
                record = after or _record(f"{folder}/provenance.json", "")
                if record.get("tool") != "hopflow" and _about(before) == _about(after):
                    yield f"{path} in {commit}"


def _record(path: str, blob: str) -> dict[str, Any]:
    """Return a record by its blob; of the working tree where it has none."""
    if not blob.strip("0"):
        file = PACKAGE.parent / path
        content = file.read_bytes() if file.is_file() else b"{}"
    else:
        content = _git("cat-file", "blob", blob)
    try:
        record = json.loads(content)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _about(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return what made the tables of a record, and how many rows and which columns they have."""
    files = record.get("files", {})
    tables = {name: (file["rows"], file["columns"]) for name, file in files.items()}
    return (*(record.get(name) for name in MADE_BY), tables)
