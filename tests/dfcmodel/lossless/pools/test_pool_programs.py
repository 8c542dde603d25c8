"""The linear program: its bound is above every schedule, and its schedules obey the limits."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import headroom_pool
from dfcmodel.lossless.pools.pool_programs import PoolProgram


@pytest.mark.parametrize("alpha", [0.125, 0.5])
def test_a_schedule_obeys_thresholds_line_rate_and_buffer(alpha) -> None:
    pool = headroom_pool(3e4, 4, 2, size=1e5, shared=8e5, alpha=alpha, rate="100Gbps")
    program = PoolProgram(pool, 20e-6, 3, 1)
    high = 5e5
    bound, above = program.relaxed(0.0, high, full=False)
    assert above is not None
    assert above.sum(axis=1).max() <= 1.0 + 1e-6
    found = program.schedule(above > 0.999, high, full=False)
    assert found is not None
    shared, used = found
    assert used.sum() <= bound
    assert shared.sum() == pytest.approx(high)
    assert (shared[used > 1.0] >= alpha * (pool.shared - high) - 1.0).all()
    assert ((shared + used).sum(axis=1) <= 20e-6 * pool.rates / 8.0 + 1.0).all()
    assert np.count_nonzero(used.sum(axis=1) > 1.0) <= 3


def test_an_occupancy_that_the_senders_cannot_reach_is_impossible() -> None:
    pool = headroom_pool(3e4, 4, 2, size=1e5, shared=8e5, alpha=1.0, rate="100Gbps")
    program = PoolProgram(pool, 1e-6, 4, 2)  # 50 kB arrive
    assert program.relaxed(4e5, 8e5, full=False)[1] is None
