"""What git says of the data and the ledger: a small repository in which files are changed with and without a commit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow.errors import DamagedDataError
from tests.surface import invoke
from validation import evidence, manifest, row_checks
from validation import history as module
from validation.commands import bundled_data
from validation.history import History, read_history

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
EXPECTED = "claim,statement,statistic,threshold,model,packet level\n"
CASE = "data/zheng2002/ecn"
PLACE = f"validation/{CASE}"


def git(folder: Path, *words: str) -> None:
    """Run git without the settings of the user."""
    who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | who | {"GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def write(folder: Path, files: dict[str, str], *, commit: str = "") -> None:
    """Write files of a repository, and commit all, if there is a message."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if commit:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", commit)


def record(**changed: Any) -> str:
    """Return a record of a simulator's tables."""
    columns = {"p": {"unit": "1", "meaning": "loss"}}
    about = {"tool": "ns-2", "seeds": [1], "files": {"link.csv": {"rows": 1, "columns": columns}}}
    return json.dumps(about | changed)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a repository of a few files of the package, committed once."""
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "validation")
    git(tmp_path, "init", "-q", "-b", "main")
    rows = "A1,x,above zero,none,holds,holds\nA1,y,undecidable,none,holds,undecidable\n"
    tables = {
        "fabric_expectations.csv": EXPECTED + rows,
        "paraphrases.csv": "id,paraphrase\nA1,smoother\nA2,b\n",
        "minor_statements.csv": "claim,statement,reason\nA1,x,c\nA1,w,d\n",
        "table4.csv": "scenario,queue,mean\n1,RED,3\n1,DRR,4\n2,RED,5\n",
    }
    files = {f"validation/published/{name}": text for name, text in tables.items()}
    files |= {"validation/claims/a.md": "It rises.\n"}
    files |= {f"{PLACE}/provenance.json": record(), f"{PLACE}/link.csv": "p\n0.5\n"}
    files |= {
        "validation/generate/ns3/rules.h": "int a;\n",
        "docs/figures/tcp.svg": "<svg/>",
        "CHANGELOG.md": "# Changelog\n",
    }
    files |= {"validation/history.py": "BASE", "docs/gallery/markov/dam.py": "a"}
    write(tmp_path, files | {"validation/manifest.py": ""}, commit="first")
    monkeypatch.setattr(module, "BASE", head(tmp_path))
    return tmp_path


def head(folder: Path) -> str:
    """Return the hash of the last commit."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def add_line(folder: Path, line: str, *, commit: str = "") -> None:
    """Add a line at the end of the changelog."""
    path = folder / "CHANGELOG.md"
    write(folder, {"CHANGELOG.md": f"{path.read_text()}- {line}\n"}, commit=commit)


def unnamed() -> list[tuple[str, str, str]]:
    """Return table, row and kind of the changes that have no line in the changelog."""
    return [(change.table, change.row, change.how) for change in read_history().unnamed]


def edit(folder: Path, name: str, old: str, new: str, *, commit: str = "") -> None:
    path = folder / "validation" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    write(folder, {f"validation/{name}": text.replace(old, new)}, commit=commit)


def test_an_untouched_repository_is_clean(repository: Path) -> None:
    about = read_history()
    assert about.is_clean
    assert not about.missing
    assert not about.unnamed
    assert about.named == 0
    assert {name: commit.subject for name, commit in about.first.items()} == {
        "A1 x": "first",
        "A1 y": "first",
    }


