"""The levels of a chain over devices, and what each device holds."""

from __future__ import annotations

from markov import PauseTandem
from markov.sharding.plans import held_bytes, plan_levels, proof_bytes
from markov.sharding.stencils import stencil_of


def test_each_device_holds_less():
    """All but the slices of rates, and levels of few states; all numbers of devices form the same pairs."""
    _, stencil = stencil_of(PauseTandem(buffers=(400, 400), high_threshold=300))
    alone = plan_levels(stencil, 1)
    held, proof = [held_bytes(alone, stencil)], [proof_bytes(alone)]
    for devices in (2, 4, 8):
        levels = plan_levels(stencil, devices)
        rows = levels[0].shape[0] // devices
        assert 401 / devices <= rows <= 1.12 * 401 / devices + 1
        assert (levels[0].devices, levels[-1].devices) == (devices, 1)
        assert [level.halved for level in levels] == [level.halved for level in alone]
        assert [level.changes for level in levels] == [level.changes for level in alone]
        held.append(held_bytes(levels, stencil))
        proof.append(proof_bytes(levels))
    for each in (held, proof):
        assert each[1] < 0.6 * each[0]
        assert each[2] < 0.35 * each[0]
        assert each[3] < 0.25 * each[0]
