"""The step from the fluid to packets: commands of hopflow itself, their time, and their rows."""

from __future__ import annotations

from pathlib import Path

from validation import evidence
from validation.generate.packets import explained_claims
from validation.waterfalls import CASE


def test_commands_time_and_rows(tmp_path: Path) -> None:
    (case,) = explained_claims.CASES
    run = {"claim": "D18"}
    assert case.commands(run) == ["hopflow explain D18 --runs 8 --seed 0 --table table.csv"]
    assert (
        case.simulated_seconds(run) == 8 * (2 + 8) * 0.6
    )  # one refinement of the fluid, three of packets
    bundled = evidence.table(CASE).query("claim == 'D18'").drop(columns=["claim", "runs"])
    bundled.to_csv(tmp_path / "table.csv", index=False)
    rows = explained_claims.read(run, tmp_path, [])["waterfalls"]
    assert len(rows) == len(bundled)
    assert {(row["claim"], row["runs"]) for row in rows} == {("D18", 8)}
