"""The report: its pages, and the rows, families, series and tallies in them."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest

from tests.surface import HANG, invoke
from validation import Claim, Finding, Verdict, ledger, manifest, provenance, report
from validation.checks import subjects
from validation.claims import find
from validation.display.finding_rows import Experiment, Gap, Number, Picture
from validation.judgements import recording
from validation.judgements.recording import WORDS, Recorded
from validation.judgements.verdicts import INDEPENDENT_SOURCES, Part, Reading, Sides, Threshold
from validation.records import entries, group_of, recorded_simulators, recorded_verdicts
from validation.report import folders, stamps, tally
from validation.report.families import common_caption, grouped, panels
from validation.report.folders import Report, write
from validation.report.pages import ASSETS, MEANINGS, asset, record_of
from validation.report.papers import PAPERS
from validation.report.rows import (
    as_csv,
    as_json,
    load,
    part_judged,
    row_of,
    sources_of,
    verdict_of,
    verdicts,
)
from validation.report.series import arranged
from validation.report.surprises import RULE, contradicted_by_all, counted
from validation.report.tally import FIELDS, fields
from validation.report.templating import TEMPLATES, filled, written_out

# The pages: whole, escaped, linked with each other, readable with a screen reader.


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


def test_the_page_of_a_family_has_a_section_for_each_claim_and_one_figure_before(tmp_path, toy):
    report.write(dict([toy("Z11"), toy("Z13")]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    places = [text.index(f'class="member" id="{id}">') for id in ("Z11", "Z12", "Z13")]
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


# The layout of the pages in Chromium: height of the start page, nothing wider than a phone, the filter.


in_chromium_only = pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium on the path")
DESKTOP, PHONE = 1280, 390
"""Widths of screens, in CSS pixels."""
TALLEST = 6000
"""Height of the start page at the width of a desktop: some six screens, for the list of all claims in one look."""
MOST_WORDS = 20
"""Words of a headline."""
LONG = "word " * 60
"""A text longer than any table cell or caption of a finding."""
UNBROKEN = "pausethreshold" * 3
"""A word longer than a word of any text, shorter than a phone is wide."""


def in_chromium(folder: Path, page: Path) -> str:
    """Return the page after its scripts have run."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    options += [f"--user-data-dir={folder / 'user'}", "--virtual-time-budget=60000"]
    command = ["chromium", *options, "--dump-dom", page]
    settings = {**os.environ, "XDG_CONFIG_HOME": str(folder / "settings")}  # of its crash reports
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG, env=settings)
    return run.stdout


def sizes(folder: Path, pages: list[Path], width: int) -> dict[str, tuple[int, int]]:
    """Return the width of the contents and the height of pages on a screen of some width."""
    frames = "".join(
        f'<iframe title="{page.stem}" src="{page.as_uri()}" style="width: {width}px; height: 900px; border: 0"></iframe>'
        for page in pages
    )
    script = """addEventListener("load", () => {
      const all = [...document.querySelectorAll("iframe")];
      const root = frame => frame.contentDocument.documentElement;
      for (const frame of all) root(frame).style.scrollbarWidth = "none";
      const found = all.map(frame => [frame.title, [root(frame).scrollWidth, root(frame).scrollHeight]]);
      document.querySelector("pre").textContent = JSON.stringify(found);
    })"""
    harness = folder / "harness.htm"
    harness.write_text(f"<pre></pre>{frames}<script>{script}</script>")
    found = re.search("<pre>(.+?)</pre>", in_chromium(folder, harness.as_uri()))
    assert found
    return {name: (wide, high) for name, (wide, high) in json.loads(html.unescape(found[1]))}


def recorded(claim: Claim, finding: Finding) -> tuple[Claim, Finding]:
    """Return the claim with a finding that has its recorded verdicts, with which its headline goes."""
    model, packets = recorded_verdicts()[claim.id]
    part = Part("statement", model, packets, simulators=recorded_simulators()[claim.id])
    return claim, replace(finding, parts=(part,), thresholds=())


