"""Answers over devices: what is asked of them in one process."""

from __future__ import annotations

import pytest

from markov import PauseTandem, stationary, stationary_sharded


@pytest.mark.slow
def test_an_answer_is_proved_when_it_is_asked_for():
    """Throughput differs from that of `stationary` by no more than both bounds allow."""
    model = PauseTandem(buffers=(20, 30), high_threshold=20)
    answer, other = stationary_sharded(model), stationary(model)
    assert 0.0 < answer.error_bound < 1e-8
    most = 15.0 * 2.0 * (answer.error_bound + other.error_bound)
    assert answer.mean(lambda s: 15.0 * (s.j > 0)) == pytest.approx(other.throughput, abs=most)
