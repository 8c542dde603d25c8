"""Watchdogs: which storms they detect, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import Watchdog


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
