"""Receiver agents: what one must be, and where it cannot be used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from dfcmodel import (
    Credited,
    Flow,
    Fluid,
    Link,
    Packets,
    ReceivedPacket,
    ReceiverAgent,
    Scenario,
    simulate,
)
from responsefn import DCQCN, Reno
from tests.oracles.engines import ENGINES, NAMES

LINKS = [Link("a", "s", 1e6, 1e-5, 50), Link("s", "b", 1e6, 1e-5, 50)]


@dataclass(frozen=True)
class Plain(ReceiverAgent):
    """Acknowledges each packet."""

    field: str = "timer"
    value: float = math.inf

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0)


@dataclass(frozen=True)
class Late(Plain):
    """Answers what cannot be."""

    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, timer=e.time + 1e-6)

    @staticmethod
    def on_timer(s, q, e):
        return s._replace(timer=e.time)


@dataclass(frozen=True)
class Half(Plain):
    @staticmethod
    def on_packet(s, q, e):
        return s._replace(ack=1.0, credits=0.5 if e.number == 3.0 else 0.0)


def scenario(receiver: ReceiverAgent | None = None, source: object = None) -> Scenario:
    flow = Flow("one", ("a", "s", "b"), source or DCQCN(), size=10, receiver=receiver)  # type: ignore[arg-type]
    return Scenario("pull", LINKS, [flow], duration=0.01)


def test_what_an_agent_must_be() -> None:
    with pytest.raises(TypeError, match="State of Short has the fields ack, must begin with ack, "):
        type("Short", (ReceiverAgent,), {"State": NamedTuple("State", [("ack", float)])})
    with pytest.raises(TypeError, match=r"of_flow of Odd = \('slot',\): must be the last fields"):
        type("Odd", (ReceiverAgent,), {"of_flow": ("slot",)})
    for wrong in (0.0, 1.5, math.nan, -math.inf):
        with pytest.raises(ValueError, match="unsolicited = "):
            Plain(unsolicited=wrong)


def test_where_an_agent_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"receiver of flow 'one' = .*: must be None for Reno"):
        scenario(Plain(), Reno())
    with pytest.raises(
        ValueError, match=r"receiver of flow 'one' = None: must be a receiver agent"
    ):
        scenario(None, Credited())
    with pytest.raises(ValueError, match=r"must be a ReceiverAgent, or None; write Plain\(\)"):
        scenario(Plain)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"receiver of flow 'one' = Plain.*use method=Packets\(\)"):
        simulate(scenario(Plain()), Fluid())
    with pytest.raises(ValueError, match="recovery of flow 'one' = 'none': must be 'go-back-n'"):
        simulate(scenario(Plain()), Packets(recovery="none"))
    with pytest.raises(ValueError, match="no response function"):
        Credited().rate(0.01)


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Late(), r"pull, on_timer of the receiver of flow 'one': timer = .* s: must be after it"),
        (Half(), r"pull, on_packet of the receiver of flow 'one': credits = 0.5: must be a whole"),
    ],
    ids=["timer", "credits"],
)
def test_an_answer_that_cannot_be_ends_the_run(
    agent: ReceiverAgent, message: str, simulate: Any
) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(scenario(agent), Packets())


def test_what_an_agent_sees() -> None:
    fields = [
        "time",
        "flow",
        "number",
        "expected",
        "marked",
        "size",
        "delivered",
        "sent",
        "packet_time",
        "trimmed",
    ]
    assert list(ReceivedPacket._fields) == fields
