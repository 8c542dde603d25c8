"""What git says of the bundled data, the ledger and the texts: which files are not as committed, and what later commits changed.

Whoever renews a checksum together with its file leaves a trace there. Without the repository's history, such as in an installed wheel,
nothing of it can be said.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from validation import manifest

PACKAGE = Path(manifest.__file__).parent
NAME = PACKAGE.name
DATA, PUBLISHED, TEXTS = (f"{NAME}/{folder}" for folder in ("data", "published", "claims"))
EXPECTATIONS = {
    "fabric_expectations.csv": ("statistic", "threshold", "model", "packet level"),
    "linux_expectations.csv": ("statistic", "threshold", "Linux"),
}
"""What was expected of claims before their first run, and the columns that must not change afterwards."""
OPEN = "undecidable"
"""A verdict expected of a statement that nothing could decide then; the expectation may follow later."""
MADE_BY = ("programs", "commands", "version", "parameters", "seeds", "runs", "columns")
"""Entries of a record of which one at least changes when the runs of a simulator do."""
RECORD = "provenance.json"

Row = dict[str, str]
Rows = dict[str, Row]
"""Rows of a table by the entries that identify them."""


class Commit(NamedTuple):
    """A commit by its hash, date and first line, and its number, parents before children; without a hash it is the working tree."""

    sha: str = ""
    date: str = ""
    subject: str = ""
    number: float = math.inf

    def __str__(self) -> str:
        return f"{self.sha[:8]} of {self.date}" if self.sha else "none, the working tree"


class Change(NamedTuple):
    """A row of a table, a text or a case that is not as it was first committed.

    Attributes
    ----------
    table, row
        The table, and the entries that identify the row; "texts" or "data", and the file or the case.
    first
        The commit that first held it.
    commit
        The last one that changed it.
    how
        "": it differs from what that commit held. "added": to a table that was there before. "removed". Of a case: which of its
        tables, and which entries of its record.
    """

    table: str
    row: str
    first: Commit
    commit: Commit
    how: str = ""


class Step(NamedTuple):
    """What a commit, or the working tree, did to a file: its blobs in the parents and in the commit, "" where it is not there."""

    commit: Commit
    before: tuple[str, ...]
    after: str


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
        Those that are not as that commit held them, or were removed.
    changes
        Rows of the published tables, texts and cases that are not as they were first committed, of each table the last changed first.
    """

    missing: str = ""
    uncommitted: tuple[str, ...] = ()
    without_record: tuple[str, ...] = ()
    first: Mapping[str, Commit] = MappingProxyType({})
    expectations: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()

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
    edited = _edited()
    steps = _steps(edited)
    content = _contents(steps)
    first: dict[str, Commit] = {}
    expectations: list[Change] = []
    changes: list[Change] = []
    for path, own in steps.items():
        table = path.removeprefix(f"{PUBLISHED}/")
        if path.startswith(PUBLISHED) and path.endswith(".csv"):
            versions = _row_versions(own, content)
            changes += _changed_rows(table, versions, own[0].commit)
            if columns := EXPECTATIONS.get(table):
                decided = {row: _decided(each, columns) for row, each in versions.items()}
                first |= {row: each[0][0] for row, each in decided.items() if each[-1][1]}
                expectations += _changed_rows(table, decided)
        elif not path.startswith(DATA) and len(own) > 1 and own[0].after != own[-1].after:
            how = "" if own[-1].after else "removed"
            changes.append(Change("texts", path.removeprefix(f"{NAME}/"), own[0].commit, own[-1].commit, how))
    cases, without_record = _changed_cases(steps, content)
    # In the order of the history: whoever commits chooses the date.
    changes = sorted([*changes, *cases], key=lambda change: -change.commit.number)
    return History("", tuple(edited), without_record, first, tuple(expectations), tuple(changes))


Versions = Sequence[tuple[Commit, Row | None]]
"""A row as each commit left it that changed it, the oldest first; None: without it."""


def _changed_rows(table: str, rows: Mapping[str, Versions], first: Commit | None = None) -> Iterator[Change]:
    """Yield the rows that are not as they were first committed; with the first commit of their table, later rows too."""
    for row, versions in rows.items():
        (begin, before), (end, now) = versions[0], versions[-1]
        if now is None:
            yield Change(table, row, begin, end, "removed")
        elif not _is_same(before, now):
            yield Change(table, row, begin, end)
        elif first not in (None, begin):
            yield Change(table, row, begin, begin, "added")


