"""How a bundled case was made, as the page of the data says."""

from __future__ import annotations

from validation.evidence import provenance
from validation.report.data_records import record_of


def test_a_record_has_simulator_command_and_files() -> None:
    case = "kaneko2007/pairs-ns2"
    about, known = record_of(case), provenance(case)
    assert about["title"] == known["title"]
    assert about["rows"]["Simulator"].startswith("ns-2 ")
    assert about["rows"]["First command"] == known["command"]
    assert all(file in about["rows"]["Files"] for file in known["files"])
    assert f"{known['runs']} runs" in about["rows"]["Runs and seeds"]