@pytest.mark.parametrize("commit", ["", "typo"])
def test_a_cell_that_changes_without_its_record_is_named(repository: Path, commit: str) -> None:
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit=commit)
    (table,) = read_history().without_record
    assert table.startswith(f"{PLACE}/link.csv in ")
    assert bool(read_history().uncommitted) is not bool(commit)
    assert not read_history().is_clean


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
@pytest.mark.parametrize(("file", "old"), [("published/paraphrases.csv", "smoother"), ("claims/a.md", "rises")])
def test_a_file_that_git_is_told_to_pass_over_is_compared_all_the_same(
    repository: Path, flag: str, file: str, old: str
) -> None:
    git(repository, "update-index", flag, f"validation/{file}")
    edit(repository, file, old, "falls")
    about = read_history()
    assert about.uncommitted == (f"validation/{file}",)
    assert [str(change.commit) for change in about.unnamed] == ["none, the working tree"] * file.endswith("csv")


def test_what_is_recorded_of_claims_is_compared_with_the_last_commit(repository: Path) -> None:
    add_line(repository, "A1 is recorded.")
    write(repository, {f"validation/published/{name}": "id\nA1\n" for name in manifest.OURS}, commit="record")
    assert read_history().is_clean
    edit(repository, "published/readings.csv", "A1", "A2")
    assert read_history().uncommitted == ("validation/published/readings.csv",)


@pytest.mark.parametrize("commit", ["", "typo"])
@pytest.mark.parametrize(
    "change", [{"date": "2026-01-01", "sha256": "0"}, {"tool": "hopflow"}, {"notes": ["made again"]}]
)
def test_another_date_tool_or_note_is_no_record_of_other_runs(
    repository: Path, commit: str, change: dict[str, Any]
) -> None:
    write(repository, {f"{PLACE}/provenance.json": record(**change)})
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit=commit)
    assert len(read_history().without_record) == 1


def test_runs_made_again_with_other_seeds_are_no_forgery(repository: Path) -> None:
    write(repository, {f"{PLACE}/provenance.json": record(seeds=[1, 2])})
    add_line(repository, "zheng2002/ecn has more seeds.")
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit="more seeds")
    assert read_history().is_clean
    assert read_history().named == 2


def test_own_packets_need_no_other_record_but_a_line(repository: Path) -> None:
    own = "validation/data/packets/seeds"
    add_line(repository, "packets/seeds is new.")
    write(repository, {f"{own}/provenance.json": record(tool="hopflow"), f"{own}/link.csv": "p\n0.5\n"}, commit="own")
    assert read_history().is_clean
    edit(repository, "data/packets/seeds/link.csv", "0.5", "0.6", commit="run again")
    assert not read_history().without_record
    assert unnamed() == [(f"{own}/link.csv", "", "added")]


@pytest.mark.parametrize("commit", ["", "wording"])
@pytest.mark.parametrize("change", [("none,holds,holds", "none,holds,contradicted"), ("above", "below")])
def test_an_expectation_that_changes_is_named_with_both_commits(repository, change, commit) -> None:
    edit(repository, "published/fabric_expectations.csv", *change, commit=commit)
    ((table, row, last, how, first, _),) = read_history().expectations
    assert (table, row, first.subject, last.subject, how) == (
        "fabric_expectations.csv",
        "A1 x",
        "first",
        commit,
        "changed",
    )
    assert not read_history().is_clean


def test_an_expectation_changed_to_and_fro_is_as_it_was(repository: Path) -> None:
    for old, new in (("above", "below"), ("below", "above")):
        edit(repository, "published/fabric_expectations.csv", old, new, commit=new)
    assert not read_history().expectations


def test_an_expectation_may_follow_what_was_undecidable_once(repository: Path) -> None:
    name = "published/fabric_expectations.csv"
    edit(
        repository,
        name,
        "y,undecidable,none,holds,undecidable",
        "y,t test,least 1,holds,holds",
        commit="now",
    )
    add_line(repository, "A1 is decided.", commit="changelog")
    assert read_history().is_clean
    assert read_history().first["A1 y"].subject == "now"
    edit(repository, name, "least 1", "least 2", commit="later")
    assert [change.row for change in read_history().expectations] == ["A1 y"]


