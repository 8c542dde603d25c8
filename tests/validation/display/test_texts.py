"""The texts of claims: placeholders, typed digits, sections."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import jinja2
import numpy as np
import pytest

from validation import Finding, Verdict, ledger
from validation.checks import Subject, subjects
from validation.display import texts
from validation.judgements.verdicts import Sides
from validation.records import OWN, entries, headline_of, recorded_verdicts
from validation.statistics import Estimate

CLAIMS = Path(texts.__file__).parents[1] / "claims"
ledger()  # loads the claims


@pytest.mark.parametrize(
    "path", sorted(CLAIMS.rglob("*.md")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_digit_is_typed_into_a_text(path: Path) -> None:
    """Numbers come from what was measured or from a constant, but for names such as ns-2."""
    assert texts.typed_digits(path.read_text()) == []


@pytest.mark.parametrize("subject", subjects().values(), ids=lambda subject: subject.id)
def test_placeholders_name_what_is_measured(subject: Subject) -> None:
    assert texts.placeholders(subject.check.text) <= subject.check.names()


@pytest.mark.parametrize(
    "planted",
    [
        "the target gets 0.25 of it",
        "a loss of 12 packets in scenario 4",
        "up to 370 Mb/s",
        "a tenth (10 %)",
        "`0.25`",
        "Fig. 6 shows 0.5",
        "ns-2 has 3",
    ],
)
def test_a_planted_digit_is_found(planted: str) -> None:
    assert len(texts.typed_digits(planted)) == 1


@pytest.mark.parametrize(
    "allowed",
    [
        "ns-2 and ns-3, IEEE 802.3x, RFC 5348",
        "eq. (9), eqs. (6)-(8), Sect. 3.2, Fig. 13",
        "scenario 4V' of takano2006, D04 and M10",
        "rules 6 and 8, node 15, queue 2, T1, lambda1, lambda_effec,2, r_0",
        "N = 2 and N > 3, TCP(1,1/2), p -> 0",
        "the limit is `D(1-D)/(1+D)^3`",
        "{{ value | num('.2f') }} of {% if x > 1 %}one{% endif %}",
        "  - paper: 14 to 16\n    packets",
    ],
)
def test_names_and_formulas_may_have_digits(allowed: str) -> None:
    assert texts.typed_digits(allowed) == []


def write(folder: Path, text: str) -> Path:
    path = folder / "text.md"
    path.write_text(text)
    return path


HEAD = "## Statements\n\n- `a` first\n\n## Summary\n\n"


def test_sections_become_fields(tmp_path: Path) -> None:
    text = HEAD + (
        "Found {{ x | num('.1f') }}\nin two lines.\n\n## Why\n\nOne.\n\nTwo.\n\n## Numbers\n\n"
        "- a quantity\n  over two lines\n  - model: {{ x | num }}\n  - tolerance: none: exact\n"
        "- another\n\n## Pictures\n\n### draw\n\nCaption.\n\n> what is seen\n"
    )
    found = texts.render(write(tmp_path, text), {"x": 0.25})
    assert found.statements == {"a": "first"}
    assert found.summary == "Found 0.2 in two lines."
    assert found.explanation == "One.\n\nTwo."
    first, second = found.numbers
    assert (first.quantity, first.model, first.tolerance) == (
        "a quantity over two lines",
        "0.25",
        "none: exact",
    )
    assert second.quantity == "another"
    assert found.pictures == {"draw": ("Caption.", "what is seen")}


def test_an_unknown_placeholder_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + "{{ unknown }}")
    assert texts.placeholders(path) == {"unknown"}
    with pytest.raises(jinja2.UndefinedError, match="unknown"):
        texts.render(path, {"known": 1})
    with pytest.raises(jinja2.UndefinedError, match="unknown"):
        texts.render(write(tmp_path, HEAD + "{{ known.unknown }}"), {"known": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## Summary\n\nfound\n", "sections are Summary"),
        (HEAD + "found\n\n## Reasons\n", "sections are Statements, Summary, Reasons"),
        ("## Statements\n\n- no key\n\n## Summary\n\nfound\n", "'no key' has no key"),
        (HEAD + "x\n\n## Numbers\n\n- a\n  - chain: b\n", "'chain' is none of model"),
    ],
)
def test_other_sections_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        texts.render(write(tmp_path, text), {})


def test_numbers_as_text() -> None:
    assert texts.written(np.array([1.0, 2.5])) == "1, 2.5"
    assert texts.written({"a": 0.5, "b": 1.0}, ".2f") == "0.50, 1.00"
    assert texts.written([Estimate(13.1, 0.2, 39)], ".1f") == "13.10 ± 0.40"
    assert texts.written(1e-5) == "1e-5"
    assert texts.written(1e7) == "1e7"
    assert texts.written(7) == "7"


def test_plain_text_has_no_marks() -> None:
    assert texts.plain("from `a = 1/5` on, *not* before") == "from a = 1/5 on, not before"
    assert texts.plain("2 * 3 * 4 packets") == "2 * 3 * 4 packets"


@pytest.mark.parametrize(
    "path", sorted(CLAIMS.rglob("*.md")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_word_is_glued_to_a_list(path: Path) -> None:
    """Jinja drops the line break after a tag: what follows an inline loop stands on its line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for line, after in itertools.pairwise(lines):
        inline = re.sub(r"\{%.*?%\}", "", line).strip()
        if line.rstrip().endswith("%}") and inline:
            assert not re.match(r"[\w(`]|\{\{", after), line


@pytest.mark.parametrize("id", [id for id, entry in entries().items() if entry.paper != OWN])
def test_where_model_packets_and_paper_differ_the_cause_is_switched_off(id: str) -> None:
    """By the recorded verdicts; that the rows are there when measured, `validation.test_validation` tests."""
    sides = set(recorded_verdicts()[id]) - {Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE}
    if sides - {Verdict.HOLDS}:
        assert "## Experiments" in subjects()[id].check.text.read_text()


def test_more_than_twenty_claims_of_the_papers_have_an_experiment() -> None:
    papers = [id for id, entry in entries().items() if entry.paper != OWN]
    texts = {id: subjects()[id].check.text.read_text() for id in papers}
    assert sum("## Experiments" in text for text in texts.values()) >= 20


@pytest.mark.parametrize("id", list(recorded_verdicts()))
def test_a_headline_tells_of_packets_that_do_not_bear_out_the_model(id: str) -> None:
    """The first sentence stands alone in the terminal and above the page."""
    model, packets = recorded_verdicts()[id]
    if model is Verdict.HOLDS and packets in (Verdict.CONTRADICTED, Verdict.INCONCLUSIVE):
        text = subjects()[id].check.text.read_text()
        summary = text.split("## Summary\n\n")[1].split("\n\n")[0]
        for said in (Finding((), summary).headline, headline_of(id, Sides(model, packets))):
            assert re.search(r"ns-[23]|packets", said), said
