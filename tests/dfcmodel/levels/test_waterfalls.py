"""The waterfall: where its bars begin and end."""

from __future__ import annotations

import numpy as np

from dfcmodel import Explanation


def test_bars_lead_from_one_level_to_the_other(explanation: Explanation) -> None:
    axes = explanation.plot(quantity="packets lost")
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["bare fluid", *explanation.parts, "packets"]
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    assert bars[0].get_width() == explanation.fluid[:, 0, 2].mean()
    last = bars[len(explanation.parts)]
    end = last.get_x() + last.get_width()
    np.testing.assert_allclose(end, explanation.packets[:, -1, 2].mean())
    assert axes.get_xlabel() == "packets lost (packets)"


def test_an_unknown_quantity_is_refused(refused, explanation: Explanation) -> None:
    refused(["quantity", "'delay'"], lambda: explanation.plot(quantity="delay"))
