"""The recorded weights are those that the bundled runs give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from validation import cases
from validation.inference.recording import (
    CASES,
    CIRCULAR,
    PAPERS,
    differences,
    infer_paper,
    recorded,
    recorded_parameters,
    sentence,
)
from validation.inference.results import Weight
from validation.report.pages import paper_page

QUICK = "zheng2002"
SLOW = [pytest.param(paper, marks=pytest.mark.slow) for paper in PAPERS if paper != QUICK]


@pytest.mark.parametrize("paper", [QUICK, *SLOW])
def test_recorded_weights_are_found_again(paper: str) -> None:
    found = infer_paper(paper)
    assert differences(found) == []
    changed = replace(found.claims[0], every=1.0 - round(found.claims[0].every))
    assert differences(replace(found, claims=(changed,))) == [changed.claim]
    new = Weight("X01", {"all": 1.0}, 1.0, 1.0)
    assert differences(replace(found, claims=(new,))) == ["X01"]


def test_a_claim_has_one_sentence() -> None:
    assert sentence("M01") == ""
    said = sentence("Z06")
    assert said.startswith("the claim holds in ")
    assert "of the settings compatible with them" in said
    assert set(recorded()["Z06"].statements) == {"share", "smooth"}


def test_claims_on_the_numbers_used_say_so() -> None:
    """K03 is about the shares that the settings are inferred from; zheng2002 leaves a claim's own numbers out."""
    assert "not independent" in sentence("K03")
    assert "another slide" in sentence("K06")
    assert "not independent" not in sentence("Z06")
    assert set(CIRCULAR) <= set(recorded())


def test_every_paper_names_its_runs() -> None:
    names = {case for own in CASES.values() for case in own}
    assert set(CASES) == set(PAPERS)
    assert names <= set(cases())


def test_pages_of_papers_have_the_parameters_and_others_no_section() -> None:
    parameters = recorded_parameters("kaneko2007")
    assert len(parameters) == 19
    page = paper_page("kaneko2007", [])
    assert all(each.after in page for each in parameters)
    assert "Unstated parameters" not in paper_page("takano2006", [])


def test_unknown_papers_are_refused() -> None:
    with pytest.raises(ValueError, match="paper = 'takano2006': "):
        infer_paper("takano2006")
