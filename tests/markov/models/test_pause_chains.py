"""Several hops of pause: the tandem is one of them, and what must hold for any number."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MarkovChain, PauseChain, PauseTandem, explore, generator, stationary

SMALL = {"buffers": (3, 4, 5), "high_threshold": 3, "arrival_rates": (25.0, 6.0, 1.0)}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"high_threshold": 20},
        {"low_threshold": 4, "rtt": 0.2},
        {"buffers": (5, 7), "high_threshold": 6, "paused_rate": 0.0},
        {"arrival_rates": (40.0, 20.0, 5.0), "bottleneck_rate": 8.0},
    ],
    ids=repr,
)
def test_one_hop_is_the_tandem(changes):
    chain, tandem = PauseChain(hops=1, **changes), PauseTandem(**changes)
    np.testing.assert_array_equal(generator(chain).toarray(), generator(tandem).toarray())
    one, other = stationary(chain), stationary(tandem)
    np.testing.assert_array_equal(one["mean_queue"], other["mean_queue"])
    np.testing.assert_allclose(one["loss_rate"], other["loss_rate"], rtol=1e-14)
    assert one.throughput == pytest.approx(other.throughput, rel=1e-14)
    assert one["pause_fraction"][0] == pytest.approx(other["pause_fraction"], rel=1e-14)


@pytest.mark.parametrize("low_threshold", [None, 1])
@pytest.mark.parametrize("buffers", [(3, 4, 5), (2, 3, 3, 4), (1, 2, 2, 2, 3)], ids=repr)
def test_packets_are_conserved(buffers, low_threshold):
    model = PauseChain(
        hops=len(buffers) - 1,
        buffers=buffers,
        high_threshold=2,
        low_threshold=low_threshold,
        arrival_rates=(20.0, 2.0),
        rtt=0.3,
    )
    answer = stationary(model)
    arrivals = answer.pi @ np.array([20.0, 2.0])[answer.states.a - 1]
    assert answer.throughput + answer["loss_rate"].sum() == pytest.approx(arrivals, rel=1e-12)
    assert answer.measures.queue.values.tolist() == list(range(1, len(buffers) + 1))
    assert (answer["pause_fraction"][:-1] > 0).all() or min(buffers[1:]) == 2
    assert explore(model).chain.size == len(answer.chain.recurrent_classes[0])


@pytest.mark.parametrize("compiled", [True, False])
def test_plain_python_is_the_same(compiled):
    Q = generator(PauseChain(**SMALL), reachable=False, compiled=compiled)
    assert Q.shape == (4 * 5 * 6 * 4 * 3,) * 2
    assert abs(Q - MarkovChain(PauseChain(**SMALL), reachable=False).Q).max() == 0.0


def test_a_fast_first_link_without_control_is_a_shorter_chain():
    """At 1e9 packets/s a queue that never pauses holds nothing."""
    long = stationary(PauseChain(hops=2, buffers=(8, 8, 8), high_threshold=8, link_rate=1e9, rtt=0.5))
    short = stationary(PauseChain(hops=1, buffers=(8, 8), high_threshold=8, link_rate=1e9, rtt=0.5))
    assert long.throughput == pytest.approx(short.throughput, rel=1e-6)
    np.testing.assert_allclose(long["mean_queue"][2], short["mean_queue"][1], rtol=1e-6)
