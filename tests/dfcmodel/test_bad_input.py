"""Bad input: a ValueError that names the parameter, the value and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from dfcmodel import CBR, DFC, RED, Link, OnOff, Pause, from_networkx, simulate, takano2006
from dfcmodel.law import bare_law


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
        ({"discipline": "red"}, ["discipline", "'red'", "FIFO"]),
    ],
)
def test_link_fields(change, parts) -> None:
    refused(parts, lambda: Link(**{**LINK, **change}))


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: DFC(diffusion=-0.1), ["diffusion", "-0.1"]),
        (lambda: DFC(diffusion=0.0), ["diffusion", "0"]),
        (lambda: DFC(intensity=0.5), ["intensity", "0.5", ">= 1"]),
        (lambda: DFC(phases="odd"), ["phases", "'odd'"]),
        (lambda: Pause(high=10, low=20), ["low", "20", "<= 10"]),
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


def test_bare_law() -> None:
    with pytest.raises(ValueError, match="diffusion"):
        bare_law([1.0, 2.0], 0.0, 3)
    with pytest.raises(ValueError, match="packets = nan"):
        bare_law([float("nan")], 0.1, 3)
    with pytest.raises(ValueError, match="periods"):
        bare_law([1.0], 0.1, -1)