@in_chromium_only
def test_the_start_page_is_short_with_all_claims(tmp_path: Path, toy) -> None:
    _, finding = toy()
    page = report.write(dict(recorded(claim, finding) for claim in ledger().values()), tmp_path, 1.0)
    texts = page.read_text().count('<th scope="row"><a href="claims/')
    assert texts == len(subjects())
    headlines = [row["headline"] for row in json.loads((tmp_path / "claims.json").read_text())]
    assert max(len(headline.split()) for headline in headlines) <= MOST_WORDS
    assert finding.headline not in headlines, "each claim has a headline for its recorded verdicts"
    ((wide, high),) = sizes(tmp_path, [page], DESKTOP).values()
    assert wide <= DESKTOP
    assert 2000 < high <= TALLEST
    ((wide, _),) = sizes(tmp_path, [page], PHONE).values()
    assert wide <= PHONE


def test_only_the_first_finding_shows_its_figure_unfolded(tmp_path: Path, toy) -> None:
    """Each finding with its figure is a third of a screen; the others are opened."""
    chosen = [claim for claim in ledger().values() if claim.id in {"D04", "K06", "Y11"}]
    _, finding = toy()
    part = replace(finding.parts[0], model=C, simulation=C, simulators={"ns-2": C}, minor="")
    page = report.write(dict.fromkeys(chosen, replace(finding, parts=(part,), thresholds=())), tmp_path, 1.0)
    findings = page.read_text().partition('<ul class="findings">')[2].partition("</ul>")[0].split("</li>")[:-1]
    assert [one.count('<div class="picture"') for one in findings] == [1, 1, 1]
    assert [one.count("<details>") for one in findings] == [0, 1, 1]


@in_chromium_only
def test_no_page_is_wider_than_a_phone(tmp_path: Path, toy) -> None:
    """With more of everything than any claim has: readings, columns, long words."""
    _, finding = toy()
    part = replace(finding.parts[0], statement=f"{LONG} {UNBROKEN}")
    simulators = dict.fromkeys(("ns-2", "ns-3"), part.simulation)
    parts = (replace(part, simulators=simulators, minor="a reason"),) * 4
    wide = replace(
        finding,
        parts=parts,
        readings=tuple(Reading(f"{UNBROKEN} {n}", parts) for n in range(4)),
        numbers=(
            Number(LONG, "1, 2", "3, 4", "5", LONG),
            *(Number(f"rate {n}; flows: 1, 2, 4", "9, 5, 3", "9, 5, 3") for n in range(12)),
        ),
        gap=Gap("What.", tuple(f"column {n}" for n in range(9)), {"share": ("0.5",) * 9}, ("Half.",), "a/case"),
    )  # fmt: skip
    claims = [toy("Z01")[0], *(toy(id)[0] for id in ("Z11", "Z12", "Z13"))]
    report.write(dict.fromkeys(claims, wide), tmp_path, 1.0)
    pages = sorted(tmp_path.rglob("*.html"))
    found = sizes(tmp_path, pages, PHONE)
    assert len(found) == len(pages)
    assert {name: size for name, size in found.items() if size[0] > PHONE} == {}


def test_the_evidence_of_a_family_is_folded_and_pictures_have_their_width(tmp_path: Path, toy) -> None:
    """A page of four claims was 38,000 pixels long on a phone; its panels had letters of three pixels."""
    _, finding = toy()
    report.write(dict.fromkeys((toy(id)[0] for id in ("Z11", "Z12", "Z13")), finding), tmp_path, 1.0)
    text = (tmp_path / "claims" / "Z11-Z13.html").read_text()
    assert text.count('<details class="member"') == 3
    assert '<details class="member" open' not in text
    widths = re.findall(r'class="picture" style="--width: (\d+)px"><a [^>]*><img [^>]*width="(\d+)"', text)
    assert len(widths) >= 3
    assert all(one == other for one, other in widths)


@in_chromium_only
@pytest.mark.slow
def test_no_page_of_real_findings_is_wider_than_a_phone(tmp_path: Path) -> None:
    """Of claims that are checked within seconds."""
    known = ledger()
    chosen = [known[id] for id in ("D18", "M13", "K03", "K05", "Z06", "Y08", "Y12", "S01", "S05")]
    report.write({claim: claim.check() for claim in chosen}, tmp_path, 1.0)
    pages = sorted(tmp_path.rglob("*.html"))
    found = sizes(tmp_path, pages, PHONE)
    assert {name: size for name, size in found.items() if size[0] > PHONE} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "shown"),
    [("", 2), ("?packets=depends", 0), ("?q=z02+fairly", 1), ("?level=holds", 0)],
)
@in_chromium_only
def test_a_browser_filters_the_list(tmp_path: Path, toy, asked: str, shown: int) -> None:
    page = report.write(dict([toy("Z01"), toy("Z02")]), tmp_path, 1.0)
    assert f"{shown} of 2 claims" in in_chromium(tmp_path, f"{page.as_uri()}{asked}")


