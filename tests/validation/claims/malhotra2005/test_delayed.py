"""The pause tandem with messages that take time."""

from __future__ import annotations

import pytest

from markov import PauseTandem, stationary
from validation import evidence
from validation.claims.malhotra2005.delayed import DelayedPause, throughput


def test_without_a_delay_it_is_the_tandem_that_ends_its_packet() -> None:
    """mu2 = 0 stops at once, ending a packet needs less: between the tandem with mu2 = 0 and 100."""
    stops = stationary(PauseTandem(paused_rate=0.0)).throughput
    assert throughput(1e-6, 15, 1) == pytest.approx(stops, rel=0.01)


@pytest.mark.parametrize("delay", [0.05, 0.2])
def test_throughputs_are_those_of_the_bundled_runs(delay: float) -> None:
    """ns-3 has a constant delay; eight phases are within 0.5 % of it."""
    frame = evidence.table("malhotra2005/pause-signalling")
    runs = frame[(frame["paused_rate"] == 0) & (frame["signal_delay"] == delay)]
    for high, rate in runs.groupby("high_threshold")["throughput"].mean().items():
        assert throughput(delay, int(str(high))) == pytest.approx(rate, rel=5e-3)


@pytest.mark.parametrize(("name", "value"), [("delay", 0.0), ("phases", 0), ("threshold", 20)])
def test_bad_parameters_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        DelayedPause(**{name: value})
