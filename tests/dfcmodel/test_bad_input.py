"""Bad input: a ValueError that names the parameter, the value and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    RED,
    Flow,
    Link,
    OnOff,
    Pause,
    Scenario,
    from_networkx,
    simulate,
    takano2006,
)
from dfcmodel.theory.law import bare_law


def refused(parts, make) -> None:
    """Check that ``make`` is refused by a message that names all parts and says what is allowed."""
    with pytest.raises(ValueError, match=r"must|allowed|use|needed") as error:
        make()
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"name": "7"}, ["name", "'7'", "'4S'"]),
        ({"name": "1", "tcp": "cubic"}, ["tcp", "'cubic'", "'newreno'"]),
        ({"name": "4V'", "tcp": "reno"}, ["tcp", "'reno'", "4V'", "vegas"]),
        ({"name": "4R", "tcp": "tahoe"}, ["tcp", "'tahoe'", "4R", "reno"]),
        ({"name": "4N", "tcp": "reno"}, ["tcp", "'reno'", "newreno"]),
        ({"name": "1", "host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"name": "1", "host": "shaped", "dfc": False}, ["host", "'shaped'", "FIFO"]),
    ],
)
def test_scenario_names(arguments, parts) -> None:
    refused(parts, lambda: takano2006(**arguments))


def test_tcp_that_the_name_says_anyway_is_fine() -> None:
    assert takano2006("4R", tcp="reno") == takano2006("4R")


LINK = {"source": "a", "target": "b", "rate": 1e4, "delay": 1e-3, "buffer": 100}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"target": "a"}, ["target", "a->a"]),
        ({"rate": 370e12}, ["rate", "a->b", "mbps"]),
        ({"rate": float("nan")}, ["rate", "nan"]),
        ({"rate": -1.0}, ["rate", "-1"]),
        ({"delay": 0.0}, ["delay", "0"]),
        ({"delay": 100.0}, ["delay", "ms"]),
        ({"buffer": 0.5}, ["buffer", "0.5"]),
        ({"buffer": float("inf")}, ["buffer", "inf", "<= 1e+09"]),
        ({"discipline": "red"}, ["discipline", "'red'", "FIFO"]),
        ({"discipline": Pause()}, ["high", "a->b", "= 900", "< 100", "high = 50", "low = 25"]),
        ({"discipline": Pause(high=100, low=9)}, ["high", "a->b", "= 100", "< 100", "FIFO"]),
        ({"discipline": Pause(high=9, low=9), "buffer": 2}, ["high", "= 9", "< 2", "high = 1"]),
    ],
)
def test_link_fields(change, parts) -> None:
    refused(parts, lambda: Link(**{**LINK, **change}))


@pytest.mark.parametrize(
    ("count", "shared", "room"),
    [(1, True, 20.0), (2, True, 20.0), (1, False, 20.0), (2, False, 40.0)],
)
def test_a_pause_must_be_able_to_come(count, shared, room) -> None:
    """What fits into a buffer, or into those of all flows, is never above `high`, or just above it."""
    flows = [Flow(str(n), "abc", CBR(2e3 / count), host="unshaped") for n in range(count)]

    def network(high):
        last = Link("b", "c", 1e3, 1e-3, 20, Pause(high=high, low=9), shared)
        return Scenario("x", (Link("a", "b", 2e3, 1e-3, 1e3), last), flows, duration=0.1)

    refused(["high", "b->c", f"< {room:g}"], lambda: network(room))
    waits = simulate(network(room - 0.001)).occupancy.max("time")
    assert waits[1] == room
    assert waits[0] > 1  # it comes at link a's own rate, and waits there only while that is paused


def test_a_pause_on_a_link_that_no_flow_takes() -> None:
    one = takano2006("1")
    unused = Link("off", 1, 1e3, 1e-3, 20, Pause(), shared=False)
    assert replace(one, links=(*one.links, unused)).links[-1] == unused


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: DFC(diffusion=-0.1), ["diffusion", "-0.1"]),
        (lambda: DFC(diffusion=0.0), ["diffusion", "0"]),
        (lambda: DFC(intensity=0.5), ["intensity", "0.5", ">= 1"]),
        (lambda: DFC(phases="odd"), ["phases", "'odd'"]),
        (lambda: Pause(high=10, low=20), ["low", "20", "<= 10"]),
        (lambda: FIFO(burst=8.0), ["burst", "8", "<= 1", "ms(0.1)"]),
        (lambda: Pause(quanta=70_000), ["quanta", "70000"]),
        (lambda: RED(low=5, high=5), ["high", "5", "low < high"]),
        (lambda: RED(max_p=2.0), ["max_p", "2"]),
        (lambda: CBR(0.0), ["rate", "0"]),
        (lambda: OnOff(1.0, on=0.0, off=1.0), ["on", "0"]),
    ],
)
def test_disciplines_and_sources(make, parts) -> None:
    refused(parts, make)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"duration": -1.0}, ["duration", "-1"]),
        ({"min_rto": 0.0}, ["min_rto"]),
        ({"packet_size": 0.0}, ["packet_size"]),
        ({"flows": ()}, ["flows"]),
        ({"links": ()}, ["links"]),
    ],
)
def test_scenario_fields(change, parts) -> None:
    refused(parts, lambda: replace(takano2006("1"), **change))


def test_names_are_there_once() -> None:
    scenario = takano2006("1")
    refused(["links", "'1->2'"], lambda: replace(scenario, links=scenario.links * 2))
    refused(["flows", "'target'"], lambda: replace(scenario, flows=scenario.flows[:1] * 2))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"path": (1,)}, ["path", "two nodes"]),
        ({"path": (1, 2, 1)}, ["path", "twice"]),
        ({"path": (1, 3)}, ["path", "1->3", "1->2"]),
        ({"path": (29, 30, 31)}, ["path", "30->31"]),
        ({"max_window": 0.0}, ["max_window", "0"]),
        ({"max_window": 1e12}, ["max_window", "memory"]),
        ({"start": -1.0}, ["start", "-1"]),
        ({"size": 0.0}, ["size", "0"]),
        ({"source": "reno"}, ["source", "'reno'", "Reno()"]),
        ({"host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"priority": 0.5}, ["priority", "0.5"]),
    ],
)
def test_flow_fields(change, parts) -> None:
    scenario = takano2006("1")
    first = scenario.flows[0]
    refused(
        [*parts, "of flow 'target'"],
        lambda: replace(scenario, flows=(replace(first, **change),)),
    )


def test_links_of_a_graph() -> None:
    graph = nx.DiGraph([("a", "b")])
    refused(["buffer", "a->b"], lambda: from_networkx(graph, rate=1.0, delay=1.0))
    refused(["speed", "rate"], lambda: from_networkx(graph, speed=1.0))


@pytest.mark.parametrize(
    ("arguments", "part"),
    [({"duration": 0.0}, "duration"), ({"steps_per_delay": 0}, "steps_per_delay"),
     ({"steps_per_delay": 2.5}, "steps_per_delay"), ({"sample": 1e-9}, "sample"),
     ({"jitter": -1e-6}, "jitter"), ({"backend": "fortran"}, "backend")],
)  # fmt: skip
def test_simulate(arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        simulate(takano2006("1"), **arguments)


def test_beyond_the_stability_limit() -> None:
    """(2 - alpha) / (alpha (5 alpha - 4)): 1 for alpha = 1."""
    beyond = with_law(DFC(diffusion=1.01))
    with pytest.warns(UserWarning, match=r"diffusion of link 1->2 = 1\.01: beyond 1, its stab"):
        simulate(beyond, duration=0.01)
    simulate(with_law(DFC(diffusion=1.0)), duration=0.01)


def with_law(law: DFC) -> Scenario:
    base = takano2006("1")
    return replace(base, links=[replace(link, discipline=law) for link in base.links])


def test_bare_law() -> None:
    with pytest.raises(ValueError, match="diffusion"):
        bare_law([1.0, 2.0], 0.0, 3)
    with pytest.raises(ValueError, match="packets = nan"):
        bare_law([float("nan")], 0.1, 3)
    with pytest.raises(ValueError, match="periods"):
        bare_law([1.0], 0.1, -1)
