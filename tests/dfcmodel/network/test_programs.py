"""What a switch program must be, and where it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CAKE,
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    Trimming,
    WeightedFair,
    simulate,
)
from dfcmodel.network.programs import flow_hash


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
    with pytest.raises(TypeError, match="= 'last': must be 'arrival' or 'longest' with queues"):
        type("Last", (SwitchProgram,), {"overflow": "last", "queues": 2})
    with pytest.raises(TypeError, match=r"of_queue of Few = \('sent',\): must be the last fields"):
        type("Few", (Trimming,), {"of_queue": ("sent",), "of_flow": ("sent",)})
    with pytest.raises(TypeError, match=r"of_queue of Reset = \('skip', .*without skip and trim"):
        type("Reset", (Trimming,), {"of_queue": ("skip", "data", "sent")})
    with pytest.raises(TypeError, match="queues of None = 0: of_queue and skip need queues"):
        type("None", (Trimming,), {"queues": 0})
    with pytest.raises(ValueError, match=r"queues of Half = 1\.5: must be a whole number from 0"):
        type("Half", (Trimming,), {"queues": 1.5})
    with pytest.raises(ValueError, match="queues of CAKE = 0: must be a whole number from 1 to"):
        CAKE(queues=0)
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


def test_a_number_of_queues_that_cannot_be_is_refused_before_the_run() -> None:
    """Also where a program of one's own does not check it."""

    @dataclass(frozen=True)
    class Hashed(SwitchProgram):
        queues: int = 4

        @staticmethod
        def on_enqueue(s: Any, q: Any, e: Any) -> Any:
            return s

    links = [Link("a", "b", 1e5, 1e-4, 100, Hashed(queues=65537))]
    scenario = Scenario("one", links, [Flow("one", ("a", "b"), CBR(1e3))], duration=0.01)
    with pytest.raises(ValueError, match="queues of Hashed = 65537: must be a whole number from 1"):
        simulate(scenario, Packets())


def test_a_hash_is_even_and_of_a_flow_and_its_acks_alone() -> None:
    found = flow_hash(np.full(4000, 5), np.repeat(np.arange(2000), 2), np.arange(4000) % 2 == 1)
    assert len(np.unique(found)) == 4000
    # of 4000 even numbers a tenth has 400 with a standard deviation of 19: five of them
    counts = np.histogram(found, 10, (0.0, 1.0))[0]
    assert np.abs(counts - 400).max() < 5 * 19
    assert flow_hash(np.array([5]), np.array([3]), np.array([True])) == found[7:8]
