"""Base classes of results: tables, figures, several side by side."""

from __future__ import annotations

import base64
import struct

import numpy as np
import pytest
import xarray as xr
from markupsafe import Markup

from hopflow import NotSolvedError, Status
from hopflow.html_tables import grid_html, image_html, table_html
from hopflow.results import Result, figure, png, table_text
from hopflow.side_by_side import kind_for, stacked
from hopflow.status import deliver
from hopflow.waterfalls import draw_waterfall

# Results: text, page and pictures.


class Answer(Result):
    def __init__(self, status):
        self.status = status

    def summary(self):
        return {"status": self.status, "a <b>": "1 & 2"}

    def plot(self, ax=None):
        if ax is None:
            _, ax = figure()
        ax.plot([1, 2], [3, 4])
        return ax


class TestResults:
    def test_display(self):
        answer = Answer(Status.CONVERGED)
        assert repr(answer) == "Answer\n  status  converged\n  a <b>   1 & 2"
        page = answer._repr_html_()
        assert "a &lt;b&gt;" in page
        assert "1 &amp; 2" in page
        assert 'alt="plot of Answer" width="512" src="data:image/png;base64,iVBOR' in page
        assert table_text("empty", {}) == "empty"

    def test_pictures_have_two_dots_per_pixel_and_follow_dark_pages(self):
        page = Answer(Status.CONVERGED)._repr_html_()
        code = page.partition("base64,")[2].partition('"')[0]
        size = struct.unpack(">2I", base64.b64decode(code)[16:24])  # IHDR
        assert size == (1024, 576)
        for dark in ("data-jp-theme-light=false", "vscode-dark", "data-theme=dark"):
            assert f"{dark}] .hopflow-figure" in page or f".{dark} .hopflow-figure" in page

    def test_the_same_picture_twice(self):
        pictures = {
            png(Answer(Status.CONVERGED).plot().figure, 'a "quoted" text') for _ in range(2)
        }
        assert len(pictures) == 1
        assert 'alt="a &#34;quoted&#34; text"' in pictures.pop()

    def test_bases_ask_for_their_methods(self):
        for method in (Result.summary, Result.plot):
            with pytest.raises(NotImplementedError):
                method(Result())


# Tables of results as HTML: one template, everything escaped.

NASTY = "<b>\"&'"
ESCAPED = "&lt;b&gt;&#34;&amp;&#39;"


def test_a_table_of_names_and_values() -> None:
    assert table_html("t", {}) == "<table><caption>t</caption></table>"


def test_how_it_was_computed_is_folded_away() -> None:
    page = table_html("t", {"rate": 1, "iterations": 7}, ("iterations",))
    assert page.index("rate") < page.index("<details>") < page.index("iterations")
    assert "<details>" not in table_html("t", {"rate": 1})


@pytest.mark.parametrize(
    "page",
    [
        table_html(NASTY, {NASTY: NASTY}),
        table_html(NASTY, {NASTY: NASTY}, (NASTY,)),
        grid_html(NASTY, ["", NASTY], [[NASTY, "1"]]),
        image_html("code", NASTY, 1, NASTY, ""),
    ],
    ids=["table", "folded", "grid", "image"],
)
def test_texts_are_escaped(page: str) -> None:
    assert NASTY not in page
    assert page.count(ESCAPED) >= 2


def test_markup_stays_and_a_grid_needs_no_caption() -> None:
    page = grid_html("", ["a", "b"], [["n", Markup("<code>x</code>")]])
    assert "<caption>" not in page
    assert "<td style='text-align:left'><code>x</code></td>" in page
    assert page.count("<tr>") == page.count("</tr>") == 2


# Labels, and data sets as one.


def test_other_things_are_not_compared() -> None:
    assert kind_for(3) is None


def test_a_missing_variable_is_nan_only_where_that_is_allowed() -> None:
    data = {"a": xr.Dataset({"x": ("t", [1.0, 2.0])}), "b": xr.Dataset({"y": ("t", [3.0, 4.0])})}
    both = stacked(data, "run", "", missing=("x", "y"))
    assert both.x.sel(run="a").values.tolist() == [1.0, 2.0]
    assert both.x.sel(run="b").isnull().all()
    with pytest.raises(ValueError, match="not all have y"):
        stacked(data, "run", "", missing=("x",))


# The waterfall: where its bars begin and end.


def test_each_bar_begins_where_the_one_before_ends() -> None:
    spread = np.array([0.0, -0.1, 0.1])
    data = xr.Dataset(
        {
            "contribution": (("part", "estimate"), np.array([[2.0], [0.5], [-1.0]]) + spread),
            "start": (("estimate",), 1.0 + spread),
            "packets": (("estimate",), 2.5 + spread),
        },
        {"part": ["bursts", "unexplained", "phases"], "quantity": "share", "units": "1"},
        {"scenario": "two flows", "runs": 4, "start": "bare fluid"},
    )
    axes = draw_waterfall(data)
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    spans = [(bars[n].get_x(), bars[n].get_x() + bars[n].get_width()) for n in range(5)]
    np.testing.assert_allclose(spans, [(0, 1), (1, 3), (3, 3.5), (3.5, 2.5), (0, 2.5)])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["bare fluid", "bursts", "unexplained", "phases", "packets"]
    assert axes.get_xlabel() == "share"


# Status of a solution, and delivery of results that are not solved.


class Answer_of_status(Result):
    def __init__(self, status):
        self.status = status


class TestStatus:
    def test_status(self):
        usable = [status for status in Status if status.ok]
        assert usable == [
            Status.CONVERGED,
            Status.COMPLETED,
            Status.SOLVED,
            Status.UNPROVED,
            Status.DEADLOCKED,
            Status.STORM,
            Status.LOST_LOSSLESS,
        ]
        assert str(Status.CONVERGED) == "converged"
        assert str(Status.SOLVED).startswith("solved, error unknown: ")
        for status in Status:
            assert not status.remedy or status.remedy in str(status) != status.remedy
        assert len({status.label for status in Status}) == len(Status)

    def test_deliver(self):
        good, bad = Answer_of_status(Status.CONVERGED), Answer_of_status(Status.NEGATIVE)
        for on_failure in ("raise", "return"):
            assert deliver(good, on_failure) is good
        assert deliver(bad, "return") is bad
        with pytest.raises(NotSolvedError, match=r"Answer\w*: negative entries: .*GTH") as caught:
            deliver(bad, "raise")
        assert caught.value.result is bad
        with pytest.raises(ValueError, match="on_failure = 'ignore': must be one of 'raise', 'ret"):
            deliver(good, "ignore")
