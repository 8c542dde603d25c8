"""Tables of results as HTML: one template, everything escaped."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from hopflow.html_tables import grid_html, image_html, table_html

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
