"""What git says of protected files: which are not as committed, and which changes since `BASE` the changelog does not name.

Whoever renews a checksum together with its file leaves a trace there. Without the repository's history, such as in an installed wheel
or a shallow clone, nothing of it can be said.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from validation import manifest

BASE = "7357e158e7f60799934f1378967196cdae59d964"
"""The commit from which on changes need a line in the changelog; the history before it is taken as it is. A release moves it."""
CHANGELOG = "CHANGELOG.md"
PACKAGE = Path(manifest.__file__).parent
NAME = PACKAGE.name
DATA, PUBLISHED, TEXTS, DRIVERS = (f"{NAME}/{folder}" for folder in ("data", "published", "claims", "generate"))
FIGURES, GALLERY = "docs/figures", "docs/gallery"
GUARD = f"{NAME}/history.py"
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
Words = tuple[str, ...]
"""What a line of the changelog must have, all of it."""

NAMING_COLUMNS = {
    "settings.csv": ("paper", "setting"),
    "inferred_parameters.csv": ("paper", "name"),
    manifest.CHANGED_PROGRAMS: ("program",),
}
"""Tables whose rows belong to no claim, and the columns that name a row."""


def _words_of_row(path: PurePosixPath, row: Row) -> Words:
    """Return the claim that a row of a published table belongs to; without one, the row's name or that of the file."""
    if columns := NAMING_COLUMNS.get(path.name):
        return tuple(row.get(column, "") for column in columns)
    return (row.get("id") or row.get("claim") or path.stem,)


GUARDED: Mapping[str, Callable[[PurePosixPath, Row], Words]] = {
    PUBLISHED: _words_of_row,
    DATA: lambda path, _: (path.relative_to(DATA).parent.as_posix(),),
    DRIVERS: lambda path, _: (path.relative_to(DRIVERS).as_posix(),),
    FIGURES: lambda path, _: (path.stem,),
    GALLERY: lambda path, _: (path.relative_to(GALLERY).with_suffix("").as_posix(),),
    GUARD: lambda path, _: (path.as_posix(),),
}
"""Folders and files whose changes need a line in the changelog, with the words that it must have.

Published tables have rows. Any other file is a single row. The texts of claims are guarded by their hashes in ``numbers.csv``."""
UNSEEN = (
    "whether a line of the changelog is true",
    f"changes before {BASE[:8]}",
    "a rewritten history (the hashes of a release show it)",
    "code that judges, and cached findings (`hopflow validate` compares verdicts, numbers and words with the record)",
    "tests, and pages (the quick tests compare their numbers with the records)",
)
"""Changes that the comparison cannot see."""


class Commit(NamedTuple):
    """A commit by its hash, date and first line, and its number, parents before children; without a hash it is the working tree."""

    sha: str = ""
    date: str = ""
    subject: str = ""
    number: float = math.inf

    def __str__(self) -> str:
        return f"{self.sha[:8]} of {self.date}" if self.sha else "none, the working tree"


class Change(NamedTuple):
    """A row of a table, or a file, that changed.

    Attributes
    ----------
    table, row
        The table, and the entries that identify the row; of any other file its path, and "".
    commit
        The last commit that changed it.
    how
        "changed", "added", "removed"; "changed back by a merge" to what none of the commits that changed it had left.
    first
        Of an expectation, the commit that first held it.
    words
        Of a row without a line in the changelog, what the line must have.
    """

    table: str
    row: str
    commit: Commit
    how: str = "changed"
    first: Commit = Commit()
    words: Words = ()


class Step(NamedTuple):
    """What a commit, or the working tree, did to a file: its blobs in the parents and in the commit, "" where it is not there.

    A merge is a step if a parent differs from it. Parents that do not are named once.
    """

    commit: Commit
    before: tuple[str, ...]
    after: str


class File(NamedTuple):
    """A protected file by its blobs in the last commit and in the working tree, "" where it is not there."""

    committed: str
    present: str

    @property
    def is_edited(self) -> bool:
        """Whether it is not as in the last commit."""
        return self.committed != self.present