@pytest.mark.parametrize("commit", ["", "wording"])
@pytest.mark.parametrize(
    ("name", "old", "new", "change", "words"),
    [
        ("published/paraphrases.csv", "smoother", "rougher", ("paraphrases.csv", "A1", "changed"), "A1"),
        ("published/minor_statements.csv", "c\n", "c\nA1,y,d\n", ("minor_statements.csv", "A1 y", "added"), "A1"),
        ("published/minor_statements.csv", "A1,x,c\n", "", ("minor_statements.csv", "A1 x", "removed"), "A1"),
        ("published/table4.csv", "DRR,4", "DRR,5", ("table4.csv", "1 DRR", "changed"), "table4"),
        ("published/table4.csv", "2,RED,5\n", "2,RED,5\n2,RED,6\n", ("table4.csv", "2 RED 6", "added"), "table4"),
        ("published/table4.csv", "2,RED,5\n", "2,RED,5\n2,RED,5\n", ("table4.csv", "2 RED 5 again", "added"), "table4"),
        (f"{CASE}/provenance.json", "loss", "gain", (f"{PLACE}/provenance.json", "", "changed"), "zheng2002/ecn"),
        ("generate/ns3/rules.h", "int", "long", ("validation/generate/ns3/rules.h", "", "changed"), "ns3/rules.h"),
        ("../docs/figures/tcp.svg", "svg", "g", ("docs/figures/tcp.svg", "", "changed"), "tcp"),
        ("../docs/gallery/markov/dam.py", "a", "b", ("docs/gallery/markov/dam.py", "", "changed"), "markov/dam"),
        ("history.py", "BASE", "HEAD", ("validation/history.py", "", "changed"), "validation/history.py"),
    ],
)  # fmt: skip
def test_a_change_needs_a_line_with_its_claim_case_or_file(repository, name, old, new, change, words, commit) -> None:
    """A row of any table, added and removed ones as well, a record, a driver, a figure, and the base itself."""
    add_line(repository, f"{words} has a line.", commit="before the change")
    edit(repository, name, old, new, commit=commit)
    assert unnamed()[-1] == change
    assert {change.commit.subject for change in read_history().unnamed} == {commit}
    assert {change.words for change in read_history().unnamed} == {(words,)}
    add_line(repository, f"{words}x, x-{words} and {words}-1 are others.", commit=commit)
    assert unnamed()
    add_line(repository, f"The change of {words}, why.", commit=commit)
    assert not unnamed()
    assert read_history().is_clean is bool(commit)


def test_a_line_that_is_moved_or_removed_is_none(repository: Path) -> None:
    add_line(repository, "A1 is first.", commit="old")
    edit(repository, "published/paraphrases.csv", "smoother", "rougher", commit="wording")
    write(repository, {"CHANGELOG.md": "- A1 is first.\n# Changelog\n"}, commit="moved")
    assert unnamed()
    add_line(repository, "A1 again.", commit="new")
    assert not unnamed()
    write(repository, {"CHANGELOG.md": "# Changelog\n"}, commit="removed")
    assert unnamed()


def test_a_row_that_is_changed_back_needs_its_line(repository: Path) -> None:
    """Otherwise an honest change since the base could be undone in silence."""
    edit(repository, "published/paraphrases.csv", "smoother", "rougher", commit="there")
    add_line(repository, "A1 is rougher.", commit="changelog")
    assert not unnamed()
    edit(repository, "published/paraphrases.csv", "rougher", "smoother", commit="back")
    assert unnamed() == [("paraphrases.csv", "A1", "changed")]


def test_a_range_names_the_claims_between(repository: Path) -> None:
    write(repository, {"validation/published/verdicts.csv": "id\nA01\nA07\nA16\nB01\n"}, commit="record")
    add_line(repository, "Claims A01 to A15 are judged again.", commit="changelog")
    assert [row for _, row, _ in unnamed()] == ["A16", "B01"]


def test_an_expectation_moved_to_another_statement_needs_a_line_as_well(repository: Path) -> None:
    edit(repository, "published/fabric_expectations.csv", "A1,x", "A1,z", commit="name")
    assert {row for _, row, _ in unnamed()} == {"A1 x", "A1 z"}


