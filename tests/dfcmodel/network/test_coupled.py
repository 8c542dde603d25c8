"""PI2 and DualPI2 as data: ranges, and what a fluid refuses of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dfcmodel import PI2, DualPI2, Fair, Flow, Scenario, chain, simulate
from responsefn import DCTCP, NewReno

RATE = 1000.0


@pytest.mark.parametrize("kind", [PI2, DualPI2])
@pytest.mark.parametrize(
    ("name", "value"), [("target", 0.0), ("update", -1.0), ("coupling", 0.5), ("alpha", 0.0)]
)
def test_parameters_out_of_range_are_named(kind: Any, name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        kind(**{name: value})


def test_pi2_moves_p_by_both_errors_and_drops_its_square() -> None:
    """De Schepper et al. (2016), and RFC 9332, A.1: p' += alpha (delay - target) + beta (delay - the one before)."""
    law = PI2(target=0.02, update=0.03, alpha=0.4, beta=3.0)
    q = SimpleNamespace(**law.numbers(1500.0))
    seen = SimpleNamespace(time=1.0, backlog=50.0, capacity=1000.0, arrivals=8.0)
    after = PI2.on_step(PI2.State(p=0.1, delay=0.04), q, seen)
    p = 0.1 + 0.4 * (0.05 - 0.02) + 3.0 * (0.05 - 0.04)
    assert after.p == pytest.approx(p)
    assert after.drop == pytest.approx(8.0 * p * p)
    assert (after.mark, after.next, after.delay) == (0.0, 1.03, 0.05)


def test_dualpi2_is_no_manager_of_another_discipline() -> None:
    with pytest.raises(ValueError, match="manager"):
        Fair(DualPI2())  # type: ignore[arg-type]


def test_pi2_is_refused_in_a_fluid_with_a_sender_that_answers_each_mark() -> None:
    links = chain(2, rate=RATE, delay=1e-3, buffer=500.0, discipline=PI2())
    for rule, error in ((DCTCP(), "answers each mark"), (NewReno(), None)):
        scenario = Scenario("fluid", links, (Flow("f", (1, 2), rule),), duration=0.1)
        if error is None:
            assert simulate(scenario).delivered[0, -1] > 0.0
        else:
            with pytest.raises(ValueError, match=error):
                simulate(scenario)


def test_dualpi2_is_refused_in_a_fluid() -> None:
    links = chain(2, rate=RATE, delay=1e-3, buffer=500.0, discipline=DualPI2())
    with pytest.raises(ValueError, match="DualPI2"):
        simulate(Scenario("fluid", links, (Flow("f", (1, 2), NewReno()),), duration=0.1))
