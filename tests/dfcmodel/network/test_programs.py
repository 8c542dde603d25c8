"""What a switch program must be, and where it cannot be used."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    WeightedFair,
    simulate,
)


def test_what_a_program_must_be() -> None:
    with pytest.raises(
        TypeError, match="State of Short has the fields drop, must begin with drop, mark, rank"
    ):
        type("Short", (SwitchProgram,), {"State": NamedTuple("State", [("drop", float)])})
    with pytest.raises(
        TypeError, match=r"of_flow of Odd = \('virtual',\): must be the last fields of State"
    ):
        type("Odd", (WeightedFair,), {"of_flow": ("virtual",)})
    with pytest.raises(TypeError, match="overflow of First = 'first': must be 'arrival' or 'last'"):
        type("First", (SwitchProgram,), {"overflow": "first"})
    with pytest.raises(ValueError, match="weight_2 = 0"):
        WeightedFair(weight_2=0.0)


def test_the_fluid_refuses_a_program_and_names_the_packet_level() -> None:
    links = [Link("a", "b", 1e5, 1e-4, 100, ShortestRemaining())]
    scenario = Scenario("one", links, [Flow("one", ("a", "b"), CBR(1e3))], duration=0.01)
    with pytest.raises(ValueError, match=r"not ShortestRemaining; use method=Packets\(\)"):
        simulate(scenario, Fluid())


def test_a_pause_by_class_cannot_stop_a_class_of_a_program() -> None:
    links = [
        Link("a", "s", 1e5, 1e-6, 1000, WeightedFair()),
        Link("s", "b", 1e5, 1e-6, 1000, PFC((3,))),
    ]
    flows = [Flow(str(n), ("a", "s", "b"), CBR(1e4), priority=n, host="direct") for n in (0, 3)]
    with pytest.raises(ValueError, match="pauses class 3 alone, which WeightedFair cannot"):
        Scenario("classes", links, flows)
