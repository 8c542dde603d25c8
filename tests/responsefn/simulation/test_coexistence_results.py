"""What a result of flows that share a bottleneck shows."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow import NotSolvedError, Status
from responsefn import (
    CUBIC,
    Reno,
    coexist,
)

PATH = {"rtt": 0.04, "bandwidth": 2000.0, "buffer": 80}


@pytest.mark.parametrize("options", [{"seconds": 0.02}, {"p": 0.999}], ids=repr)
def test_shares_of_nothing_have_a_status(options):
    asked = {"seconds": 2.0, **options}
    with pytest.raises(NotSolvedError, match="nothing measured"):
        coexist([Reno(), CUBIC()], **PATH, **asked, rng=3)
    run = coexist([Reno(), CUBIC()], **PATH, **asked, rng=3, on_failure="return")
    assert run.status is Status.NOT_MEASURED
    assert np.isnan(run.share).all()


def test_what_it_shows():
    run = coexist([Reno(), CUBIC()], [0.04, 0.08], 2000.0, 80)
    data = run.to_xarray()
    assert data["window"].dims == ("flow", "time")
    assert float(data["share"].sum()) == pytest.approx(1.0)
    assert float(data["goodput"][1]) == run.goodput[1]
    assert data.attrs["utilisation"] == run.utilisation
    assert {"Jain index", "1: Reno()", "2: CUBIC()"} <= set(run.summary())
    axes = run.plot()
    assert [text.get_text()[:2] for text in axes.get_legend().get_texts()] == ["1:", "2:"]
    assert len(axes.get_lines()[0].get_xdata()) == len(run.time)
    assert run.time[0] == 0.0
    assert run.duration == pytest.approx(80.0)
