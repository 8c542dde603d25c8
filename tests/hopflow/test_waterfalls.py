"""The waterfall: where its bars begin and end."""

from __future__ import annotations

import numpy as np
import xarray as xr

from hopflow.waterfalls import draw_waterfall


def test_each_bar_begins_where_the_one_before_ends() -> None:
    spread = np.array([0.0, -0.1, 0.1])
    data = xr.Dataset(
        {
            "contribution": (("part", "estimate"), np.array([[2.0], [0.5], [-1.0]]) + spread),
            "bare_fluid": (("estimate",), 1.0 + spread),
            "packets": (("estimate",), 2.5 + spread),
        },
        {"part": ["bursts", "unexplained", "phases"], "quantity": "share", "units": "1"},
        {"scenario": "two flows", "runs": 4},
    )
    axes = draw_waterfall(data)
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    spans = [(bars[n].get_x(), bars[n].get_x() + bars[n].get_width()) for n in range(5)]
    np.testing.assert_allclose(spans, [(0, 1), (1, 3), (3, 3.5), (3.5, 2.5), (0, 2.5)])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["bare fluid", "bursts", "unexplained", "phases", "packets"]
    assert axes.get_xlabel() == "share"
