"""Watchdogs: settings, and false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import Watchdog, recommend_watchdog, simulate_watchdog, watchdog_risk
from markov import PhaseType

# Watchdogs: which storms they detect, and what they refuse.


@pytest.mark.parametrize("fraction", [1.0, 0.8])
@pytest.mark.parametrize("polls", [1, 2, 3])
@pytest.mark.parametrize("length", [0.05, 0.15, 0.25, 0.31])
def test_a_single_storm_is_missed_as_often_as_at_random_phases(fraction, polls, length) -> None:
    dog = Watchdog(0.1, 0.1 * polls, 1.0, fraction)
    begin = (np.arange(20_000) + 0.5) / 20_000 * 0.1
    edges = 0.1 * np.arange(7)
    paused = np.clip(edges[:, None], begin, begin + length)
    bad = np.diff(paused, axis=0) >= 0.1 * fraction - 1e-12
    runs = np.lib.stride_tricks.sliding_window_view(bad, polls, axis=0).all(axis=2).any(axis=0)
    assert dog.miss(length) == pytest.approx(1.0 - runs.mean(), abs=2e-4)  # steps of the phase


def test_a_lasting_storm_is_detected_within_the_delay() -> None:
    dog = Watchdog(0.1, 0.3, 1.0, 0.8)
    low, high = dog.delay
    assert dog.miss(high) == pytest.approx(0.0)
    assert 0.0 < dog.miss(low) < 1.0  # ends before the poll that declares it
    shortest = (dog.polls - 2 + 2 * dog.fraction) * dog.period
    assert dog.miss(shortest) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"polling": "400 ms"}, "polling = 0.4 s: must be at most detection, 0.2 s"),
        ({"detection": -1.0}, "detection = -1"),
        ({"restoration": "1 m"}, "restoration = '1 m'"),
        ({"fraction": 0.0}, "fraction = 0"),
        ({"fraction": 1.1}, "fraction = 1.1"),
    ],
)
def test_bad_settings_are_named(changed, message) -> None:
    given = {"polling": "100 ms", "detection": "200 ms", "restoration": "1 s", **changed}
    with pytest.raises(ValueError, match=message):
        Watchdog(**given)


# False alarms of watchdogs: a closed form, an event simulation, and bounds.

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
    alarms, dropping = simulate_watchdog(dog, pauses, GAPS, polls=polls, seed=4)
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


@pytest.mark.slow
def test_a_recommendation_keeps_what_it_promises() -> None:
    pauses = PhaseType.exponential(100.0)
    risk = recommend_watchdog(pauses, GAPS, within="1 s", alarms_per_year=0.01)
    assert risk.watchdog.delay[1] <= 1.0 + 1e-9
    assert risk.alarms * 365.25 * 86400.0 <= 0.01
    with pytest.raises(ValueError, match="no setting fulfils both"):
        recommend_watchdog(pauses, GAPS, within="50 ms", alarms_per_year=0.01)
