"""D18 would keep its efficiency if packets said so."""

from __future__ import annotations

from validation.claims.takano2006 import unequal_delays
from validation.verdicts import Verdict


def test_equal_efficiencies_are_seen(doctor, judged) -> None:
    def same(frame) -> None:
        frame.loc[frame["flow"] == "target", "mean_efficiency"] = 0.5

    doctor(unequal_delays.UNEQUAL, same, "flows")
    assert judged("D18")["even"].packets is Verdict.HOLDS


def test_packet_level_falls_as_ns3_does() -> None:
    """With delays of their own in each run: within a third of what unequal delays cost."""
    seen = unequal_delays.measure().mean(unequal_delays.DIFFUSION)
    found, lost = unequal_delays.packet_level(3.0)
    assert lost == 0.0
    assert abs(found.mean() - seen[3]) < (seen[1] - seen[3]) / 3
