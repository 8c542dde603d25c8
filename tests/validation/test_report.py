"""Verdict logic, the ledger, the command and the page."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hopflow.results import figure
from validation import Claim, Finding, Verdict, ledger, report, verdicts
from validation.verdicts import Number, Part, Picture

R, C, N, A, U = (
    Verdict.REPRODUCED,
    Verdict.CONTRADICTED,
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_APPLICABLE,
    Verdict.UNDECIDABLE,
)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([R, R], R),
        ([R, A], R),
        ([R, C, N], C),
        ([R, N], N),
        ([R, U], U),
        ([U, N], N),
        ([A], A),
        ([], A),
    ],
)
def test_a_conjunction_is_as_good_as_its_worst_part(parts, whole) -> None:
    assert Verdict.all_of(parts) is whole


def test_verdict_of_statement_and_opposite() -> None:
    assert Verdict.of(True) is R
    assert Verdict.of(False) is C
    assert Verdict.of(False, opposite=False) is N
    assert Verdict.of(False, opposite=True) is C


def test_ledger_has_the_first_claims() -> None:
    wanted = {"D02", "D04", "D10", "M01", "M02", "M03", "M05", "M06", "M07", "Z01", "Z02"}
    assert wanted | {"S01", "S02"} <= set(ledger())
    assert set(ledger()) == set(verdicts.expected())


def test_at_least_eight_claims_are_decided_by_packets() -> None:
    decided = [id for id, (_, packets) in verdicts.expected().items() if packets in (R, C)]
    assert len(decided) >= 8


def test_unknown_claim() -> None:
    with pytest.raises(ValueError, match=r"claim = 'Q99'.*'M06'"):
        verdicts.find("Q99")


def toy(id: str = "T01") -> tuple[Claim, Finding]:
    def draw():
        fig, ax = figure()
        ax.plot([0, 1], [0, 1])
        return fig

    finding = Finding(
        parts=(Part("<one> & two", R, C),),
        summary="found",
        explanation="because",
        numbers=(Number("x", "1", "2", "3", "none"),),
        pictures=(Picture(draw, "caption", "alt text"),) * 2,
        cases=("zheng2002/periodic-loss",),
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
    assert "&lt;one&gt; &amp; two" in page.read_text()
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


def hopflow(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "validation", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_command_checks_one_claim_and_writes_the_report(tmp_path: Path) -> None:
    done = hopflow("validate", "--claim", "Z01", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report" / "index.html").exists()
    assert [row["id"] for row in json.loads((tmp_path / "report/claims.json").read_text())] == [
        "Z01"
    ]


def test_command_refuses_an_unknown_claim_before_any_work(tmp_path: Path) -> None:
    done = hopflow("validate", "--claim", "Q99", cwd=tmp_path)
    assert done.returncode == 2
    assert "Q99" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_command_exits_with_1_when_a_verdict_differs(tmp_path: Path, monkeypatch) -> None:
    from typer.testing import CliRunner

    from validation.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verdicts, "expected", lambda: {"Z01": (Verdict.CONTRADICTED, A)})
    done = CliRunner().invoke(app, ["validate", "--claim", "Z01"])
    assert done.exit_code == 1
    assert "not as recorded" in done.output


def test_lists(tmp_path: Path) -> None:
    for arguments in (
        ["claims"],
        ["data", "list"],
        ["data", "verify"],
        ["data", "show", "zheng2002/periodic-loss", "--plot", "loss.png"],
        ["--help"],
    ):
        assert hopflow(*arguments, cwd=tmp_path).returncode == 0
