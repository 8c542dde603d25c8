"""The layout of the pages in Chromium: height of the start page, nothing wider than a phone, the filter."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from validation import Claim, Finding, ledger, report
from validation.checks import subjects
from validation.finding_rows import Gap, Number
from validation.records import recorded_simulators, recorded_verdicts
from validation.verdicts import Part, Reading

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium on the path")

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
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


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


def test_the_start_page_is_short_with_all_claims(tmp_path: Path, toy) -> None:
    _, finding = toy()
    page = report.write(
        dict(recorded(claim, finding) for claim in ledger().values()), tmp_path, 1.0
    )
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
def test_a_browser_filters_the_list(tmp_path: Path, toy, asked: str, shown: int) -> None:
    page = report.write(dict([toy("Z01"), toy("Z02")]), tmp_path, 1.0)
    assert f"{shown} of 2 claims" in in_chromium(tmp_path, f"{page.as_uri()}{asked}")
