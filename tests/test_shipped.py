"""The table of shipped congestion control names known releases, and releases are red or green where a source says so."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.shipped import RESULTS, read_rows
from benchmarks.shipped.builds import BUILDS, HERE, STACKS, NotRunError, put_line, units_of, unpack
from dfcmodel import NativeRule
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import judge_case
from responsefn import CUBIC

ROWS = read_rows()


def test_rows_are_of_known_releases_with_their_hash_and_of_the_present_suites() -> None:
    assert ROWS
    versions = {name: SUITES[name](CUBIC()).label for name in SUITES}
    for row in ROWS.values():
        units = {unit.algorithm: unit for unit in units_of(row.stack, row.release)}
        assert units[row.algorithm].sha256.startswith(row.sha256)
        assert row.suite == versions[row.suite.partition("@")[0]], "a suite has changed: make its rows again"


def test_each_release_of_a_crate_has_its_dependencies() -> None:
    with (HERE / "crates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for release, source in STACKS["quinn-proto"]["releases"].items():
        assert [row["sha256"] for row in rows if row["release"] == row["version"] == release] == [source["sha256"]]


@pytest.mark.parametrize(
    ("row", "case", "is_red"),
    [
        (("quinn-proto", "0.11.14", "cubic", "incidents"), "consecutive-losses", True),
        (("quinn-proto", "0.11.15", "cubic", "incidents"), "consecutive-losses", False),
        (("quinn-proto", "0.11.19", "cubic", "incidents"), "consecutive-losses", False),
        (("ngtcp2", "1.11.0", "cubic", "rfc9438"), "concave", True),
        (("ngtcp2", "1.24.0", "cubic", "rfc9438"), "concave", False),
        (("ngtcp2", "1.24.0", "bbr", "incidents"), "empty-path", True),
        (("ngtcp2", "1.24.0", "bbr, with ack_phase reset", "incidents"), "empty-path", False),
    ],
)
def test_known_faults_and_their_repairs_are_in_the_table(row: tuple[str, ...], case: str, is_red: bool) -> None:
    """quinn-rs/quinn#2640; K of ngtcp2's CUBIC; the draft's line on ack_phase of 6 July 2026."""
    assert (case in ROWS[row].failed.split()) == is_red


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[1] / "docs" / "shipped.md").read_text(encoding="utf-8")
    assert f":file: ../{RESULTS.relative_to(RESULTS.parents[2]).as_posix()}" in page


def test_an_unknown_archive_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "ngtcp2_9.9.9.orig.tar.xz").write_bytes(b"something else")
    with pytest.raises(NotRunError, match=r"ngtcp2_9\.9\.9\.orig\.tar\.xz has the SHA-256 f41f3fa.*not known"):
        unpack(tmp_path / "ngtcp2_9.9.9.orig.tar.xz", "0" * 64)


def test_a_line_has_one_place(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_text("if (x) {\n}\n", encoding="utf-8")
    put_line(file, "if (x) {\n", "  y();\n")
    assert file.read_text(encoding="utf-8") == "if (x) {\n  y();\n}\n"
    with pytest.raises(NotRunError, match="has 0 places"):
        put_line(file, "if (z) {\n", "")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], NativeRule]:
    """Return a function that builds an algorithm of a release."""
    toolchains = os.environ["HOPFLOW_RUSTUP_HOME"]  # of the user: cargo has no other
    if Path(toolchains).exists():
        monkeypatch.setenv("RUSTUP_HOME", toolchains)

    def build(stack: str, release: str, algorithm: str) -> NativeRule:
        (unit,) = [unit for unit in units_of(stack, release) if unit.algorithm == algorithm]
        compiler = {"debian": "cc", "crate": "cargo"}[STACKS[stack]["kind"]]
        if shutil.which(compiler) is None:
            pytest.skip(f"needs {compiler}")
        (folder := tmp_path / algorithm).mkdir()
        return NativeRule(BUILDS[STACKS[stack]["kind"]](stack, release, folder)(unit))

    return build


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(
    ("stack", "release", "algorithm", "case", "verdict"),
    [
        ("ngtcp2", "1.24.0", "bbr", "empty-path", "failed"),
        ("ngtcp2", "1.24.0", "bbr, with ack_phase reset", "empty-path", "passed"),
        ("quinn-proto", "0.11.14", "cubic", "consecutive-losses", "failed"),
        ("quinn-proto", "0.11.19", "cubic", "consecutive-losses", "passed"),
    ],
)
def test_releases_are_red_and_green(
    library: Callable[..., NativeRule], stack: str, release: str, algorithm: str, case: str, verdict: str
) -> None:
    rule = library(stack, release, algorithm)
    (chosen,) = [each for each in SUITES["incidents"](CUBIC()).cases if each.id == case]
    assert judge_case("incidents", chosen, rule, {}).verdict == verdict
