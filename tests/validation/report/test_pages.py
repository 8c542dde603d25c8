"""The pages: whole, escaped, linked with each other, readable with a screen reader."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from validation import Finding, manifest, report
from validation.finding_rows import Gap, Number
from validation.report.pages import ASSETS, MEANINGS, asset
from validation.report.tally import FIELDS, fields
from validation.verdicts import Reading


class Checker(HTMLParser):
    """Collect ids, links and open tags; headers and images must say what they are."""

    VOID = frozenset({"meta", "br", "img", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        known = dict(attrs)
        if "id" in known:
            self.ids.append(known["id"])
        self.links += [known[key] for key in ("src", "href") if key in known]
        assert tag != "th" or "scope" in known
        assert tag != "img" or {"alt", "width", "height"} <= set(known)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture
def pages(tmp_path: Path, toy) -> dict[Path, Checker]:
    """The pages of a report on two claims, by path."""
    report.write(dict([toy("Z01"), toy("Z02")]), tmp_path, 1.0)
    found = {}
    for page in sorted(tmp_path.rglob("*.html")):
        found[page.relative_to(tmp_path)] = Checker()
        found[page.relative_to(tmp_path)].feed(page.read_text())
    return found


def test_pages_are_valid_and_their_links_lead_somewhere(tmp_path: Path, pages) -> None:
    """Start page, data, thirteen papers and two claims."""
    assert len(pages) == 17
    for page, checker in pages.items():
        assert not checker.open
        assert len(checker.ids) == len(set(checker.ids))
        for link in checker.links:
            file, _, anchor = link.partition("#")
            file = file.partition("?")[0]
            assert "//" not in file
            target = (tmp_path / page).parent / file if file else tmp_path / page
            target = target.resolve().relative_to(tmp_path.resolve())
            assert (tmp_path / target).is_file(), (page, link)
            if anchor:
                assert anchor in pages[target].ids, (page, link)


def test_texts_are_escaped(tmp_path: Path, toy) -> None:
    report.write(dict([toy()]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z01.html").read_text()
    for escaped in (
        "&lt;one&gt; &amp; two",
        "<code>a &lt; b</code>",
        "of &lt;this&gt;",
        "<td>&lt;3</td>",
        'alt="alt &#34;text&#34;"',
        "how near",
    ):
        assert escaped in text


def test_the_finding_is_the_headline(tmp_path: Path, toy) -> None:
    report.write(dict([toy()]), tmp_path, 1.0)
    assert "<h1>Found a &lt; b.</h1>" in (tmp_path / "claims/Z01.html").read_text()


def test_the_line_of_python_leads_to_the_claim(tmp_path: Path, toy) -> None:
    report.write(dict([toy()]), tmp_path, 1.0)
    text = html.unescape((tmp_path / "claims/Z01.html").read_text())
    (line,) = re.findall(r"In Python: <code>(.+?)\.check\(\)</code>", text)
    statement, expression = line.split("; ")
    exec(statement, names := {})  # noqa: S102
    assert eval(expression, names).id == "Z01"


def test_every_table_has_a_caption(tmp_path: Path, pages) -> None:
    for page in pages:
        text = (tmp_path / page).read_text()
        assert text.count("<table") == text.count("<caption>")


def test_lists_over_a_variable_are_tables(tmp_path: Path, toy) -> None:
    report.write(dict([toy()]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z01.html").read_text()
    assert '<th scope="row">4</th><td>&lt;3</td>' in text


def test_columns_that_no_row_fills_are_left_out(tmp_path: Path, toy) -> None:
    claim, finding = toy()
    bare = Finding(finding.parts, "found", numbers=(Number("x", simulation="2"),))
    report.write({claim: bare}, tmp_path, 1.0)
    text = (tmp_path / "claims/Z01.html").read_text()
    assert '<th scope="col">Packet simulation</th>' in text
    assert "Tolerance and its reason" not in text


def test_the_foot_of_a_page_has_the_hash_of_the_manifest(tmp_path: Path, toy) -> None:
    page = report.write(dict([toy()]), tmp_path, 1.0)
    assert manifest.MANIFEST_SHA256 in page.read_text()


def test_the_filter_knows_the_fields_of_the_rows(tmp_path: Path, toy) -> None:
    """What the script reads from the page is there: the rows' data and the options."""
    text = report.write(dict([toy()]), tmp_path, 1.0).read_text()
    known = fields([{"simulators": {}}])
    for field, entry in {"paper": "zheng2002", "model": "holds", "packets": "contradicted"}.items():
        assert f'data-{field}="{entry}"' in text
    for field in FIELDS:
        assert (f'<select name="{field}">' in text) == (field in known)
        assert (f' data-{field}="' in text) == (field in known)
    for verdict in MEANINGS:
        assert text.count(f"<option>{verdict}</option>") == len(known)
    assert all(asset(name) for name in ASSETS)


def test_a_page_has_paraphrase_answer_figure_statements_readings_causes_numbers_in_this_order(
    tmp_path: Path, toy
) -> None:
    claim, finding = toy()
    readings = (Reading("other hosts", finding.parts),)
    report.write({claim: replace(finding, readings=readings)}, tmp_path, 1.0)
    text = (tmp_path / "claims/Z01.html").read_text()
    order = (
        'class="said"', "<h1>", "figures/Z01-1.svg", "<h2>Statements", "<h2>Readings", "<h2>Causes",
        "<h2>Numbers", "figures/Z01-2.svg",
    )  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    before = text[: places[3]]
    assert before.count("<figure") == 1


def test_the_page_of_a_family_has_a_section_for_each_claim_and_one_figure_before(
    tmp_path: Path, toy
) -> None:
    report.write(dict([toy("Z11"), toy("Z13")]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    places = [text.index(f'<section class="member" id="{id}">') for id in ("Z11", "Z12", "Z13")]
    assert places == sorted(places)
    assert text[: places[0]].count("<figure") == 1
    assert "Z12 has not been checked yet" in text
    assert 'href="claims/Z11-Z13.html#Z13"' in (tmp_path / "index.html").read_text()
    assert not (tmp_path / "claims/Z13.html").exists()


def test_the_waterfall_stands_with_its_table(tmp_path: Path, toy) -> None:
    claim, finding = toy("D18", "takano2006")
    gap = Gap("What.", ("bare fluid", "packets"), {"share": ("0.5", "0.25")}, ("Half.",), "a/case")
    picture = replace(finding.pictures[0], caption="The step.")
    finding = replace(finding, gap=gap, pictures=(*finding.pictures, picture))
    report.write({claim: finding}, tmp_path, 1.0)
    page = (tmp_path / "claims/D18.html").read_text()
    _, _, section = page.partition("From the fluid to packets.")
    assert page.count("The step.") == section.count("The step.") == 1
    assert "<td>0.25</td>" in section
    assert "hopflow explain D18" in section