class History(NamedTuple):
    """What git says.

    Attributes
    ----------
    missing
        Why it says nothing; "": it does.
    is_rewritten
        Whether that is because the history lacks `BASE`.
    uncommitted
        Protected files that are not as in the last commit.
    without_record
        Tables of simulators that a commit since `BASE` changed, or the working tree, without a change of what made them.
    first
        For each expectation, ``claim statement``, the commit that first held it.
    expectations
        Those that are not as that commit held them, or were removed.
    named
        How many rows and files changed since `BASE` and have their line in the changelog.
    unnamed
        Those that have none.
    """

    missing: str = ""
    is_rewritten: bool = False
    uncommitted: tuple[str, ...] = ()
    without_record: tuple[str, ...] = ()
    first: Mapping[str, Commit] = MappingProxyType({})
    expectations: tuple[Change, ...] = ()
    named: int = 0
    unnamed: tuple[Change, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing is there that an honest change does not leave."""
        return not (self.is_rewritten or self.uncommitted or self.without_record or self.expectations or self.unnamed)


def read_history() -> History:
    """Return what the history of the repository says, if the package is a checkout.

    Examples
    --------
    >>> from validation.history import read_history
    >>> about = read_history()
    >>> bool(about.missing) or len(about.first) > 90
    True
    """
    if reason := _missing():
        return History(reason)
    if not _has_base():
        return History(f"the history lacks commit {BASE[:8]}, from which on it is compared", is_rewritten=True)
    files = _files()
    steps = _steps(files, [*GUARDED, CHANGELOG], f"{BASE}..HEAD")
    content = _contents(steps, files)
    named, unnamed = _guarded_changes(steps, content, files)
    first, expectations = _expectations(files)
    uncommitted = tuple(path for path, file in files.items() if file.is_edited and path != CHANGELOG)
    return History(
        uncommitted=uncommitted,
        without_record=tuple(_without_record(steps, content)),
        first=first,
        expectations=expectations,
        named=named,
        unnamed=unnamed,
    )


Versions = Sequence[tuple[Commit, Row | None]]
"""A row as each commit left it that changed it, parents before children; None: without it."""


def _expectations(files: Mapping[str, File]) -> tuple[dict[str, Commit], tuple[Change, ...]]:
    """Return which commit first held each expectation, and the expectations that are not as it held them."""
    steps = _steps(files, [f"{PUBLISHED}/{table}" for table in EXPECTATIONS])
    content = _contents(steps, files)
    first: dict[str, Commit] = {}
    changes = []
    for path, of_file in steps.items():
        table = PurePosixPath(path).name
        tables = _tables(path, _blobs(of_file), content)
        for row, versions in _row_versions(of_file, tables).items():
            decided = _decided(versions, EXPECTATIONS[table])
            (begin, before), (end, now) = decided[0], decided[-1]
            if now is None:
                changes.append(Change(table, row, end, "removed", begin))
                continue
            first[row] = begin
            if now != before:
                changes.append(Change(table, row, end, "changed", begin))
    return first, tuple(changes)


def _decided(versions: Versions, columns: Sequence[str]) -> Versions:
    """Return the versions of an expectation from the first that decides on, with the columns that must not change."""
    chosen = [(commit, row and {name: row.get(name, "") for name in columns}) for commit, row in versions]
    return list(itertools.dropwhile(lambda version: OPEN in (version[1] or {}).values(), chosen)) or chosen


def _guarded_changes(
    steps: Mapping[str, Sequence[Step]], content: Mapping[str, bytes], files: Mapping[str, File]
) -> tuple[int, tuple[Change, ...]]:
    """Return how many changed rows have a line in the changelog, and the rows that have none.

    The last change of a row needs a line that was added in its commit or in one that follows: a line for an earlier change of the same
    claim is none for a later one. On several branches each has a last change. A row that is as none of them left it was changed by a
    merge, which needs a line as well.
    """
    lineage = _Lineage()
    lines = _added_lines(steps.get(CHANGELOG, ()), content)
    line_commits: dict[Words, list[Commit]] = {}
    named = 0
    unnamed: list[Change] = []
    for path, of_file in steps.items():
        folder = next((folder for folder in GUARDED if path == folder or path.startswith(f"{folder}/")), "")
        if not folder or PurePosixPath(path).name == manifest.MANIFEST:
            continue
        present = files[path].present if path in files else ""
        tables = _tables(path, {*_blobs(of_file), present}, content)
        base, now = tables[of_file[0].before[0]], tables[present]
        for key, versions in _row_versions(of_file, tables).items():
            row = next(row for row in (base.get(key), *(row for _, row in versions)) if row is not None)
            words = GUARDED[folder](PurePosixPath(path), row)
            if words not in line_commits:
                line_commits[words] = [commit for line, commit in lines if has_words(line, words)]
            last = lineage.last(dict(versions))
            how = "removed" if key not in now else "changed" if key in base else "added"
            if now.get(key) not in last.values():
                last, how = {_last_choice(key, of_file, tables): None}, "changed back by a merge"
            bare = [commit for commit in last if not any(lineage.follows(line, commit) for line in line_commits[words])]
            named += not bare
            if bare:
                table = path.removeprefix(f"{PUBLISHED}/")
                unnamed.append(Change(table, key, bare[-1], how, words=words))
    return named, tuple(sorted(unnamed, key=lambda change: (change.words, change.table)))


def _added_lines(steps: Iterable[Step], content: Mapping[str, bytes]) -> list[tuple[str, Commit]]:
    """Return the present lines of the changelog that commits since `BASE` added, with these commits."""
    present = set((PACKAGE.parent / CHANGELOG).read_text(encoding="utf-8").splitlines()) if steps else set()
    added = []
    for step in steps:
        after, *before = (Counter(content[blob].decode().splitlines()) for blob in (step.after, *step.before))
        new = after if not before else after - before[0]
        for other in before[1:]:
            new &= after - other
        added += [(line, step.commit) for line in new if line in present]
    return added


def has_words(line: str, words: Words) -> bool:
    """Return whether a line of the changelog has each of some words, as such and not as a part of a longer one.

    Ranges of claims have those between: "D05 to D08" has D06.

    Examples
    --------
    >>> from validation.history import has_words
    >>> has_words("- M01 to M16: judged again.", ("M11",)), has_words("- M01, M16: judged again.", ("M11",))
    (True, False)
    >>> has_words("- linux/queue-step: another seed.", ("linux/queue",))
    False
    """
    for letter, first, last in re.findall(r"\b([A-Z])(\d\d) to \1(\d\d)\b", line):
        line += "".join(f" {letter}{number:02d}" for number in range(int(first), int(last) + 1))
    return all(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", line) for word in words)


class _Lineage:
    """Which of the commits since `BASE` follow which; the working tree follows all."""

    def __init__(self) -> None:
        log = _git("rev-list", "--topo-order", "--reverse", "--parents", f"{BASE}..HEAD").decode()
        self._ancestors: dict[str, int] = {}  # a bit for each commit by its number: itself and its ancestors
        self._numbers: dict[str, int] = {}
        for number, (sha, *parents) in enumerate(map(str.split, log.splitlines())):
            self._numbers[sha] = number
            self._ancestors[sha] = 1 << number
            for parent in parents:
                self._ancestors[sha] |= self._ancestors.get(parent, 0)

    def follows(self, one: Commit, other: Commit) -> bool:
        """Return whether a commit is another one, or has it among its ancestors."""
        if not (one.sha and other.sha):
            return not one.sha
        return bool(self._ancestors[one.sha] >> self._numbers[other.sha] & 1)

    def last(self, versions: Mapping[Commit, Row | None]) -> dict[Commit, Row | None]:
        """Return the commits that no other one of them follows, with what they left."""
        return {
            commit: row
            for commit, row in versions.items()
            if not any(other != commit and self.follows(other, commit) for other in versions)
        }


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


def _has_base() -> bool:
    """Return whether `BASE` is the last commit or one before it."""
    try:
        _git("merge-base", "--is-ancestor", BASE, "HEAD")
    except subprocess.CalledProcessError:
        return False
    return True


def _files() -> dict[str, File]:
    """Return the protected files, and the changelog.

    All files are hashed: git's index can be told to take a file as unchanged (``update-index --skip-worktree``).
    """
    paths = *GUARDED, TEXTS, f"{NAME}/manifest.py", CHANGELOG
    tree = _git("ls-tree", "-r", "-z", "HEAD", "--", *paths).decode("utf-8", "replace")
    committed = {path: about.split()[2] for about, _, path in (line.partition("\t") for line in tree.split("\0")[:-1])}
    others = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths)
    listed = dict.fromkeys([*committed, *others.decode("utf-8", "replace").split("\0")[:-1]])
    names = [name for name in listed if not name.startswith(TEXTS) or name.endswith(".md")]
    exist = [name for name in names if (PACKAGE.parent / name).is_file()]
    hashes = _git("hash-object", "--stdin-paths", given="".join(f"{name}\n" for name in exist)).decode().split()
    present = dict(zip(exist, hashes, strict=True))
    return {name: File(committed.get(name, ""), present.get(name, "")) for name in names}


def _steps(files: Mapping[str, File], paths: Sequence[str], commits: str = "HEAD") -> dict[str, list[Step]]:
    """Return what commits and the working tree did to the files below some paths, parents before children, by path."""
    options = (
        "--reverse",
        "--topo-order",
        "--full-history",
        "--date=short",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "-m",
    )
    log = _git("log", "--format=%x00%H%x01%P%x01%ad%x01%s", *options, commits, "--", *paths).decode("utf-8", "replace")
    steps: dict[str, list[Step]] = {}
    numbers: dict[str, int] = {}
    parents_of: dict[str, int] = {}
    for entry in log.split("\0")[1:]:
        head, *lines = entry.splitlines()
        sha, parents, date, subject = head.split("\1", 3)
        parents_of[sha] = len(parents.split())
        commit = Commit(sha, date, subject, numbers.setdefault(sha, len(numbers)))
        for line in filter(None, lines):
            about, _, path = line.partition("\t")
            before, after = (blob if blob.strip("0") else "" for blob in about.split()[2:4])
            of_file = steps.setdefault(path, [])
            if of_file and of_file[-1].commit == commit:  # a merge has an entry for each parent that differs
                before_others = of_file.pop().before
                of_file.append(Step(commit, (*before_others, before), after))
            else:
                of_file.append(Step(commit, (before,), after))
    for path, of_file in steps.items():
        steps[path] = [
            step._replace(before=(*step.before, step.after)) if len(step.before) < parents_of[step.commit.sha] else step
            for step in of_file
        ]
    for path, file in files.items():
        if file.is_edited and any(path == name or path.startswith(f"{name}/") for name in paths):
            steps.setdefault(path, []).append(Step(Commit(), (file.committed,), file.present))
    return steps


def _contents(steps: Mapping[str, Sequence[Step]], files: Mapping[str, File]) -> dict[str, bytes]:
    """Return the contents of published tables, of records and of the changelog by their blobs."""
    content = {"": b""}
    blobs: set[str] = set()
    for path, of_file in steps.items():
        if not (_has_rows(path) or path.endswith(f"/{RECORD}") or path == CHANGELOG):
            continue
        blobs |= _blobs(of_file)
        if path in files and (PACKAGE.parent / path).is_file():
            content[files[path].present] = (PACKAGE.parent / path).read_bytes()
    names = sorted(blobs - content.keys())
    batch = io.BytesIO(_git("cat-file", "--batch", given="".join(f"{name}\n" for name in names)))
    for name in names:
        size = int(batch.readline().split()[-1])
        content[name] = batch.read(size + 1)[:-1]
    return content


def _has_rows(path: str) -> bool:
    """Return whether a file is compared row by row: the published tables."""
    return path.startswith(f"{PUBLISHED}/") and path.endswith(".csv")


def _blobs(steps: Iterable[Step]) -> set[str]:
    """Return the blobs of all versions of a file, "" where it is not there."""
    return {blob for step in steps for blob in (*step.before, step.after)}


def _tables(path: str, blobs: Iterable[str], content: Mapping[str, bytes]) -> dict[str, Rows]:
    """Return the rows of versions of a file by blob; a file without rows is a single one."""
    if not _has_rows(path):
        return {blob: {"": {"blob": blob}} if blob else {} for blob in blobs}
    entries = {blob: _entries(content[blob]) for blob in blobs}
    keys = _keys(list(entries.values()))
    return {blob: _by(keys, rows) for blob, rows in entries.items()}


def _row_versions(steps: Sequence[Step], tables: Mapping[str, Rows]) -> dict[str, list[tuple[Commit, Row | None]]]:
    """Return the versions of each row that a commit changed: no parent has it as the commit has."""
    versions: dict[str, list[tuple[Commit, Row | None]]] = {}
    for step in steps:
        after, before = tables[step.after], [tables[blob] for blob in step.before]
        for row in dict.fromkeys(itertools.chain(after, *before)):
            if all(after.get(row) != table.get(row) for table in before):
                versions.setdefault(row, []).append((step.commit, after.get(row)))
    return versions


def _last_choice(row: str, steps: Sequence[Step], tables: Mapping[str, Rows]) -> Commit:
    """Return the last merge that took a row of one parent and not of another."""
    return next(
        (
            step.commit
            for step in reversed(steps)
            if len(step.before) > 1
            and any(tables[step.after].get(row) != tables[blob].get(row) for blob in step.before)
        ),
        Commit(),
    )


def _entries(content: bytes) -> list[Row]:
    """Return the rows of a table, without empty cells: a new column changes the rows that have something in it."""
    rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    return [{name: value for name, value in row.items() if name and value} for row in rows]


def _keys(versions: Sequence[Sequence[Row]]) -> list[str]:
    """Return the columns that identify the rows of a table in all its versions: as few of the first ones as can."""
    columns = list(dict.fromkeys(name for rows in versions for row in rows for name in row))
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


def _without_record(steps: Mapping[str, Sequence[Step]], content: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the tables of simulators that changed without what made them."""
    cases: dict[str, dict[Commit, dict[str, Step]]] = {}
    for path, of_file in steps.items():
        if path.startswith(f"{DATA}/") and "/" in (name := path.removeprefix(f"{DATA}/")):
            case, _, file = name.rpartition("/")
            for step in of_file:
                cases.setdefault(case, {}).setdefault(step.commit, {})[file] = step
    for case, commits in cases.items():
        record = f"{DATA}/{case}/{RECORD}"
        versions = [content[blob] for step in steps.get(record, ()) for blob in (*step.before, step.after)]
        if not versions and (PACKAGE.parent / record).is_file():
            versions = [(PACKAGE.parent / record).read_bytes()]
        tools = (_record(version).get("tool") for version in versions)
        tool = next(filter(None, tools), "hopflow")
        for commit, files in commits.items():
            about = files.pop(RECORD, Step(commit, ("",), ""))
            before, after = _record(content[about.before[0]]), _record(content[about.after])
            if tool != "hopflow" and all(before.get(name) == after.get(name) for name in MADE_BY):
                edited = [
                    file
                    for file, step in files.items()
                    if step.after and all(step.before) and step.after not in step.before
                ]
                yield from (f"{DATA}/{case}/{file} in {commit}" for file in edited)


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
