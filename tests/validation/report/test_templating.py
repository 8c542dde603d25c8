"""Templates that are filled in: escaped, with the filters of the report."""

from __future__ import annotations

import jinja2
import pytest

from validation.records import entries
from validation.report.templating import PAPERS, TEMPLATES, filled, written_out


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