@pytest.mark.parametrize("commit", ["", "wording"])
def test_an_expectation_that_gets_another_name_is_removed(repository: Path, commit: str) -> None:
    edit(
        repository,
        "published/fabric_expectations.csv",
        "A1,x,above zero,none,holds",
        "A1,z,above zero,none,contradicted",
        commit=commit,
    )
    about = read_history()
    assert [(change.row, change.how) for change in about.expectations] == [("A1 x", "removed")]
    assert {name: each.subject for name, each in about.first.items()} == {"A1 y": "first", "A1 z": commit}


def two_branches(repository: Path) -> None:
    """Change A1 on a branch and A2 on main, and begin to merge them."""
    git(repository, "checkout", "-q", "-b", "other")
    edit(repository, "published/paraphrases.csv", "smoother", "rougher", commit="one side")
    git(repository, "checkout", "-q", "main")
    edit(repository, "published/paraphrases.csv", "A2,b", "A2,c", commit="other side")
    git(repository, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "other")


def test_rows_of_both_sides_of_a_merge_are_as_their_commits_left_them(repository: Path) -> None:
    two_branches(repository)
    write(repository, {"validation/published/paraphrases.csv": "id,paraphrase\nA1,rougher\nA2,c\n"}, commit="merge")
    assert {(each.row, each.commit.subject) for each in read_history().unnamed} == {
        ("A1", "one side"),
        ("A2", "other side"),
    }
    add_line(repository, "A1 and A2 are reworded.", commit="changelog")
    assert read_history().is_clean
    assert read_history().named == 2


def test_a_line_of_one_branch_is_none_for_the_same_row_on_another(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "other")
    edit(repository, "published/paraphrases.csv", "smoother", "rougher")
    add_line(repository, "A1 is rougher.", commit="with its line")
    git(repository, "checkout", "-q", "main")
    edit(repository, "published/paraphrases.csv", "smoother", "roughest", commit="without")
    git(repository, "merge", "-q", "--no-ff", "-X", "ours", "other", "-m", "merge")
    assert [(change.row, change.commit.subject) for change in read_history().unnamed] == [("A1", "without")]


def test_a_merge_that_takes_back_what_a_branch_changed_is_named(repository: Path) -> None:
    """The row is then as in the base, and as in a parent of the merge."""
    two_branches(repository)
    write(repository, {"validation/published/paraphrases.csv": "id,paraphrase\nA1,smoother\nA2,b\n"}, commit="merge")
    add_line(repository, "A1 is another claim here.", commit="changelog")
    assert unnamed() == [("paraphrases.csv", "A2", "changed back by a merge")]
    # A merge whose file is as in a parent leaves no difference.
    git(repository, "checkout", "-q", "-b", "third", module.BASE)
    write(repository, {"b.txt": "b"}, commit="b")
    git(repository, "checkout", "-q", "main")
    edit(repository, "published/table4.csv", "DRR,4", "DRR,5")
    add_line(repository, "table4 and A2 are read again.", commit="honest")
    assert not unnamed()
    git(repository, "merge", "-q", "--no-commit", "--no-ff", "third")
    edit(repository, "published/table4.csv", "DRR,5", "DRR,4", commit="merge")
    assert unnamed() == [("table4.csv", "1 DRR", "changed back by a merge")]
    add_line(repository, "table4 is as it was.", commit="changelog of the merge")
    git(repository, "checkout", "-q", "-b", "fourth", module.BASE)
    edit(repository, "published/table4.csv", "2,RED,5", "2,RED,6", commit="another row")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "fourth", "-m", "a later merge")
    assert unnamed() == [("table4.csv", "2 RED", "changed")]


