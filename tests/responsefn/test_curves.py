"""Curves: labelled data, plots, display, and bad input."""

from __future__ import annotations

import html

import numpy as np
import pytest

from responsefn import (
    AIMD,
    HSTCP,
    PFTK,
    TFRC,
    Reno,
    Tahoe,
    Vegas,
    curve,
)

P = np.logspace(-5, -1, 41)


@pytest.fixture(scope="module")
def result():
    return curve([Reno(), AIMD(0.2, 0.125), Tahoe(), TFRC(), PFTK()], p=P, rtt=0.04)


def test_data(result):
    data = result.to_xarray()
    assert dict(data.sizes) == {"rule": 5, "p": 41, "attractor": 3}
    assert data.rate.dims == ("rule", "p")
    np.testing.assert_array_equal(data.rate.sel(rule="TFRC()"), TFRC().rate(P, 0.04))
    np.testing.assert_array_equal(data.p, P)
    np.testing.assert_allclose(data.mean_window, data.rate * 0.04)
    assert data.rate.attrs["units"] == "packets/s"
    assert data.attrs["rtt"] == 0.04


def test_plot(result):
    axes = result.plot()
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xlabel() == "loss event rate p"
    assert axes.get_ylabel() == "rate (packets/s)"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [*map(repr, result.rules), "faded: outside of the rule's domain"]
    inside_all = curve([Reno()], [1e-4, 1e-3], 0.04).plot()
    assert len(inside_all.get_legend().get_texts()) == 1
    lines = [line for line in axes.get_lines() if line.get_label() in map(repr, result.rules)]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 5
    np.testing.assert_array_equal(lines[3].get_ydata(), result.rate[3])
    inside = Reno.domain[1] >= P
    np.testing.assert_array_equal(lines[0].get_ydata()[inside], result.rate[0][inside])
    assert np.isnan(lines[0].get_ydata()[~inside]).all()
    faded = [line for line in axes.get_lines() if line.get_alpha() == 0.25 and len(line.get_xdata())]
    assert len(faded) == 3  # Reno, AIMD and Tahoe end at 0.02
    assert result.plot(ax=axes) is axes


def test_values_outside_of_a_domain_are_marked() -> None:
    """In the data, the text and the page, at the ends stated by the rules; the rates stay as `rate` has them."""
    p = [1e-8, 1e-7, 1e-3, 0.0011, 0.02, 0.0201, 0.5]
    found = curve([Reno(), HSTCP(), TFRC()], p, 0.04)
    expected = [[True] * 5 + [False] * 2, [False, True, True] + [False] * 4, [True] * 7]
    np.testing.assert_array_equal(found.in_domain, expected)
    np.testing.assert_array_equal(found.to_xarray().in_domain, expected)
    assert found.rate[0, -1] == Reno().rate(0.5, 0.04)
    for text in (repr(found), found._repr_html_()):
        assert "2 values outside of p <= 0.02" in html.unescape(text)
        assert "5 values outside of 1e-07" in text
        assert text.count("outside of") == 2


def test_points_and_bandwidth():
    result = curve([Reno(), Vegas()], [1e-4, 1e-3], 0.04, bandwidth=1000.0)
    assert result.bandwidth == 1000.0
    assert result.rate[1, 0] < 1000.0
    axes = result.plot(points={"ns-2": ([1e-3], [900.0])})
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["Reno()", "Vegas()", "ns-2"]
    with pytest.raises(ValueError, match=r"^bandwidth is missing"):
        curve(Vegas(), [1e-3], 0.04)


def test_display(result):
    text = repr(result)
    assert "AIMD(a=0.2, b=0.125)" in text
    assert "packets/s" in text
    page = result._repr_html_()
    assert "<table" in page
    assert "<img " in page


def test_immutable(result):
    with pytest.raises(AttributeError):
        result.rtt = 1.0
    for array in (result.p, result.rate):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    mine = P.copy()
    kept = curve(Reno(), mine, 0.04)
    mine[0] = 0.5
    assert kept.p[0] == P[0]
    assert kept.rate.shape == (1, 41)


def test_curve_of_rules_alone():
    np.testing.assert_allclose(curve(Reno()).p[[0, -1]], [1e-6, 0.1])


def test_a_single_value_outside_of_a_domain_is_one_value() -> None:
    assert "; 1 value outside of p <= 0.02" in repr(curve(Reno(), [0.01, 0.03], 0.04))
