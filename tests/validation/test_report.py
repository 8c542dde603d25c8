"""The page, and the same verdicts as JSON and CSV."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hopflow.results import figure
from validation import Claim, Finding, Verdict, manifest, report
from validation.verdicts import Number, Part, Picture, Sides, Threshold

R, C, A = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE


def toy(id: str = "T01") -> tuple[Claim, Finding]:
    def draw():
        fig, ax = figure()
        ax.plot([0, 1], [0, 1])
        return fig

    finding = Finding(
        parts=(Part("<one> & two", R, C),),
        summary="found `a < b`",
        explanation="because\n\nof <this>",
        numbers=(Number("x", "1", "2", "3", "none"),),
        pictures=(Picture(draw, "caption", "alt text"),) * 2,
        cases=("zheng2002/periodic-loss",),
        thresholds=(Threshold("near", "how near", 0.01, Sides(R, A), Sides(C, A)),),
    )
    return Claim(id, "zheng2002", "Fig. 0", "set", "says", lambda: finding), finding


class Checker(HTMLParser):
    """Collect ids, links and open tags."""

    VOID = frozenset({"meta", "br", "img", "path", "use", "rect", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.external: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            if key in ("href", "xlink:href") and value.startswith("#"):
                self.links.append(value[1:])
            elif key in ("src", "href", "xlink:href") and not value.startswith(("#", "data:")):
                self.external.append(value)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_is_one_self_contained_valid_document(tmp_path: Path) -> None:
    page = report.write(dict([toy("T01"), toy("T02")]), tmp_path, 1.0)
    checker = Checker()
    checker.feed(page.read_text())
    assert not checker.open
    assert not checker.external
    assert len(checker.ids) == len(set(checker.ids))
    assert set(checker.links) <= set(checker.ids)
    text = page.read_text()
    for escaped in (
        "&lt;one&gt; &amp; two",
        "<code>a &lt; b</code>",
        "of &lt;this&gt;",
        "how near",
    ):
        assert escaped in text
    rows = json.loads((tmp_path / "claims.json").read_text())
    assert [(row["id"], row["model"], row["simulation"]) for row in rows] == [
        ("T01", "reproduced", "contradicted"),
        ("T02", "reproduced", "contradicted"),
    ]
    assert (tmp_path / "claims.csv").read_text().startswith("id,paper,")


def test_nothing_is_written_when_a_picture_fails(tmp_path: Path) -> None:
    claim, finding = toy()

    def fail():
        raise RuntimeError("no picture")

    broken = Finding(finding.parts, "found", pictures=(Picture(fail, "", ""),))
    with pytest.raises(RuntimeError):
        report.write({claim: broken}, tmp_path / "report", 1.0)
    assert not (tmp_path / "report").exists()


def test_the_foot_of_the_page_has_the_hash_of_the_manifest(tmp_path: Path) -> None:
    page = report.write(dict([toy()]), tmp_path, 1.0)
    assert manifest.MANIFEST_SHA256 in page.read_text()


def test_pictures_carry_their_alternative_text(tmp_path: Path) -> None:
    text = report.write(dict([toy()]), tmp_path, 1.0).read_text()
    assert text.count('<svg role="img" aria-label="alt text"') == 2


def test_columns_that_no_row_fills_are_left_out(tmp_path: Path) -> None:
    claim, finding = toy()
    bare = Finding(finding.parts, "found", numbers=(Number("x", simulation="2"),))
    text = report.write({claim: bare}, tmp_path, 1.0).read_text()
    assert "<th>Packet simulation</th>" in text
    assert "<th>Tolerance and its reason</th>" not in text
