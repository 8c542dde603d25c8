"""The runs of hosts with a link of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.takano2006.own_links import CASES


@pytest.mark.slow  # starts a process
def test_a_run_is_read_into_both_tables(tmp_path: Path) -> None:
    """The shortest run, with DFC: by the command that the provenance names."""
    (case,) = CASES
    run = next(each for each in case.runs if each["dfc"])
    found = case.execute(run, tmp_path)
    assert len(found["efficiency"]) == 2 * 50
    assert [row["flow"] for row in found["flows"]] == ["target", "background"]
    assert {row["dropped"] for row in found["flows"]} == {0}
    assert all(set(row) == set(case.tables[name].columns) for name in found for row in found[name])
