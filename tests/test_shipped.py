"""The table of shipped congestion control names known releases, and releases are red or green where a source says so."""

from __future__ import annotations

import csv
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.shipped import RESULTS, WITNESS, read_rows, read_table
from benchmarks.shipped.builds import BUILDS, HERE, STACKS, NotRunError, build_connection, put_line, units_of, unpack
from benchmarks.shipped.connections import SUITES as WITNESSED
from benchmarks.shipped.connections import Comparison, ConnectionPath, Program, Row, WholeConnection
from dfcmodel import NativeRule
from dfcmodel.sharing.suites.connections import lose_at, slow_start_to
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import judge_case
from responsefn import CUBIC

ROWS = read_rows()
PAGE = Path(__file__).parents[1] / "docs" / "shipped.md"
COMPARISONS = [Comparison(*row) for row in read_table(WITNESS)]


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
    page = PAGE.read_text(encoding="utf-8")
    for table in (RESULTS, WITNESS):
        assert f":file: ../{table.relative_to(table.parents[2]).as_posix()}" in page


def test_each_failed_case_of_quinn_has_a_second_witness() -> None:
    """Of the suites that a connection can be put through."""
    failed = {
        (row.release, row.sha256, row.algorithm, f"{suite}/{case}")
        for row in ROWS.values()
        if row.stack == "quinn-proto" and (suite := row.suite.partition("@")[0]) in WITNESSED
        for case in row.failed.split()
    }
    witnessed = {row[1:5] for row in COMPARISONS if row.adapter.startswith("failed")}
    assert failed == witnessed
    assert {row.witness for row in COMPARISONS} <= {"agrees", "disagrees", "cannot show it"}


@pytest.mark.parametrize(
    ("release", "case", "figure", "text"),
    [
        ("0.11.14", "rfc9438/consecutive-losses", "failed: 0.595,", "0.595 of the window, for 0.7"),
        ("0.11.19", "rfc9438/timeout-threshold", "failed: 0.49198,", "ends at 0.492 of the window, for 0.7"),
        ("0.11.19", "incidents/idle", "failed: 1.6752, expected at most 1.5, 120 ms", "1.68 windows in the third"),
        ("0.11.14", "incidents/idle", "failed: 1.6806, expected at most 1.5, 120 ms", "1.68 windows in the third"),
        ("0.11.19", "rfc9438/fast-convergence", "failed: 196.02 packets, expected 203", "196 packets for 203"),
        (
            "0.11.19",
            "rfc9438/alpha-one",
            "failed: 0.6 packets, expected 1 ",
            "0.6 packets per round trip over ten of them, for 1",
        ),
        (
            "0.11.19",
            "rfc9438/reno-friendly-below-peak",
            "failed: 20.322 packets, expected 22.048",
            "20.3 packets for 22.0",
        ),
        (
            "0.11.19",
            "rfc9438/alpha-one-after-timeout",
            "failed: 0.5 packets, expected 1",
            "0.5 packets per round trip over",
        ),
        ("0.11.19", "rfc9438/timeout-in-recovery", "failed: 1.8111 packets, expected 1", "adds 1.81 packets for 1"),
        ("0.11.19", "rfc9438/after-timeout", "failed: 196.82 packets, expected 201.99", "197 packets for 202"),
        (
            "0.11.19",
            "rfc9438/largest-growth",
            "failed: 0.55 packets, expected at most 0.5 +- 0.01 packets, 20 ACKs until 50.26 s, 5000 ms",
            "0.55 packets per ACK over 20 ACKs, for 0.5, at round trips of 5 s",
        ),
        (
            "0.11.15",
            "incidents/pacing",
            "failed: 23 packets, expected at most 22 packets, 1 tenths",
            "23 packets for 22",
        ),
    ],
)
def test_the_page_has_the_figures_of_connections(release: str, case: str, figure: str, text: str) -> None:
    (row,) = [row for row in COMPARISONS if (row.release, row.case) == (release, case)]
    assert figure in row.connection
    assert text in PAGE.read_text(encoding="utf-8")


