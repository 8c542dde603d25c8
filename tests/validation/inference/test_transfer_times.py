"""Statements on Table 4 as the claims judge them: on the bundled runs, and where they are broken."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.yang2001 import best_effort, priorities, queueing
from validation.claims.yang2001.tables import DISCIPLINES, seen
from validation.inference.transfer_times import STATEMENTS, Times

ENVIRONMENTS = ("be/be", "cc/be", "ts/be")
REGULATED = ("cc/cc", "ts/ts")
MEASURES = {
    "Y03": priorities.order_of_cc,
    "Y04": priorities.order_of_ts,
    "Y12": queueing.disciplines,
    "Y05": best_effort.best_effort_among_regulated,
    "Y06": best_effort.best_effort_alone,
    "Y11": best_effort.gain_over_best_effort,
}


def _bundled() -> Times:
    found = {}
    for environment in (*ENVIRONMENTS, *REGULATED):
        for discipline in DISCIPLINES:
            for (mechanism, kind), time in seen(environment, discipline).mean().items():
                found[environment, discipline, mechanism, kind] = np.array([time])
    return Times(found, DISCIPLINES)


@pytest.mark.parametrize("claim", MEASURES)
def test_statements_are_those_of_the_claim_on_the_bundled_runs(claim: str) -> None:
    """Signs of the claim's own estimates, those of equality within the margin; means of five seeds.

    A claim may have further statements, which the settings do not weigh.
    """
    times, effects = _bundled(), MEASURES[claim]()
    assert STATEMENTS[claim].keys() <= effects.statements.keys()
    for name, holds in STATEMENTS[claim].items():
        statement = effects.statements[name]
        values = np.array([estimate.value for estimate in statement.packets])
        kept = (abs(values) <= 0.1).all() if statement.equal else (values > 0.0).all()
        assert bool(holds(times)[0]) == kept, name


def test_a_broken_order_is_noticed() -> None:
    """Times that keep all of Y05, then one class exchanged with the next."""
    times = {}
    for environment in ENVIRONMENTS:
        first, second = environment.split("/")
        for discipline in DISCIPLINES:
            for mechanism in {first, second}:
                for kind in ("TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"):
                    slow = 100.0 if mechanism == "be" and kind[0] == "U" else 1000.0
                    times[environment, discipline, mechanism, kind] = np.array(
                        [slow * (1 if mechanism == "be" else int(kind[-1]))]
                    )
    good = Times(times, DISCIPLINES)
    assert all(holds(good)[0] for holds in STATEMENTS["Y05"].values())
    times["ts/be", "RED", "ts", "TCP3"] = np.array([1500.0])
    assert not STATEMENTS["Y05"]["ordered"](good)[0]
    times["cc/be", "SFQ", "be", "UDP4"] = np.array([600.0])
    assert not STATEMENTS["Y05"]["fastest"](good)[0]


def test_cc_outperforms_ts_in_the_mean_of_classes_and_disciplines() -> None:
    """Y07 on the bundled runs, whose times are all longer under ts, then with all of ts/ts shorter."""
    times = _bundled()
    assert all(holds(times)[0] for holds in STATEMENTS["Y07"].values())
    shorter = {key: 0.5 * time if key[0] == "ts/ts" else time for key, time in times.of.items()}
    swapped = Times(shorter, DISCIPLINES)
    assert not STATEMENTS["Y07"]["pure"](swapped)[0]
    assert STATEMENTS["Y07"]["mixed"](swapped)[0]