def _is_same(one: Row | None, other: Row | None) -> bool:
    """Return whether two versions of a row are equal in the columns that both have."""
    if one is None or other is None:
        return one is other
    return all(one[column] == other[column] for column in one.keys() & other.keys())


def _decided(versions: Versions, columns: Sequence[str]) -> Versions:
    """Return the versions of an expectation from the first that decides on, with the columns that must not change."""
    chosen = [(commit, row and {name: row[name] for name in columns}) for commit, row in versions]
    return list(itertools.dropwhile(lambda each: OPEN in (each[1] or {}).values(), chosen)) or chosen


def _git(*arguments: str, given: str = "") -> bytes:
    """Return what git prints of the repository that the package is in."""
    command = ["git", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, cwd=PACKAGE.parent, input=given.encode(), capture_output=True, check=True).stdout


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


def _steps(edited: Mapping[str, tuple[str, bool]]) -> dict[str, list[Step]]:
    """Return what commits and the working tree did to each protected file, parents before children, by its path.

    ``edited`` is what `_edited` returns.
    """
    paths = DATA, PUBLISHED, f":(glob){TEXTS}/**/*.md"
    options = "--raw", "--no-renames", "--no-abbrev"
    log = _git(
        "log", "--reverse", "--topo-order", "--format=%x00%H%x01%ad%x01%s", "--date=short", "-c", *options, "--", *paths
    )
    steps: dict[str, list[Step]] = {}
    for number, entry in enumerate(log.decode("utf-8", "replace").split("\0")[1:]):
        head, *lines = entry.splitlines()
        sha, date, subject = head.split("\1", 2)
        commit = Commit(sha, date, subject, number)
        for path, blobs in _raw(lines):
            steps.setdefault(path, []).append(Step(commit, blobs[:-1], blobs[-1]))
    for path, (blob, exists) in edited.items():
        if blob:
            steps.setdefault(path, []).append(Step(Commit(), (blob,), path if exists else ""))
    return {path: own for path, own in steps.items() if Path(path).name != manifest.MANIFEST}


