"""Claims on Linux 6.12: their measures, their expectations, and planted faults."""

from __future__ import annotations

import numpy as np
import pytest

from validation import Verdict, ledger
from validation.checks import subjects
from validation.claims.simulators import linux_kernel
from validation.claims.simulators.linux_kernel import (
    Cycle,
    cycles_of,
    highspeed_cut,
    highspeed_growth,
    htcp_growth,
    within,
)
from validation.records import entries, recorded_verdicts, rows
from validation.statistics import Estimate

ledger()
LINUX = [f"S{n:02d}" for n in range(9, 17)]


def test_the_formulas_are_those_of_rfc_3649() -> None:
    """Its table of appendix B rounds b(w) to hundredths, and has the least w of each whole a(w)."""
    for row in rows("rfc3649_appendixB.csv")[:20]:
        window = float(row["w"])
        assert highspeed_cut(window) == pytest.approx(float(row["b_w"]), abs=0.006)
        assert highspeed_growth(window) == pytest.approx(float(row["a_w"]), rel=0.03)


def test_htcp_grows_by_a_packet_up_to_a_second_and_faster_later() -> None:
    assert htcp_growth(0.5, 0.5) == htcp_growth(1.0, 0.5) == 1.0
    assert htcp_growth(3.0, 0.5) == 1.0 + 20.0 + 1.0
    assert htcp_growth(1.0, 0.8) == pytest.approx(0.4)


def test_a_cycle_is_from_one_recovery_to_the_next() -> None:
    found = cycles_of("reno-67", "linux/alone")
    assert len(found) >= 5
    for cycle in found:
        assert abs(cycle.threshold - cycle.before / 2) <= 0.5
        assert cycle.time[0] > cycle.lost_at > 5.0
        assert np.diff(cycle.window).min() >= 0.0


def test_deviations_are_within_their_margin() -> None:
    near, far = Estimate(0.04, 0.0), Estimate(-0.06, 0.0)
    assert all(each.value > 0.0 for each in within([near], 0.05))
    assert min(each.value for each in within([near, far], 0.05)) == pytest.approx(-0.01)


def test_every_statement_has_an_expectation_and_the_misses_are_known() -> None:
    said = {(row["claim"], row["statement"]): row for row in rows("linux_expectations.csv")}
    found = {
        (id, key): str(verdicts.packets)
        for id in LINUX
        for key, verdicts in subjects()[id].check.judged(subjects()[id].measured()).items()
    }
    assert set(said) == set(found)
    assert all(all(row.values()) for row in said.values())
    missed = {key for key, row in said.items() if row["Linux"] != found[key]}
    assert missed == {("S11", "cut"), ("S14", "backlog"), ("S15", "pipe"), ("S16", "growth")}
    assert {entries()[id].paper for id in LINUX} == {"hopflow"}
    for id in LINUX:
        of_claim = {found[key] for key in found if key[0] == id}
        holds = of_claim == {"holds"}
        assert recorded_verdicts()[id].packets is (Verdict.HOLDS if holds else Verdict.CONTRADICTED)


@pytest.mark.parametrize(
    ("id", "name", "value"),
    [
        ("S10", "CUBIC_BETA", 0.8),
        ("S13", "PROBE_INTERVAL", 5.0),
        ("S13", "PROBE_WINDOW", 5.0),
    ],
)
def test_another_constant_contradicts(
    monkeypatch: pytest.MonkeyPatch, id: str, name: str, value: float
) -> None:
    monkeypatch.setattr(linux_kernel, name, value)
    check = subjects()[id].check
    measured = check.measure()
    assert Verdict.CONTRADICTED in {each.packets for each in check.judged(measured).values()}


def test_another_curve_is_farther_from_the_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    near = np.mean(linux_kernel.cubic_deviation("cubic-133"))
    monkeypatch.setattr(linux_kernel, "CUBIC_C", 4.0)
    assert np.mean(linux_kernel.cubic_deviation("cubic-133")) > 2.0 * near


def test_a_cycle_knows_what_it_kept_and_grew() -> None:
    window, rtt = np.array([50.0, 51.0, 53.0]), np.full(3, 0.05)
    cycle = Cycle(100.0, 70.0, 70.0, 6.0, np.array([6.2, 6.21, 6.22]), window, rtt)
    assert (cycle.kept, cycle.growth) == (0.7, 3.0)
    assert cycle.trips.sum() == pytest.approx(0.6)