def test_a_row_that_is_deleted_with_its_count_is_named(repository: Path) -> None:
    """The number of rows in the record is renewed, as a checksum is."""
    rows = {"link.csv": {"rows": 0, "columns": {"p": {"unit": "1", "meaning": "loss"}}}}
    write(repository, {f"{PLACE}/provenance.json": record(files=rows)})
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5\n", "", commit="tidy")
    assert len(read_history().without_record) == 1


def test_a_case_that_is_made_again_and_one_that_is_deleted_need_a_line(repository: Path) -> None:
    write(repository, {f"{PLACE}/provenance.json": record(version="2")})
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit="again")
    assert not read_history().without_record
    assert {table for table, *_ in unnamed()} == {f"{PLACE}/provenance.json", f"{PLACE}/link.csv"}
    add_line(repository, "zheng2002/ecn is made again.", commit="changelog")
    assert read_history().is_clean
    shutil.rmtree(repository / PLACE)
    write(repository, {}, commit="deleted")
    assert {how for *_, how in unnamed()} == {"removed"}


def test_a_merge_that_changes_a_cell_is_named(repository: Path) -> None:
    """Neither parent has the number."""
    git(repository, "checkout", "-q", "-b", "other")
    write(repository, {"a.txt": "a"}, commit="a")
    git(repository, "checkout", "-q", "main")
    write(repository, {"b.txt": "b"}, commit="b")
    git(repository, "merge", "-q", "--no-commit", "--no-ff", "other")
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit="merge")
    assert len(read_history().without_record) == 1


def test_code_that_judges_is_not_protected(repository: Path) -> None:
    names = ("published/verdicts.csv", "claims/a.py", "published/SOURCES.md", "claims/a.md", "generate/ns2/loss.tcl")
    write(repository, {f"validation/{name}": "x" for name in names} | {"CHANGELOG.md": "other"})
    assert read_history().uncommitted == (
        "validation/claims/a.md",
        "validation/generate/ns2/loss.tcl",
        "validation/published/SOURCES.md",
        "validation/published/verdicts.csv",
    )


def test_a_history_without_the_base_is_not_clean(repository: Path, monkeypatch) -> None:
    """It was rewritten, or is another one."""
    monkeypatch.setattr(module, "BASE", "0" * 40)
    about = read_history()
    assert "lacks commit 00000000" in about.missing
    assert not about.is_clean


def test_without_git_or_a_repository_it_says_so(tmp_path, repository, monkeypatch) -> None:
    write(repository, {"validation/a.txt": "a"}, commit="second")
    git(repository, "clone", "-q", "--depth", "1", f"file://{repository}", str(tmp_path / "shallow"))
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "shallow" / "validation")
    assert "shallow" in read_history().missing
    (repository / "copy" / "validation").mkdir(parents=True)
    monkeypatch.setattr(module, "PACKAGE", repository / "copy" / "validation")
    assert read_history().missing == "this copy is not of a git checkout"
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    shutil.rmtree(repository / ".git")
    assert "not a git repository" in read_history().missing
    monkeypatch.setenv("PATH", "")
    assert read_history() == History("there is no git")


