"""Display of a trajectory."""

from __future__ import annotations

import numpy as np

from hopflow.results import figure


def test_panels_show_efficiency_windows_and_occupancy(run) -> None:
    top = run.plot()
    labels = [ax.get_ylabel() for ax in top.figure.axes[:3]]
    assert labels == ["efficiency", "window (packets)", "node"]
    np.testing.assert_array_equal(top.lines[0].get_ydata(), run.efficiency.values[0])
    windows, nodes = top.figure.axes[1:3]
    np.testing.assert_array_equal(windows.lines[1].get_ydata(), run.window[1])
    np.testing.assert_array_equal(nodes.images[0].get_array(), run.queued)


def test_one_axes_gets_the_efficiency_alone(run) -> None:
    ax = figure()[1]
    assert run.plot(ax) is ax
    assert len(ax.figure.axes) == 1
    assert len(ax.lines) == 2


def test_html_carries_table_and_picture(run) -> None:
    page = run._repr_html_()
    assert "largest queue" in page
    assert 'src="data:image/png;base64' in page
    assert 'alt="' in page
