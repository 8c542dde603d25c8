"""Readings of the hosts, and the simulators that ran what a statement compares."""

from __future__ import annotations

from validation.claims.takano2006.hosts import BOTH, NS3, OWN_LINK, READINGS, Hosts, by_simulator
from validation.verdicts import Sides, Verdict, model_only

H = Verdict.HOLDS


def test_hosts_with_a_link_of_their_own_are_those_of_ns3() -> None:
    judged = {"": {"low": Sides(H, H)}, OWN_LINK: {"low": Sides(H, H)}}
    found = by_simulator(judged, {"low": BOTH})
    assert found[""] == {"low": {"ns-2": H, "ns-3": H}}
    assert found[OWN_LINK] == {"low": {"ns-3": H}}


def test_a_statement_without_packets_has_no_simulator() -> None:
    assert by_simulator({"": {"settles": model_only(H)}}, {"settles": NS3}) == {"": {}}


def test_the_default_is_shaped_with_dfc_and_direct_without() -> None:
    assert (Hosts().with_dfc, Hosts().without) == ("shaped", "direct")
    assert Hosts() not in READINGS.values()
    assert [bool(hosts.clocks) for hosts in READINGS.values()].count(True) == 1