# What the command prints.


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs the command on what it gets for the history, without the rows."""
    monkeypatch.setattr(bundled_data.row_checks, "verify", lambda: 3)

    def run(about: History, *words: str) -> Any:
        monkeypatch.setattr(bundled_data, "read_history", lambda: about)
        return invoke(["data", "verify", *words], env={"COLUMNS": "200"})

    return run


def test_the_command_prints_the_commit_of_each_expectation(repository: Path, verify) -> None:
    done = verify(read_history())
    assert done.exit_code == 0, done.output
    assert "first held 2 expectations, of A1." in done.output
    about = json.loads(verify(read_history(), "--json").stdout)
    assert set(about["history"]["first"]) == {"A1 x", "A1 y"}


def test_the_command_ends_with_1_and_names_what_is_not_as_committed(repository, verify) -> None:
    edit(repository, "published/fabric_expectations.csv", "above", "below")
    edit(repository, "data/zheng2002/ecn/link.csv", "0.5", "0.6", commit="both")
    edit(repository, "published/paraphrases.csv", "smoother", "rougher")
    done = verify(read_history())
    assert done.exit_code == 1
    assert "NO LINE in CHANGELOG.md with 'A1', added with or after: " in done.output
    assert "paraphrases.csv, A1, changed (none, the working tree)" in done.output
    assert "Not compared: whether a line of the changelog is true; " in done.output
    assert "EXPECTATION CHANGED: A1 x in fabric_expectations.csv, by " in done.output
    assert f"CHANGED WITHOUT ITS RECORD: {PLACE}/link.csv in " in done.output
    assert "NOT AS COMMITTED: validation/published/paraphrases.csv." in done.output
    assert verify(read_history(), "--json").exit_code == 1


def test_the_command_says_that_there_is_no_history(verify) -> None:
    done = verify(History("there is no git"))
    assert done.exit_code == 0
    assert "History not compared: there is no git." in done.output


# Identities between columns.


@pytest.fixture
def one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Return a function that copies the table of a case, whose checksums are then those of the copy."""

    def copy(case: str, file: str) -> Path:
        (tmp_path / case).mkdir(parents=True)
        for name in (file, "provenance.json"):
            shutil.copy(manifest.DATA / case / name, tmp_path / case / name)
        about = json.loads((tmp_path / case / "provenance.json").read_text())
        about["files"] = {file: about["files"][file]}
        (tmp_path / case / "provenance.json").write_text(json.dumps(about))
        manifest.listed()  # kept, and read where it is
        monkeypatch.setattr(manifest, "DATA", tmp_path)
        monkeypatch.setattr(evidence, "cases", lambda: (case,))
        monkeypatch.setattr(manifest, "read", lambda name: (tmp_path / name).read_bytes())
        return tmp_path / case / file

    return copy


@pytest.mark.parametrize(
    ("case", "file", "column"),
    [
        ("zheng2002/ecn", "link.csv", "loss"),
        ("zheng2002/ecn", "link.csv", "mean_queue"),
        ("zheng2002/ecn", "link.csv", "queued_after"),
        ("zheng2002/window-sweep", "flows.csv", "rate"),
        ("zheng2002/window-sweep", "flows.csv", "rate_cov"),
        ("zheng2002/window-sweep", "flows.csv", "rate_variance"),
        ("zheng2002/periodic-loss", "rates.csv", "goodput"),
        ("kaneko2007/buffers-ns3", "flows.csv", "acked"),
        ("kaneko2007/buffers-ns3", "links.csv", "utilisation"),
        ("malhotra2005/fixed-levels", "measures.csv", "throughput"),
        ("malhotra2005/fixed-levels", "measures.csv", "loss_rate_2"),
        ("malhotra2005/tcp-clock", "measures.csv", "goodput"),
        ("takano2006/dfc-370-two-stacks", "flows.csv", "received"),
    ],
)
def test_a_cell_larger_by_two_per_cent_does_not_add_up(one_case, case, file, column) -> None:
    """With all checksums renewed."""
    path = one_case(case, file)
    assert row_checks.verify() == 1
    frame = evidence.table(case)
    row = np.nanargmax(frame[column].to_numpy(dtype=float))
    frame[column] = frame[column].astype(float)
    frame.loc[row, column] *= 1.02
    frame.to_csv(path, index=False)
    with pytest.raises(DamagedDataError, match=rf"{path.name}: 1 of {len(frame)} rows do not add up"):
        row_checks.verify()


@pytest.mark.slow
def test_all_rows_add_up() -> None:
    assert row_checks.verify() > 200


def test_every_identity_has_tables() -> None:
    tables = [
        set(about["columns"]) for case in evidence.cases() for about in evidence.provenance(case)["files"].values()
    ]
    unused = [each for each in row_checks.IDENTITIES if not any(each.columns() <= own for own in tables)]
    assert not unused