class Sender(Program):
    """A sender whose losses leave ``factor`` of the window, or ``again`` if the last peak was not reached."""

    factor, again = 0.7, 0.7

    def run(
        self, path: ConnectionPath, duration: float, data: str = "-", drops: Iterable[tuple[int, int]] = ()
    ) -> Iterator[Row]:
        """Yield the rows of a sender with a probe timeout of 1.25 round trips."""
        ranges = list(drops)
        now, window, peak, threshold, number, first_after, backoff = 0.0, 10.0, 0.0, math.inf, 0, 0, 1.0
        flight: dict[int, float] = {}

        def row(event: str, packet: int) -> Row:
            return Row(now, event, packet, window, threshold, float(len(flight)), path.rtt, 0)

        while now < duration:
            arriving = [n for n in flight if not any(first <= n <= last for first, last in ranges)]
            if not arriving and flight:
                now, backoff = now + 1.25 * backoff * path.rtt, 2.0 * backoff
            while len(flight) < window or not arriving:
                now += 1e-6
                flight[number] = now
                yield row("sent", number)
                arriving, number = [*arriving, number], number + 1
            if not (arriving := [n for n in flight if not any(first <= n <= last for first, last in ranges)]):
                continue
            acked, backoff = arriving[0], 1.0
            now = max(now, flight.pop(acked) + path.rtt)
            if acked >= first_after:
                window += 1.0 if window < threshold else 1.0 / window
            yield row("ack", acked)
            if lost := [n for n in flight if n <= acked - 3]:
                times = [flight.pop(n) for n in lost]
                is_persistent = times[-1] - times[0] > 3.0 * path.rtt
                if lost[-1] >= first_after:
                    threshold = max(2.0, window * (self.again if window < peak else self.factor))
                    window, peak, first_after = (2.0 if is_persistent else threshold), window, number
                yield row("persistent" if is_persistent else "loss", lost[-1])


def test_a_case_steps_through_a_connection_by_dropped_datagrams() -> None:
    connection = WholeConnection(Sender(Path(), "model", "cubic-rfc9438"), 0.1)
    before, after = lose_at(connection, 100.0)
    assert [before, after] == pytest.approx([100.0, 70.0])  # as large at the loss as before the datagram was dropped
    time = connection.now
    connection.ack()
    assert connection.window == pytest.approx(70.0 + 1.0 / 70.0)
    assert connection.now >= time + 0.1  # ACKs in recovery are passed over
    connection.report_loss()
    assert connection.window == pytest.approx(0.7 * (70.0 + 1.0 / 70.0), rel=1e-3)
    slow_start_to(connection, 60.0)
    before = connection.window
    connection.time_out()
    assert [connection.window, connection.ssthresh] == pytest.approx([2.0, 0.7 * before], rel=1e-3)


@pytest.mark.parametrize(("again", "verdict"), [(0.7, "passed"), (0.595, "failed")])
def test_cases_judge_a_connection(again: float, verdict: str) -> None:
    sender = type("Variant", (Sender,), {"again": again})(Path(), "model", "cubic-rfc9438")
    (case,) = [case for case in SUITES["rfc9438"](CUBIC()).cases if case.id == "consecutive-losses"]
    result = judge_case("rfc9438", case, sender, {})
    assert result.verdict == verdict
    assert [observation.found for observation in result.observations] == pytest.approx([again] * 2, abs=1e-3)


def test_rows_of_the_program_are_read_in_packets_and_seconds() -> None:
    row = Row.read("2500000000,loss,17,147200,18446744073709551615,14720,40000000,3\n")
    assert row._replace(threshold=0.0) == (2.5, "loss", 17, 100.0, 0.0, 10.0, 0.04, 3)
    assert row.threshold > 1e15


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
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))

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


@pytest.mark.network
@pytest.mark.slow
def test_a_whole_connection_shows_the_fault_of_its_congestion_control(
    library: Callable[..., NativeRule], tmp_path: Path
) -> None:
    """It is deterministic, and its second loss in a row leaves 0.595 of the window in 0.11.14."""
    rule = library("quinn-proto", "0.11.14", "cubic")
    program = Program(build_connection(tmp_path / "cubic"), "cubic", rule.claims)
    path = ConnectionPath(0.04, 2000.0, 80)
    first, second = (list(program.run(path, 5.0)) for _ in range(2))
    assert first == second
    assert sum(row.event == "ack" for row in first) > 0.95 * 5.0 * path.rate
    (case,) = [case for case in SUITES["incidents"](CUBIC()).cases if case.id == "consecutive-losses"]
    stand_in: Any = program
    assert judge_case("incidents", case, stand_in, {}).found == "0.595"