def _raw(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the paths of raw differences, each with its blobs in the parents and in the commit, "" where it is not there."""
    for line in filter(None, lines):
        about, _, path = line.partition("\t")
        parents = about.count(":")
        yield path, tuple(blob if blob.strip("0") else "" for blob in about.split()[parents + 1 : -1])


def _contents(steps: Mapping[str, Sequence[Step]]) -> dict[str, bytes]:
    """Return the content of all blobs of the published tables and of the records, and of their files in the working tree by path."""
    read = [path for path in steps if path.endswith(f"/{RECORD}" if path.startswith(DATA) else ".csv")]
    blobs = {blob for path in read for step in steps[path] for blob in (*step.before, step.after)} - {""}
    files = {blob for blob in blobs if "/" in blob}
    names = sorted(blobs - files)
    batch = io.BytesIO(_git("cat-file", "--batch", given="".join(f"{name}\n" for name in names)))
    content = {"": b""} | {file: (PACKAGE.parent / file).read_bytes() for file in files}
    for name in names:
        size = int(batch.readline().split()[-1])
        content[name] = batch.read(size + 1)[:-1]
    return content


def _row_versions(steps: Sequence[Step], content: Mapping[str, bytes]) -> dict[str, list[tuple[Commit, Row | None]]]:
    """Return the versions of each row that a table ever had.

    A commit changed a row if no parent has it as the commit has.
    """
    entries = {blob: _entries(content[blob]) for step in steps for blob in (*step.before, step.after)}
    keys = _keys(list(entries.values()))
    tables = {blob: _by(keys, rows) for blob, rows in entries.items()}
    versions: dict[str, list[tuple[Commit, Row | None]]] = {}
    for step in steps:
        after, before = tables[step.after], [tables[blob] for blob in step.before]
        for row in dict.fromkeys(itertools.chain(after, *before)):
            if not any(_is_same(after.get(row), table.get(row)) for table in before):
                versions.setdefault(row, []).append((step.commit, after.get(row)))
    return versions


def _entries(content: bytes) -> list[Row]:
    """Return the rows of a table."""
    rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    return [{name: value or "" for name, value in row.items() if name} for row in rows]


def _keys(versions: Sequence[Sequence[Row]]) -> list[str]:
    """Return the columns that identify the rows of a table in all its versions: as few of the first ones as can."""
    columns = list(dict.fromkeys(name for rows in versions for row in rows[:1] for name in row))
    for number in range(1, len(columns)):
        names = [[tuple(row.get(name) for name in columns[:number]) for row in rows] for rows in versions]
        if all(len(set(each)) == len(each) for each in names):
            return columns[:number]
    return columns


def _by(keys: Sequence[str], rows: Iterable[Row]) -> Rows:
    """Return rows by what identifies them; of equal ones, the later ones have a mark."""
    table: Rows = {}
    for row in rows:
        name = " ".join(row.get(key, "") for key in keys)
        while name in table:
            name += " again"
        table[name] = row
    return table


def _edited() -> dict[str, tuple[str, bool]]:
    """Return the protected files that are not as in the last commit by path: their blob there, "" if none, and whether they exist.

    All files are hashed: git's index can be told to take a file as unchanged (``update-index --skip-worktree``).
    """
    paths = DATA, PUBLISHED, TEXTS, f"{NAME}/manifest.py"
    tree = _git("ls-tree", "-r", "-z", "HEAD", "--", *paths).decode("utf-8", "replace")
    blobs = {path: about.split()[2] for about, _, path in (line.partition("\t") for line in tree.split("\0")[:-1])}
    others = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths)
    listed = dict.fromkeys([*blobs, *others.decode("utf-8", "replace").split("\0")[:-1]])
    names = [name for name in listed if not name.startswith(TEXTS) or name.endswith(".md")]
    exists = [name for name in names if (PACKAGE.parent / name).is_file()]
    hashes = _git("hash-object", "--stdin-paths", given="".join(f"{name}\n" for name in exists)).decode().split()
    now = dict(zip(exists, hashes, strict=True))
    return {name: (blobs.get(name, ""), name in now) for name in names if now.get(name) != blobs.get(name)}


def _changed_cases(
    steps: Mapping[str, Sequence[Step]], content: Mapping[str, bytes]
) -> tuple[list[Change], tuple[str, ...]]:
    """Return the cases that later commits changed, and the tables of simulators that changed without what made them."""
    cases: dict[str, dict[Commit, dict[str, Step]]] = {}
    for path, own in steps.items():
        if path.startswith(DATA):
            folder, _, file = path.removeprefix(f"{DATA}/").rpartition("/")
            for step in own:
                cases.setdefault(folder, {}).setdefault(step.commit, {})[file] = step
    changes: list[Change] = []
    without_record: list[str] = []
    for case, commits in cases.items():
        versions = [content[step.after] for step in steps.get(f"{DATA}/{case}/{RECORD}", ())]
        tool = next((made for each in versions if (made := _record(each).get("tool"))), "hopflow")
        first, *others = sorted(commits, key=lambda commit: commit.number)
        for commit in others:
            tables = dict(commits[commit])
            about = tables.pop(RECORD, Step(commit, ("",), ""))
            before, after = _record(content[about.before[0]]), _record(content[about.after])
            if tool != "hopflow" and all(before.get(name) == after.get(name) for name in MADE_BY):
                edited = [file for file, step in tables.items() if step.after and all(step.before)]
                without_record += [f"{DATA}/{case}/{file} in {commit}" for file in edited]
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            how = "removed" if about.before[0] and not about.after else ", ".join([*tables, *names])
            changes += [Change("data", case, first, commit, how)] if how else []
    return list({change.row: change for change in changes}.values()), tuple(without_record)


def _record(content: bytes) -> dict[str, Any]:
    """Return the entries of a record, with the columns and the numbers of rows of its tables instead of their checksums."""
    try:
        record: dict[str, Any] = json.loads(content or "{}")
        files = record.pop("files", {})
        for name in ("rows", "columns"):
            record[name] = {file: about[name] for file, about in files.items()}
    except (ValueError, AttributeError, KeyError, TypeError):
        return {}
    return record
