"""False alarms of watchdogs: a closed form, an event simulation, and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import Watchdog, recommend_watchdog, simulate_watchdog, watchdog_risk
from markov import PhaseType

GAPS = PhaseType.exponential(1.0)


def test_one_poll_of_whole_intervals_has_a_closed_form() -> None:
    """An alternating renewal process: P(paused throughout) = rho exp(-mu P); restored after one good poll.

    Where pauses hardly ever outlast an interval, dropping leaves nothing out: alarms per poll are that.
    """
    mu, period = 200.0, 0.1
    risk = watchdog_risk(Watchdog(period, period, period), PhaseType.exponential(mu), GAPS)
    rho = (1.0 / mu) / (1.0 / mu + 1.0)
    assert risk.alarms == pytest.approx(rho * np.exp(-mu * period) / period, rel=1e-6)
    assert risk.alarms <= risk.bound


@pytest.mark.parametrize("fraction", [1.0, 0.8])
@pytest.mark.parametrize(
    "pauses", [PhaseType.exponential(10.0), PhaseType.hyperexponential([0.9, 0.1], [50.0, 3.0])]
)
def test_false_alarms_agree_with_an_event_simulation(fraction, pauses) -> None:
    dog = Watchdog(0.1, 0.2, 0.4, fraction)
    risk = watchdog_risk(dog, pauses, GAPS)
    polls = 300_000
    alarms, dropping = simulate_watchdog(dog, pauses, GAPS, polls=polls, rng=4)
    expected = risk.alarms * polls * dog.period
    assert alarms > 500
    assert (
        abs(alarms - expected) < 4.5 * expected**0.5
    )  # alarms are rarer than in a Poisson process
    assert dropping == pytest.approx(risk.dropping, rel=0.1)
    assert risk.alarms <= risk.bound


def test_the_paused_time_of_an_interval_is_bounded_where_it_is_not_computed() -> None:
    pauses, gaps = PhaseType.exponential(5e4), PhaseType.exponential(1e4)
    risk = watchdog_risk(Watchdog("100 ms", "200 ms", "1 s", 0.8), pauses, gaps)
    assert risk.alarms is None
    assert risk.bound < 1e-100
    assert "not computed" in repr(risk)
    assert risk.plot().get_ylabel() == "P(not detected)"


def test_a_recommendation_keeps_what_it_promises() -> None:
    pauses = PhaseType.exponential(100.0)
    risk = recommend_watchdog(pauses, GAPS, within="1 s", alarms_per_year=0.01)
    assert risk.watchdog.delay[1] <= 1.0 + 1e-9
    assert risk.alarms * 365.25 * 86400.0 <= 0.01
    with pytest.raises(ValueError, match="no setting fulfils both"):
        recommend_watchdog(pauses, GAPS, within="50 ms", alarms_per_year=0.01)
