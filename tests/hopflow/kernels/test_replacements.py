"""What the build replaces in Numba: a wrong replacement is noticed, or it can cost nothing but time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.surface import ROOT, printed_by

TIME_ALONE = {"PostProcessor.run", "itanium_mangler.mangle_args"}
"""Without these the code computes the same: no version of them that compiles was found to change it."""


@pytest.fixture(scope="module")
def results() -> Any:
    """What `planted_replacements` prints."""
    environment = {"PYTHONPATH": str(ROOT)}
    script = Path(__file__).with_name("planted_replacements.py")
    return json.loads(printed_by(script, env=environment, cwd=ROOT).splitlines()[-1])


def test_the_code_of_the_build_computes_what_python_does(results: Any) -> None:
    assert results["effects"][""] == ""


def test_each_wrong_replacement_is_noticed(results: Any) -> None:
    assert [name for name in results["planted"] if not results["effects"][name]] == []


def test_each_replacement_is_planted_wrong_or_costs_time_alone(results: Any) -> None:
    assert set(results["effects"]) - {""} == {*results["planted"], *TIME_ALONE}
    assert {name: results["effects"][name] for name in TIME_ALONE} == dict.fromkeys(TIME_ALONE, "")


def test_the_page_on_compilation_has_a_row_for_each_replacement(results: Any) -> None:
    page = (ROOT / "docs" / "compilation.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "." in line.split("`")[1]}
    assert set(results["effects"]) - {""} <= rows
