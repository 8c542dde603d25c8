"""The view of DFC against its code and against the runs it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import simulate, takano2006
from tests.validation.explore.test_views import drawn
from validation.explore.diffusion import VIEW


@pytest.mark.slow
def test_the_code_gives_the_queues() -> None:
    found, names = drawn(VIEW, tcp="Tahoe", diffusion="0.2")
    for line, run in zip(found.charts[0].lines, names["runs"], strict=True):
        np.testing.assert_allclose(line.y, run.queued.max(axis=0), rtol=1e-9)


@pytest.mark.slow
def test_frames_are_moments_of_the_run() -> None:
    found = VIEW.draw(**VIEW.values())
    frames = found.frames
    assert frames is not None
    run = simulate(takano2006("1", dfc=False, tcp="newreno"), sample=0.01, level="fluid")
    assert frames.heights.shape == (4, len(run.queued), len(frames.times))
    at = np.searchsorted(run.time, frames.times - 1e-9)
    np.testing.assert_allclose(frames.heights[1], np.asarray(run.queued)[:, at], rtol=1e-9)
