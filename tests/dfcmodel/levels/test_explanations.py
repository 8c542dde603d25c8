"""Explanation: tables, orders, texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Explanation
from tests.dfcmodel.intervals import student_interval


def test_the_table_leads_from_the_bare_fluid_to_packets(explanation: Explanation) -> None:
    table = explanation.table()
    for _, rows in table.groupby("quantity"):
        means = rows.set_index("row")["mean"]
        assert list(means.index) == ["bare fluid", *explanation.parts, "packets"]
        assert means.iloc[:-1].sum() == pytest.approx(means.iloc[-1], rel=1e-12)


def test_intervals_are_students_over_the_runs(explanation: Explanation) -> None:
    data = explanation.to_xarray(level=0.9)
    low, high = student_interval(explanation.contributions, 0.9)  # sums in another order
    np.testing.assert_allclose(data["contribution"].sel(estimate="low"), low, rtol=1e-12)
    np.testing.assert_allclose(data["contribution"].sel(estimate="high"), high, rtol=1e-12)


def test_an_order_of_ones_own_leaves_the_rest_as_it_is(explanation: Explanation) -> None:
    names = [each.name for each in explanation.refinements]
    found = explanation.in_order(names[::-1])
    np.testing.assert_allclose(found.sum(axis=1), explanation.gap, atol=1e-9)
    rest = explanation.parts.index("unexplained")
    np.testing.assert_array_equal(found[:, rest], explanation.contributions[:, rest])
    first = explanation.fluid[:, 0b1000] - explanation.fluid[:, 0]  # whole losses, the last of four
    np.testing.assert_array_equal(found[:, 3], first)


def test_an_order_with_other_names_is_refused(refused, explanation: Explanation) -> None:
    refused(["order", "timeouts"], lambda: explanation.in_order(["recovery"]))


def test_the_text_says_what_is_left(explanation: Explanation) -> None:
    lines = explanation.text().splitlines()
    assert len(lines) == len(explanation.quantities)
    for q, line in enumerate(lines):
        rest = explanation.contributions[:, explanation.parts.index("unexplained"), q]
        low, high = student_interval(rest)
        assert line.endswith("cannot be told from 0" if low <= 0.0 <= high else "is not explained")
        assert f"{rest.mean():+.3g}" in line
    assert all(name in explanation._repr_html_() for name in ("share of near", "data:image/png"))


def test_what_is_not_defined_in_every_run_is_said(explanation: Explanation) -> None:
    fluid = explanation.fluid.copy()
    fluid[0, 0, 3] = np.nan
    changed = replace(explanation, fluid=fluid)
    assert changed.text().splitlines()[3] == "first loss: not defined in every run"


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
