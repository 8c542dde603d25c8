"""`hopflow figure`: every figure and table of the papers that a claim is about, and every picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hopflow.commands import app
from validation import ledger, running
from validation.checks import subjects
from validation.claims import claims_of_figure, figures
from validation.records import recorded_levels

KNOWN = figures()


@pytest.mark.parametrize("name", KNOWN)
def test_every_figure_of_the_list_has_claims_with_pictures(name: str) -> None:
    """Each picture that a check draws has its caption in the text."""
    claims = claims_of_figure(name)
    assert [claim.id for claim in claims] == [claim.id for claim in KNOWN[name]]
    for claim in claims:
        check = subjects()[claim.id].check
        text = check.text.read_text(encoding="utf-8")
        if recorded_levels()[claim.id] == "undecidable" and not check.pictures:
            continue  # of what hopflow has no means to judge there is nothing to draw
        assert check.pictures, claim.id
        shared = re.search(r"\b[ef]\.picture\(", text)  # macros of texts
        for picture in check.pictures:
            assert f"### {picture}" in text or (shared and picture == "curves")


def test_a_figure_has_one_name_in_the_list() -> None:
    assert "malhotra2005/4" in KNOWN
    assert not [name for name in KNOWN if "/Fig" in name]


def test_the_list_reaches_every_claim() -> None:
    assert {claim.id for claims in KNOWN.values() for claim in claims} == set(ledger())


def test_a_range_of_figures_is_known_by_each_number() -> None:
    """zheng2002's Figs. 22-25, and malhotra2005's figures by model and by simulation."""
    assert [claim.id for claim in claims_of_figure("zheng2002/24")] == ["Z15"]
    assert {"M03", "M10"} <= {claim.id for claim in claims_of_figure("malhotra2005/4")}


def test_an_unknown_figure_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"figure = 'yang2001/99'.*known are .*Table 4"):
        claims_of_figure("yang2001/99")


def test_the_command_writes_the_pictures_of_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "cache_folder", lambda: tmp_path / "cache")
    done = CliRunner().invoke(app, ["figure", "yang2001/Table 1"])
    assert done.exit_code == 0, done.output
    assert "Y01" in done.output
    root = ET.fromstring((tmp_path / "report/figures/Y01-1.svg").read_text())
    assert root.tag.endswith("svg")


def test_the_command_lists_all_figures_without_a_name() -> None:
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["figure"])
    assert done.exit_code == 0
    assert "malhotra2005/4:" in done.output
