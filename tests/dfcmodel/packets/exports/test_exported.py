"""Exports to other simulators write an option, or refuse it by its name: none is left out without a word."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dfcmodel import Flow, Packets, Pause, Scenario, chain, to_ns2, to_ns3
from responsefn import NewReno

OPTIONS: dict[str, Any] = {
    "max_window": 20.0, "start": 0.5, "size": 40.0, "host": "shaped", "priority": 1, "delayed_acks": True, "pacing": True,
    "idle": 1.0, "random_idle": True, "stop": 1.0, "handshake": True, "weight": 2, "after": ("a",), "delays": (1.0,),
    "initial_window": 10.0, "ssthresh": 12.0, "quick_acks": 3, "stack": "linux-6.12", "ttl": 9, "segments": True,
}  # fmt: skip
WITH = {
    "random_idle": {"idle": 1.0, "size": 40.0},
    "idle": {"size": 40.0},
    "weight": {"host": "nic"},
    "delays": {"after": ("a",)},
    "quick_acks": {"delayed_acks": True},
    "stack": {"delayed_acks": False},
}
"""What an option needs beside it."""
NOT_HERE = {"name", "path", "source", "receiver", "arrivals", "paths"}
WITHOUT_EFFECT = {
    *((name, simulator) for name in ("host", "priority") for simulator in ("ns-2", "ns-3")),
    ("handshake", "ns-3"),
}
"""Classes matter to other disciplines than FIFO, hosts to flow control; connections of ns-3 always begin with a SYN."""
EXPORTS = {"ns-2": (to_ns2, "ns2"), "ns-3": (to_ns3, "standard")}


def scenario(**given: Any) -> Scenario:
    links = chain(3, rate=1e3, delay=1e-3, buffer=20)
    flows = [Flow(name, (1, 2, 3), NewReno(), size=9) for name in "ab"]
    flows[1] = dataclasses.replace(flows[1], **given)
    return Scenario("two", links, flows, duration=2.0)


def test_every_option_is_tried() -> None:
    assert {field.name for field in dataclasses.fields(Flow)} == NOT_HERE | OPTIONS.keys()


@pytest.mark.parametrize("simulator", EXPORTS)
@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_written_or_refused(name: str, simulator: str) -> None:
    export, convention = EXPORTS[simulator]
    method = Packets(seed=1, convention=convention, recovery="newreno")
    given = WITH.get(name, {})
    options = {**given, name: OPTIONS[name]}
    error = ""
    try:
        text = export(scenario(**options), method=method)
    except ValueError as refused:
        error = str(refused)
    if error:
        assert any(f"{each} of flow 'b'" in error for each in {name, *given})
        assert "convention=" not in error  # the export has one alone
        return
    plain = {key: value for key, value in given.items() if key != name}
    assert (text == export(scenario(**plain), method=method)) == ((name, simulator) in WITHOUT_EFFECT)


@pytest.mark.parametrize("simulator", EXPORTS)
@pytest.mark.parametrize(
    "given",
    [
        {"failures": {"1->2": (0.5, 1.0)}},
        {"frame_errors": {"1->2": 0.01}},
        {"loss": {"1->2": 0.01}},
        {"ack_transmission": False},
        {"reroute_delay": 1e-3},
    ],
    ids=lambda given: next(iter(given)),
)
def test_an_option_of_the_method_is_refused(given: dict[str, Any], simulator: str) -> None:
    export, convention = EXPORTS[simulator]
    with pytest.raises(ValueError, match=next(iter(given))):
        export(scenario(), method=Packets(seed=1, convention=convention, recovery="newreno", **given))


@pytest.mark.parametrize("export", [to_ns2, to_ns3])
def test_a_network_interface_is_refused_by_the_name_of_its_flow(export: Any) -> None:
    with pytest.raises(ValueError, match=r"^host of flow 'b' = 'nic': its network interface"):
        export(scenario(host="nic"))


@pytest.mark.parametrize("export", [to_ns2, to_ns3])
def test_a_pause_that_gives_hosts_interfaces_is_what_is_named(export: Any) -> None:
    paused = scenario()
    links = [dataclasses.replace(link, discipline=Pause(high=10, low=5)) for link in paused.links]
    with pytest.raises(ValueError, match=r"^discipline of link 1->2 = Pause\(high=10"):
        export(dataclasses.replace(paused, links=links))
