"""Cycles of rules, their checks and the search for other rates, as recorded.

``python -m tests.responsefn.test_recorded_cycles``, part of ``make generated``, writes the record after a correction on
purpose. What the numbers should be is held against closed forms and simulations in `test_cycles` and `test_attractors`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from responsefn import AIMD, CUBIC, DCTCP, HSTCP, HTCP, Illinois, NewReno, Reno, Scalable, cycles
from responsefn.attractors import search_other_rates
from tests.records import read_record, write_record
from tests.responsefn.test_published_steps import WITH_FIELDS

LOSSES = (0.3, 0.021, 0.0013)
PATHS = {"without a capacity": (0.1, None), "with a capacity": (0.02, 2000.0)}
DRIFTING = ("ARENO", "Fusion", "Westwood", "WestwoodPlus", "LinuxLP")
"""Rules whose search for a rate without a capacity takes more than a second."""
WINDOW_RULES = {name: rule for name, rule in WITH_FIELDS.items() if not hasattr(rule, "on_delivery")}
QUESTIONS = {
    f"{name} {path}": (rule, *PATHS[path])
    for name, rule in WINDOW_RULES.items()
    for path in PATHS
    if path == "with a capacity" or not name.startswith(DRIFTING)
}
CHECKED = {
    f"checks of {type(rule).__name__}, {packets:g} packets": (rule, packets)
    for rule in (Reno(), NewReno(), AIMD(1.0, 0.5), CUBIC(), DCTCP(), HSTCP(), HTCP(), Illinois(), Scalable())
    for packets in (30.5, 700.0, 3e4, 2e6)
}
LIMITS = (
    cycles.Limits(cycles.CHECKED_ACKS_OF_CYCLES, cycles.CHECKED_ACKS),
    cycles.Limits(500, 4000),
    cycles.Limits(3000, 100_000),
)


def found_cycles(rule: Any, rtt: float, bandwidth: float | None) -> list[float]:
    """Return all numbers of a rule's cycles, and other rates, at `LOSSES`."""
    p, rtts = np.array(LOSSES), np.full(len(LOSSES), rtt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cycle = cycles.solve(rule, p, rtts, bandwidth)
        others, searched = search_other_rates(rule, p, rtts, bandwidth, cycle)
    columns = [np.asarray(column, dtype=float) for column in vars(cycle).values()]
    return [float(f"{value:.10g}") for value in np.concatenate([*columns, others.ravel(), searched])]


def checked_cycles(rule: Any, packets: float) -> list[float]:
    """Return what checks with several limits say of a cycle in blocks and of one ACK by ACK, and how it is approached."""
    p, rtt = np.array([1.0 / packets]), np.array([0.08])
    numbers: list[Any] = []
    for bandwidth in (None, 5000.0):
        cases = cycles.build_cases(rule, p, rtt, bandwidth)
        for acks in (False, True)[: 1 + (packets < 1e4)]:
            solution = cycles.find_cycles(cases, cycles.Limits(2e5, 64, acks))
            numbers += [solution.columns, solution.states]
            numbers += [cycles.check(cases, solution, limits._replace(acks=acks)) for limits in LIMITS]
            aims = solution.columns[:, 0] * 1.003, cycles.Limits(20_000, 200, acks, same=0.01), np.array([8])
            numbers.append(cycles.follow_approach(cases, *aims))
    return [float(f"{value:.10g}") for array in numbers for value in np.ravel(array)]


def answers() -> dict[str, Any]:
    """Return the function and the arguments of each question."""
    return {
        **{name: (found_cycles, question) for name, question in QUESTIONS.items()},
        **{name: (checked_cycles, question) for name, question in CHECKED.items()},
    }


@pytest.mark.parametrize("name", [*QUESTIONS, *CHECKED])
def test_a_cycle_is_as_recorded(name: str) -> None:
    function, question = answers()[name]
    assert function(*question) == pytest.approx(read_record(__file__)[name], rel=1e-6, abs=1e-9, nan_ok=True)


def test_every_cycle_is_recorded() -> None:
    assert read_record(__file__).keys() == {*QUESTIONS, *CHECKED}, "`make generated` records a new rule"


if __name__ == "__main__":
    found = {name: function(*question) for name, (function, question) in answers().items()}
    write_record(__file__, found)