# The folder of the report: claim by claim, in one step each, beside what earlier calls found.


def ids(folder: Path) -> list[str]:
    return [row["id"] for row in json.loads((folder / "claims.json").read_text())]


def test_the_same_verdicts_are_json_and_csv(tmp_path: Path, toy) -> None:
    write(dict([toy("Z02"), toy("Z01")]), tmp_path, 1.0)
    assert ids(tmp_path) == ["Z01", "Z02"]
    assert (tmp_path / "claims.csv").read_text().startswith("id,paper,")


def test_nothing_of_a_claim_is_written_when_a_picture_fails(tmp_path: Path, toy) -> None:
    claim, finding = toy()

    def fail():
        raise RuntimeError("no picture")

    broken = Finding(finding.parts, "found", pictures=(Picture(fail, "", ""),))
    with pytest.raises(RuntimeError):
        write({claim: broken}, tmp_path, 1.0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_an_earlier_call_found_stays(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01"), toy("Z02")]), tmp_path, 1.0)
    again = Report(tmp_path, ["Z01", "Z02"])
    again.add(*toy("Z02"))
    text = again.write().read_text()
    assert ids(tmp_path) == ["Z01", "Z02"]
    assert "1 of 2 claims checked so far" in text
    assert "as an earlier call found them" in text


def test_findings_of_other_sources_are_named(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01")]), tmp_path, 1.0)
    rows = json.loads((tmp_path / "claims.json").read_text())
    current = Report(tmp_path, []).write().read_text()
    (tmp_path / "claims.json").write_text(json.dumps([rows[0] | {"made_from": "other"}]))
    outdated = Report(tmp_path, []).write().read_text()
    assert "with other sources of hopflow" not in current
    assert "with other sources of hopflow or other data: Z01." in outdated


def test_the_start_page_follows_while_claims_are_checked(tmp_path, toy, monkeypatch) -> None:
    monkeypatch.setattr(folders, "PAUSE", -1.0)
    report = Report(tmp_path, ["Z01", "Z02"])
    report.add(*toy("Z01"))
    assert "1 of 2 claims checked so far" in (tmp_path / "index.html").read_text()
    assert "not been checked yet" in (tmp_path / "claims/Z02.html").read_text()
    assert not list(tmp_path.rglob(".*")), "no temporary file is left"


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"report = '.*file/report': Not a directory"):
        Report(tmp_path / "file" / "report", ["Z01"])


def test_runs_computed_again_stand_on_the_start_page_of_this_call_and_the_next(tmp_path: Path, toy):
    run = {"case": "packets/dumbbells-ns2", "recovery": "sack", "size": 2, "seed": 1}
    equal, off = run | {"differences": []}, run | {"seed": 2, "differences": ["drops"]}
    about = {"parts": [3], "of_parts": 16, "runs": [equal, off], "of_runs": 224, "packets": 99}
    report = Report(tmp_path, ["Z01"])
    report.add(*toy("Z01"))
    report.write(1.0)
    report.recomputed(about)
    for page in (tmp_path / "index.html", Report(tmp_path, []).write()):
        text = page.read_text()
        assert "computed 2 of 224 bundled runs" in text
        assert "1 run differs" in text
        assert "seed 2: drops" in text
    (tmp_path / "recomputed.json").write_text("broken")
    assert "bundled runs of ns-2 again" not in Report(tmp_path, []).write().read_text()


def test_the_page_of_a_family_keeps_the_sections_of_earlier_calls(tmp_path: Path, toy) -> None:
    claim, finding = toy("Z11")
    write({claim: finding}, tmp_path, 1.0)
    write(dict([toy("Z12")]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    assert [f"{id} has not been checked yet" in text for id in ("Z11", "Z12", "Z13")] == [
        False,
        False,
        True,
    ]
    assert ids(tmp_path) == ["Z11", "Z12"]
    write({claim: replace(finding, explanation="Because anew.")}, tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    assert text.count("Because anew.") == 1
    assert text.count('<details class="member"') == 2
    assert text.count('<section class="member"') == 1, "not checked yet: a line that says how, which is not folded"


def test_rows_of_other_versions_are_checked_again(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01")]), tmp_path, 1.0)
    rows = json.loads((tmp_path / "claims.json").read_text())
    del rows[0]["simulators"]
    (tmp_path / "claims.json").write_text(json.dumps(rows))
    assert Report(tmp_path, []).rows == {}


# When a report is printed again, and when its claims are checked.


@pytest.fixture
def stamped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report of packages of one module each, with its stamp."""
    for name in stamps.PACKAGES:
        (tmp_path / "root" / name / "__pycache__").mkdir(parents=True)
        (tmp_path / "root" / name / "module.py").write_text("x = 1\n")
    monkeypatch.setattr(stamps, "ROOT", tmp_path / "root")
    folder = tmp_path / "report"
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "M01.html").write_text("<p>holds</p>")
    stamps.write_stamp(folder, stamps.hash_of_sources())
    return folder


def test_a_report_is_current_until_a_source_or_a_page_changes(stamped: Path) -> None:
    root = stamps.ROOT
    (root / "markov" / "__pycache__" / "module.pyc").write_bytes(b"compiled")
    assert stamps.is_current(stamped, stamps.hash_of_sources())
    for changed in (root / "markov" / "module.py", stamped / "claims" / "M01.html"):
        before = changed.read_text()
        changed.write_text(before + " ")
        assert not stamps.is_current(stamped, stamps.hash_of_sources())
        changed.write_text(before)
        assert stamps.is_current(stamped, stamps.hash_of_sources())
    (root / "markov" / "module.py").rename(root / "markov" / "other.py")
    assert not stamps.is_current(stamped, stamps.hash_of_sources())


def test_a_source_that_changes_while_claims_are_checked_makes_the_report_outdated(stamped: Path):
    sources = stamps.hash_of_sources()
    (stamps.ROOT / "markov" / "module.py").write_text("x = 2\n")
    stamps.write_stamp(stamped, sources)
    assert not stamps.is_current(stamped, stamps.hash_of_sources())


def test_a_folder_without_a_stamp_is_not_current(tmp_path: Path) -> None:
    assert not stamps.is_current(tmp_path, stamps.hash_of_sources())


def test_an_unchanged_report_is_printed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    first = invoke(["validate", "--claim", "Z01"])
    stamps.write_stamp(tmp_path / "report", stamps.hash_of_sources())
    pages = {path: path.read_bytes() for path in (tmp_path / "report").rglob("*.*")}
    again = invoke(["validate", "--recompute", "none"])
    assert again.exit_code == first.exit_code == 0
    assert "1 claim as before, nothing has changed" in again.output
    line = next(line for line in first.output.splitlines() if line.startswith("Z01"))
    assert line in again.output.splitlines()
    assert pages == {path: path.read_bytes() for path in (tmp_path / "report").rglob("*.*")}


# Parts of the pages: rows, series, tallies, families, findings, templates.


R, C, N, A, D = (
    Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE, Verdict.DEPENDS,
)  # fmt: skip

# How a bundled case was made, as the page of the data says.


def test_a_record_has_simulator_command_and_files() -> None:
    case = "kaneko2007/pairs-ns2"
    about, known = record_of(case), provenance(case)
    assert about["title"] == known["title"]
    assert about["rows"]["Simulator"].startswith("ns-2 ")
    assert about["rows"]["First command"] == known["command"]
    assert all(file in about["rows"]["Files"] for file in known["files"])
    assert f"{known['runs']} runs" in about["rows"]["Runs and seeds"]


# Similar claims.


def rows() -> list[dict]:
    return [
        {"id": id, "pictures": [{"caption": f"Run {id}: means over the seeds, 95 %."}]}
        for id in ledger()
        if id.startswith("D")
    ]


def test_scenarios_of_one_check_are_a_family() -> None:
    """takano2006's Figs. 6 to 11, six speeds, and Figs. 14 to 17, four variants."""
    found = [[row["id"] for row in family] for family in grouped(rows())]
    assert ["D04", "D05", "D06", "D07", "D08", "D09"] in found
    assert ["D12", "D13", "D14", "D15"] in found
    assert sum(map(len, found)) == len(rows())
    assert found == sorted(found)


def test_a_family_has_one_figure_with_panels() -> None:
    family = next(family for family in grouped(rows()) if len(family) == 6)
    (figure,) = panels(family)
    assert [row["id"] for row, _ in figure] == ["D04", "D05", "D06", "D07", "D08", "D09"]
    assert common_caption(figure) == "Means over the seeds, 95 %. D09: Run D09: means over the seeds, 95 %."
    assert panels(family[:1]) == []


def test_columns_of_a_family_are_those_with_evidence() -> None:
    """No column of ns-3 for claims that ns-2 and the model judge."""
    none = "not applicable"
    pair = [
        {"model": none, "simulators": {"ns-2": "holds"}, "packet_level": none},
        {"model": "holds", "simulators": {}, "packet_level": none},
    ]
    assert [source for source, _ in sources_of(pair)] == ["model", "ns-2"]
    assert verdict_of(pair[1], "ns-2") == none
    assert sources_of(pair[:0]) == []


def test_captions_without_a_common_end_are_all_shown() -> None:
    pair = [({"id": "A"}, {"caption": "One."}), ({"id": "B"}, {"caption": "Other."})]
    assert common_caption(pair) == "A: One. B: Other."


# Rows of claims.json.


def test_a_row_survives_json(tmp_path: Path, toy) -> None:
    known = Recorded(
        Sides(R, C),
        turning=Sides((), ()),
        thresholds={"near": Threshold("near", "", 0.01, {"model": R}, {"model": C})},
        statements={("", 1): (R, A, A, A, A, A)},
        held=Sides("1 of 1", "0 of 1"),
        numbers={"quantity 1": "1 2 3", "quantity 2": "1 2 4 9 5 3", WORDS: recording._printed(toy()[1])[WORDS]},
    )
    row = row_of(*toy(), {"Z01": known})
    place = tmp_path / "claims.json"
    place.write_text(as_json([row]))
    assert load(place) == {"Z01": row}
    assert verdicts(row) == Sides(R, C)
    assert row["as_recorded"]
    assert row_of(*toy(), {})["changed"][0] == "model and packets"


def test_a_row_has_the_claim_the_verdicts_and_what_they_stand_on(toy) -> None:
    wanted = "id paper where claim model simulation as_recorded summary cases robustness experiments"
    row = row_of(*toy(), {})
    assert set(wanted.split()) <= set(row)
    assert {"threshold", "value", "half", "twice"} <= set(row["robustness"][0])


def test_files_that_are_no_rows_count_as_none(tmp_path: Path) -> None:
    place = tmp_path / "claims.json"
    assert load(place) == {}
    for text in ("", "[", "{}", "[1]", json.dumps([{"id": "Z01"}])):
        place.write_text(text)
        assert load(place) == {}


def test_pictures_have_files_and_sizes(toy) -> None:
    """6.4 in by 3.6 in, at 96 CSS pixels an inch."""
    pictures = row_of(*toy(), {})["pictures"]
    assert [each["file"] for each in pictures] == ["figures/Z01-1.svg", "figures/Z01-2.svg"]
    assert (pictures[0]["width"], pictures[0]["height"]) == (614, 346)


def test_csv_has_a_line_for_each_row(toy) -> None:
    lines = as_csv([row_of(*toy(), {})]).splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("zheng2002/periodic-loss,not applicable,not applicable")


# Lists of numbers become tables only where the values fit.


def test_curves_over_the_same_values_share_a_table() -> None:
    numbers = [
        Number("rate, Reno; flows: 1, 2, 4", model="9, 5, 2", simulation="8, 5, 3", tolerance="5 %"),
        Number("rate, BIC; flows: 1, 2, 4", simulation="7, 6, 5"),
    ]
    rest, (table,) = arranged(numbers)
    assert rest == []
    assert (table.x, table.values) == ("flows", ["1", "2", "4"])
    assert table.curves[0].sides == {"Model": ["9", "5", "2"], "Packets": ["8", "5", "3"]}
    assert table.curves[0].note == "5 %"
    assert table.curves[1].sides == {"Packets": ["7", "6", "5"]}


def test_words_of_the_paper_on_all_values_are_a_note() -> None:
    _, (table,) = arranged([Number("gain by RTT = 1, 2, 5 s", "9, 5, 2", paper="it falls")])
    assert table.x == "RTT"
    assert table.curves[0].note == "paper: it falls"


@pytest.mark.parametrize(
    "number",
    [
        Number("gain at three loads", "1, 2, 3"),
        Number("gain; load: 1, 2, 3", "1, 2"),
        Number("gain; load: 1, 2", "1, 2"),
        Number("gain; load: 1, 2, 3", paper="1, 2, 3"),
    ],
    ids=["no values", "fewer numbers", "two", "paper alone"],
)
def test_other_numbers_stay_as_they_are(number: Number) -> None:
    assert arranged([number]) == ([number], [])


# The rule of the claims that all evidence contradicts: per statement, in all readings, by independent sources.


def part(model=C, ns2=C, ns3=A, level=A, minor="") -> Part:
    """Return a statement with the verdicts of its sources, which contradict it by default."""
    simulators = {name: verdict for name, verdict in (("ns-2", ns2), ("ns-3", ns3)) if verdict != A}
    return Part("x", model, ns2, level=level, simulators=simulators, minor=minor)


def contradicted(*parts: Part, readings=(), **about) -> tuple[int, ...]:
    others = tuple(Reading(f"{n}", each) for n, each in enumerate(readings))
    return Finding(parts, "", readings=others, **about).contradicted_by_all()


@pytest.mark.parametrize(
    "reading",
    [part(ns2=N), part(model=A), part(ns2=R), part(ns2=A), part(level=N)],
    ids=["inconclusive", "model not judged", "holds", "ns-2 not judged", "own packets"],
)
def test_a_statement_has_to_be_contradicted_by_every_source_in_every_reading(reading: Part) -> None:
    """What a source has not judged, or leaves open, is not contradicted; so it is of a claim with another reading."""
    judged_by = part(level=C) if reading.level != A else part()
    assert contradicted(judged_by) == (1,)
    assert contradicted(judged_by, readings=[(judged_by,)]) == (1,)
    assert contradicted(judged_by, readings=[(judged_by,), (reading,)]) == ()


def test_a_second_source_shares_no_code_with_the_first() -> None:
    """hopflow's packet level and its own program in ns-3 are none, but what they say is tested."""
    assert contradicted(part(ns2=A, level=C)) == ()
    assert contradicted(part(model=A, level=C)) == ()
    assert contradicted(part(ns2=A, ns3=C)) == (1,)
    assert contradicted(part(ns2=A, ns3=C), own_programs={"ns-3": "DFC"}) == ()
    assert contradicted(part(ns3=R), own_programs={"ns-3": "DFC"}) == ()
    assert contradicted(part(level=R)) == ()
    assert contradicted(part(ns3=C), own_programs={"ns-3": "DFC"}) == (1,)


def test_ns3_with_a_program_of_our_own_is_told_from_ns3s_own_tcp() -> None:
    def own(id: str) -> dict[str, str]:
        find(id)
        return dict(subjects()[id].basis.own_programs)

    assert own("D20") == {"ns-3": "DFC"}
    assert own("M05") == {"ns-3": "pause"}
    assert own("K12") == {"ns-3": "Fusion, ARENO, CTCP and RE"}
    assert own("Z05") == {}


def test_ns3_runs_a_program_of_our_own_in_all_claims_of_the_papers() -> None:
    """None of the five papers has its protocol in ns-3: a program that the list misses would make a second source."""
    claims = [id for id, claim in ledger().items() if group_of(claim.paper) == "papers"]
    tools = {id: {provenance(case)["tool"] for case in subjects()[id].cases} for id in claims}
    with_ns3 = {id for id in claims if "ns-3" in tools[id]}
    assert len(with_ns3) > 40
    assert {id for id in claims if subjects()[id].basis.own_programs} == with_ns3


def test_statements_are_listed_by_number_and_minor_ones_are_not() -> None:
    assert contradicted(part(model=R), part(), part(minor="ours"), part()) == (2, 4)


def test_half_and_twice_of_each_threshold_count_by_statement() -> None:
    turned = Threshold("near", "", 0.1, Sides(C, C), Sides(C, C), contradicted=(2,))
    finding = Finding((part(), part()), "", thresholds=(turned,))
    assert finding.contradicted_by_all() == (1, 2)
    assert finding.surprising == (2,)


def row(id: str, paper: str, statements: list[int], deciding: int = 4) -> dict:
    texts = [{"statement": f"statement {n}"} for n in range(1, deciding + 1)]
    return {
        "id": id, "paper": paper, "contradicted_by_all": statements, "deciding": deciding, "statements": texts,
    }  # fmt: skip


def test_every_claim_with_such_a_statement_is_listed_the_largest_part_first() -> None:
    """Several of one paper too; own comparisons and what no sentence states are none of them."""
    rows = [
        row("B1", "b", [1]), row("A1", "a", [1, 2]), row("A2", "a", [1], 1), row("A3", "a", []),
        row("S1", "hopflow", [1], 1), row("Y06", "yang2001", [1], 1),
    ]  # fmt: skip
    assert [each["id"] for each in contradicted_by_all(rows)] == ["A2", "A1", "B1"]
    assert counted(rows[1]) == "2 of 4 statements contradicted: statement 1; statement 2"


def test_readings_that_are_open_or_not_judged_are_counted_beside_the_verdict() -> None:
    both = Finding((part(),), "", readings=(Reading("short queues", (part(ns2=N, model=A),)),))
    assert both.verdict("ns-2") == both.verdict("model") == C
    assert both.words("ns-2") == both.words("model") == "contradicted; 0 of 1 other reading judged"
    events = replace(both, parts=(replace(part(), process=C),))
    assert events.verdict("process") == C  # the model's own events have no readings
    held = Finding((part(model=R),), "", readings=(Reading("other", (part(model=N),)),))
    assert held.verdict("model") == R


# Tallies: which columns and rows, and what is counted.

ROWS = [
    {"id": id, "paper": paper, "model": model, "simulation": packets, "simulators": judged}
    for id, paper, model, packets, judged in (
        ("M01", "malhotra2005", R, R, {}),
        ("M02", "malhotra2005", C, R, {}),
        ("K01", "kaneko2007", N, C, {"ns-2": C}),
        ("S01", "hopflow", C, A, {}),
        ("S02", "hopflow", R, A, {}),
        ("S03", "hopflow", A, C, {"ns-3": C}),
    )
]


def test_papers_are_counted_apart_from_own_comparisons() -> None:
    models = tally.tables(ROWS)["Models"]
    assert models.columns == (
        "claims", "holds", "contradicted", "inconclusive", "not applicable", "not judged"
    )  # fmt: skip
    assert models.rows["malhotra2005"] == (17, 1, 1, 0, 0, 15)
    assert models.rows["all papers"] == (29, 1, 1, 1, 0, 26)
    assert list(models.rows)[-1] == "hopflow"


def test_counts_in_words_leave_out_what_does_not_apply() -> None:
    rows = [*ROWS, ROWS[0] | {"model": A}]
    said = [(count.claims, count.words) for count in tally.in_words(rows, "model")]
    assert said == [(1, "holds"), (1, "is contradicted"), (1, "is inconclusive")]


def test_claims_that_depend_are_counted_by_their_direction() -> None:
    rows = [ROWS[0] | {"model": D, "default": {"model": each, "packets": R}} for each in (R, R, C)]
    said = {count.words: count.claims for count in tally.in_words(rows, "model")}
    assert said == {
        "hold by default, contradicted in another reading": 2,
        "is contradicted by default, hold in another reading": 1,
    }


def test_own_comparisons_are_counted_in_a_sentence() -> None:
    said = tally.own_models(ROWS)
    assert said.startswith("Of 2 comparisons of hopflow's own models")
    assert "1 misses the limit" in said
    assert said.endswith("; of 1 of simulators with one another, 1.")
    assert tally.own_models(ROWS[:3]) == ""


def test_comparisons_of_linux_are_counted_by_themselves() -> None:
    linux = [ROWS[-1] | {"simulation": v, "simulators": {"Linux": v}} for v in (R, C, C)]
    assert tally.own_models([*ROWS, *linux]) == tally.own_models(ROWS)
    said = tally.on_linux([*ROWS, *linux])
    assert said.startswith("Of 3 comparisons of Linux")
    assert "2 find that Linux departs" in said
    assert tally.on_linux(ROWS) == ""


def test_findings_on_linux_stand_under_a_heading_of_their_own(tmp_path: Path, toy) -> None:
    """Not among the red marks of hopflow's own models."""
    claims = {}
    for id, simulator in (("S03", "ns-3"), ("S09", "Linux")):
        claim, finding = toy(id, "hopflow", ((A, C),))
        parts = (replace(finding.parts[0], simulators={simulator: C}),)
        claims[claim] = replace(finding, parts=parts)
    text = report.write(claims, tmp_path, 1.0).read_text()
    models, linux = (text.index(f"<h2>{title}") for title in ("hopflow's own models", "Linux, against"))
    assert models < text.index('href="claims/S03.html" class="verdict') < linux
    assert linux < text.index('href="claims/S09.html" class="verdict')


def test_what_no_sentence_of_a_paper_states_is_not_counted() -> None:
    """Y06 is read off a table."""
    own = {"paper": "yang2001", "model": C, "simulation": C, "simulators": {"ns-2": C}}
    rows = [{"id": id, **own} for id in ("Y05", "Y06")]
    assert [each.claims for each in tally.in_words(rows, "model")] == [1]
    assert tally.bars(rows)["In packet simulations"][1].counts[0].claims == 1
    assert tally.tables(rows)["Models"].rows["yang2001"][:2] == (17, 1)


def test_a_source_that_judges_a_part_of_the_statements_says_so_in_the_table(tmp_path: Path, toy) -> None:
    claim, finding = toy("K12", "kaneko2007", ((C, C), (C, A), (C, A)))
    parts = [replace(each, simulators={"ns-3": each.simulation}) for each in finding.parts]
    parts[1:] = [replace(each, simulators={}) for each in parts[1:]]
    finding = replace(finding, parts=tuple(parts), own_programs={"ns-3": "ARENO"})
    (made,) = [row_of(claim, finding, {})]
    assert (part_judged(made, "ns-3"), part_judged(made, "model")) == ("1/3", "")
    page = report.write({claim: finding}, tmp_path, 1.0)
    (cell,) = re.findall(r'<td data-label="ns-3">(.*?)</td>', page.read_text(), re.DOTALL)
    assert "judges 1 of 3 of the statements" in cell
    assert "own ARENO" in cell


def test_a_claim_page_says_which_statements_decide(tmp_path: Path, toy) -> None:
    """No "holds" beside "1 of 2 statements hold", and no "not applicable" over a contradiction, without the rule."""
    claim, finding = toy("K09", "kaneko2007", ((A, R), (C, C)))
    below, near = finding.parts
    parts = (
        replace(below, simulators={"ns-3": R}),
        replace(near, simulators={"ns-3": C}, minor="ours"),
    )
    report.write({claim: replace(finding, parts=parts)}, tmp_path, 1.0)
    text = (tmp_path / "claims/K09.html").read_text()
    above = " ".join(text[: text.index("<h2>Statements")].split())
    assert "1 of 2 statements" not in above
    assert "judges only statements that do not decide; 0 of 1 hold" in above
    assert "contradicts it if one of them is contradicted" in above


def test_an_experiment_without_an_effect_has_no_column_for_it(tmp_path: Path, toy) -> None:
    claim, finding = toy()
    for effect, shown in (("", False), ("half", True)):
        one = Experiment("cause", "1", "2", effect)
        report.write({claim: replace(finding, experiments=(one,))}, tmp_path, 1.0)
        text = (tmp_path / "claims/Z01.html").read_text()
        assert ('<th scope="col">Effect</th>' in text) == shown


def test_columns_are_of_simulators_that_judge_a_claim() -> None:
    assert tally.judging(ROWS) == ["ns-2", "ns-3"]
    assert list(tally.fields(ROWS[:3])) == ["model", "packets", "ns-2", "level"]


# Templates that are filled in: escaped, with the filters of the report.


def test_large_numbers_have_commas_and_small_ones_stay() -> None:
    assert written_out("7.76e+05 (2e-05 to 1e+07)") == "776,000 (2e-05 to 10,000,000)"
    assert written_out("12345 and 0.1234567") == "12345 and 0.1234567"


def test_texts_are_escaped_and_missing_values_refused() -> None:
    page = filled("unchecked.html", root="../", claim=entries()["D01"])
    assert "D01" in page
    assert "<script" not in page.replace('<script src="', "")
    with pytest.raises(jinja2.UndefinedError):
        filled("unchecked.html", root="../")


def test_every_paper_has_a_title() -> None:
    assert set(PAPERS) == {entry.paper for entry in entries().values()}
    assert (TEMPLATES / "report.css").is_file()


def test_the_rule_of_the_front_page_has_the_number_of_sources_that_is_asked_for() -> None:
    assert INDEPENDENT_SOURCES == 2
    assert "At least two of the sources are independent" in RULE


def test_titles_and_citations_have_the_year_of_their_key() -> None:
    for key, paper in PAPERS.items():
        year = re.search(r"\d{4}$", key)
        if year is not None:
            assert year[0] in paper.title, key
            assert year[0] in paper.citation, key
            assert not set(re.findall(r"\b(?:19|20)\d\d\b", paper.title + paper.citation)) - {year[0]}, key
