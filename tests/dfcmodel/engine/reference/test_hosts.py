"""Random waits of senders in the reference, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.engine.reference.hosts import RandomWaits, WholeWaits


def test_whole_packets_go_together_when_a_wait_ends() -> None:
    one = WholeWaits(10.0, 7)
    wait = 10.0 * (48271 * 7 % 2147483647) / 2147483647
    end = next(k for k in range(20) if wait < k + 0.5)
    emitted = [float(k + 1) for k in range(20)]
    found = [one.released(k, emitted) for k in range(end + 1)]
    assert found[:end] == [0.0] * end
    assert found[end] == emitted[end]


def test_what_is_sent_is_never_early_and_at_most_a_wait_and_a_spacing_late() -> None:
    one = RandomWaits(0.0, 3.0, 4.0, 11)
    emitted = [0.5 * (k + 1) for k in range(200)]
    found = np.array([one.released(k, emitted) for k in range(200)])
    assert (found <= emitted).all()
    late = np.array(emitted) - found
    assert late.max() <= 0.5 * (3.0 + 2.0)  # jitter and the time between two packets
    assert late.mean() == pytest.approx(0.5 * 1.5, rel=0.5)
