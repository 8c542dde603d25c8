"""Scenarios written as TOML are read back as they were."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import responsefn
from dfcmodel import (
    AFD,
    CAKE,
    CBR,
    DFC,
    FIFO,
    INT,
    PFC,
    RED,
    ArrivalProcess,
    DeficitRoundRobin,
    Fair,
    Flow,
    FlowQueueCoDel,
    Link,
    OnOff,
    Pause,
    Priority,
    RampMarking,
    Scenario,
    ShortestRemaining,
    StepMarking,
    SwitchProgram,
    Trimming,
    WeightedFair,
    load_scenario,
    save_scenario,
    takano2006,
)
from responsefn import CUBIC, HSTCP, DeliveryRule, Reno, WindowRule, linux
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario


class Greek(WindowRule):
    """A rule of a user, with a parameter that is no bare key of TOML."""

    class State(NamedTuple):
        cwnd: float

    class Params(NamedTuple):
        α: float = 1.0

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.α / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=1.0)


NAMES = ["1", "2", "3", "4", "5", "6", "4S", "4L", "4R", "4N", "4V", "4V'"]


DISCIPLINES = [
    FIFO(),
    DFC(),
    DFC(diffusion=1 / 3, intensity=1.25, phases="synchronous"),
    Pause(),
    Pause(high=100, low=7.5, quanta=512, signalling=1e-6, paused_rate=2.0),
    RED(),
    RED(low=1 / 3, high=9, weight=1e-300, max_p=1, gentle=False, mean_packet=500, ecn=True),
    Fair(),
    Priority(),
    WeightedFair(1.0, 1 / 3),
    ShortestRemaining(),
    FlowQueueCoDel(target=1e-3),
    AFD(memory=400.0),
    CAKE(queues=64),
    DeficitRoundRobin(),
    INT(),
    Trimming(limit=12.0),
    PFC(acks="class", manager=RampMarking(at="arrival"), managed=0, xoff=9, xon=3),
    StepMarking(at="departure"),
]


RULES = [
    rule
    for module in (responsefn, linux)
    for rule in (getattr(module, name) for name in module.__all__)
    if isinstance(rule, type)
    if issubclass(rule, WindowRule)
]


SOURCES = [
    *(rule() for rule in RULES if rule not in (WindowRule, DeliveryRule)),
    CUBIC(C=0.1 + 0.2, friendly=0.0),
    HSTCP(table=1),
    CBR(1e5 / 3),
    OnOff(rate=2.0, on=1e-9, off=3, random=True),
]


def scenario(discipline=FIFO(), source=Reno(), **flow) -> Scenario:  # noqa: B008
    links = (Link("a", "b", 1e4 / 3, 1e-3, 1800, discipline), Link("b", 3, 1e3, 0.1, 20.5))
    return Scenario("two hops", links, (Flow("one", ("a", "b"), source, **flow),), packet_size=576)


@pytest.mark.parametrize("dfc", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_named_scenarios_come_back(name, dfc) -> None:
    one = takano2006(name, dfc=dfc)
    assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=repr)
def test_disciplines_come_back(discipline) -> None:
    one = scenario(discipline)
    assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("source", SOURCES, ids=repr)
def test_sources_come_back(source) -> None:
    one = scenario(source=source)
    assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
def test_hosts_and_all_other_fields_come_back(host, tmp_path) -> None:
    one = scenario(
        DFC(), host=host, max_window=2.5, start=1 / 7, size=123457.0, priority=-3
    )  # fmt: skip
    file = save_scenario(one, tmp_path / "new" / "one.toml")
    assert load_scenario(file) == one


@pytest.mark.parametrize(
    "nodes", [("a", "b"), (0, -7), ((0, 1), (0, 2)), ('"\\\n\t', "µ ü 網"), (1, "1")], ids=repr
)
def test_nodes_come_back(nodes) -> None:
    flow = Flow('a "flow"', nodes, Reno())
    one = Scenario("x", (Link(*nodes, 1.0, 1.0, 1, shared=False),), (flow,))
    again = read_scenario(write_scenario(one))
    assert again == one
    assert list(map(type, again.nodes)) == list(map(type, nodes))


def test_keys_that_are_no_bare_keys_are_quoted() -> None:
    one = scenario(source=Greek(α=0.25))
    assert read_scenario(write_scenario(one), (Greek,)) == one


def test_nodes_that_no_file_holds() -> None:
    nodes = (frozenset({1}), "b")
    one = Scenario("x", (Link(*nodes, 1.0, 1.0, 1),), (Flow("f", nodes, Reno()),))
    with pytest.raises(ValueError, match=r"frozenset.*must be"):
        write_scenario(one)


class Own(SwitchProgram):
    @staticmethod
    def on_enqueue(s, q, e):
        return s


class OwnRED(RED):
    pass


class OwnSource(ArrivalProcess):
    @staticmethod
    def next(s, q, e):
        return s


@pytest.mark.parametrize("given", [Own(), OwnRED(), Fair(manager=OwnRED())], ids=repr)
def test_disciplines_of_ones_own_are_refused(given) -> None:
    with pytest.raises(ValueError, match=r"discipline = .*Own.*must be of a class of dfcmodel"):
        write_scenario(scenario(given))


def test_arrival_processes_of_ones_own_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"source or arrivals = .*OwnSource.*must be of a class of dfcmodel"
    ):
        write_scenario(scenario(source=OwnSource()))
