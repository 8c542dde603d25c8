"""Random waits of senders in the reference, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.fluid.hosts import RandomWaits


def test_what_is_sent_is_never_early_and_at_most_a_wait_and_a_spacing_late() -> None:
    one = RandomWaits(0.0, 3.0, 4.0, 11)
    emitted = [0.5 * (k + 1) for k in range(200)]
    found = np.array([one.released(k, emitted) for k in range(200)])
    assert (found <= emitted).all()
    late = np.array(emitted) - found
    assert late.max() <= 0.5 * (3.0 + 2.0)  # jitter and the time between two packets
    assert late.mean() == pytest.approx(0.5 * 1.5, rel=0.5)
