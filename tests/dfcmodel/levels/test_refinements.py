"""Refinements: what is refused, what applies to a scenario, and what they change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import CBR, Fluid, Packets, Refinement, default_refinements, takano2006
from dfcmodel.levels.refinements import packet_time, with_refinements


def test_a_field_that_a_level_does_not_have_is_refused(refused) -> None:
    refused(["timeout", "'timers'"], lambda: Refinement("timers", "fluid", off={"timeout": False}))
    refused(["level", "'hybrid'"], lambda: Refinement("timers", "hybrid", off={"timeouts": False}))
    refused(["off", "on"], lambda: Refinement("nothing", "fluid"))


def test_every_default_changes_the_method_only_where_it_is_off(bottleneck) -> None:
    """With all refinements the levels are `Fluid` and `Packets` as they are."""
    given = default_refinements(bottleneck)
    for level, method in (("fluid", Fluid()), ("packets", Packets())):
        own = [each for each in given if each.level == level]
        assert with_refinements(method, own, 2 ** len(own) - 1)["method"] == method
        assert with_refinements(method, own, 0)["method"] != method


def test_bits_choose_refinements() -> None:
    given = [
        Refinement("steps", "fluid", on={"steps_per_delay": 9}),
        Refinement("timers", "fluid", off={"timeouts": False}),
        Refinement("waits", "fluid", on={"packet_jitter": 1e-3}),
    ]
    assert with_refinements(Fluid(), given, 0b000) == {"method": Fluid(timeouts=False)}
    assert with_refinements(Fluid(), given, 0b001)["method"] == Fluid(9, timeouts=False)
    assert with_refinements(Fluid(), given, 0b110) == {"method": Fluid(), "packet_jitter": 1e-3}


@pytest.mark.parametrize(
    ("tcp", "names"), [("newreno", {"recovery", "timeouts"}), (None, {"recovery", "timeouts"})]
)
def test_window_rules_have_recovery_and_timeouts(tcp, names) -> None:
    found = default_refinements(takano2006("1", dfc=False, tcp=tcp))
    assert names <= {each.name for each in found}


def test_constant_rates_have_transmission_times_alone(bottleneck) -> None:
    flows = tuple(replace(flow, source=CBR(500.0)) for flow in bottleneck.flows)
    found = default_refinements(replace(bottleneck, flows=flows))
    assert [each.name for each in found] == ["transmission times"]


def test_whole_counts_are_a_refinement_where_a_law_reads_them() -> None:
    (found,) = (
        each for each in default_refinements(takano2006("1")) if each.name == "whole counts"
    )
    assert found.off == {"count_smoothing": packet_time(takano2006("1"))}
    names = {each.name for each in default_refinements(takano2006("1", dfc=False))}
    assert "whole counts" not in names


def test_a_packet_takes_longest_on_the_slowest_link(bottleneck) -> None:
    assert packet_time(bottleneck) == 1.0 / 2e3
