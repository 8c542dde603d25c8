"""The view of pause thresholds against the chain itself."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PauseTandem, stationary
from tests.validation.explore.test_views import drawn
from validation.explore.pause_threshold import VIEW
from validation.explore.views import Drawing


def curve(found: Drawing) -> dict[float, float]:
    """Return the gain by threshold."""
    (line,) = found.charts[0].lines
    return dict(zip(line.x.tolist(), line.y.tolist(), strict=True))


def test_the_gain_is_that_of_two_chains() -> None:
    found = curve(VIEW.draw(**VIEW.values(buffer="8 packets")))
    port = PauseTandem(
        buffers=(10, 8), high_threshold=8, link_rate="10Gbps", paused_rate=0.0, rtt="200us",
        bottleneck_rate="5Gbps", arrival_rates=("7Gbps", "3.5Gbps", "2.33333Gbps"),
    )  # fmt: skip
    with_pause, without = (
        stationary(port.replace(high_threshold=high)).throughput for high in (6, 8)
    )
    assert found[8.0] == 0.0
    assert found[6.0] == pytest.approx(100.0 * (with_pause / without - 1.0), rel=1e-9)


@pytest.mark.parametrize(("rtt", "buffer"), [("200us", 20), ("1ms", 30)])
def test_the_finding_is_the_best_of_all_thresholds(rtt: str, buffer: int) -> None:
    found = VIEW.draw(**VIEW.values(rtt=rtt, buffer=f"{buffer} packets"))
    port = PauseTandem(
        buffers=(10, buffer), high_threshold=buffer, link_rate="10Gbps", paused_rate=0.0, rtt=rtt,
        bottleneck_rate="5Gbps", arrival_rates=("7Gbps", "3.5Gbps", "2.33333Gbps"),
    )  # fmt: skip
    throughput = [
        stationary(port.replace(high_threshold=high)).throughput for high in range(1, buffer + 1)
    ]
    best = int(np.argmax(throughput))
    gain = 100.0 * (throughput[best] / throughput[-1] - 1.0)
    assert f"at a threshold of {best + 1} of {buffer} packets: {gain:+.2f} %" in found.finding
    assert max(curve(found).values()) == pytest.approx(gain, rel=1e-9)


@pytest.mark.slow
def test_the_code_gives_the_curve() -> None:
    found, names = drawn(VIEW, rtt="1ms", buffer="12 packets", load="120%")
    np.testing.assert_allclose(list(curve(found).values()), names["gain"].to_numpy(), rtol=1e-9)
