"""Bad input: a ValueError that names the parameter, the value and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import simulate, takano2006
from dfcmodel.law import bare_law


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"name": "7"}, ["name", "'7'", "'4S'"]),
        ({"name": "1", "tcp": "cubic"}, ["tcp", "'cubic'", "'newreno'"]),
        ({"name": "4R", "tcp": "tahoe"}, ["tcp", "'tahoe'", "4R", "reno"]),
        ({"name": "4N", "tcp": "reno"}, ["tcp", "'reno'", "newreno"]),
        ({"name": "1", "host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"name": "1", "host": "shaped", "dfc": False}, ["host", "'shaped'", "fifo"]),
    ],
)
def test_scenario_names(arguments, parts) -> None:
    with pytest.raises(ValueError, match=r"must|allowed|use|least") as error:
        takano2006(**arguments)
    for part in parts:
        assert part in str(error.value)


def test_tcp_that_the_name_says_anyway_is_fine() -> None:
    assert takano2006("4R", tcp="reno") == takano2006("4R")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"nodes": 1}, ["nodes", "1"]),
        ({"link_rate": 370e12}, ["link_rate", "mbps"]),
        ({"link_rate": float("nan")}, ["link_rate", "nan"]),
        ({"link_delay": 0.0}, ["link_delay", "0"]),
        ({"link_delay": 100.0}, ["link_delay", "ms"]),
        ({"buffer": 0.5}, ["buffer", "0.5"]),
        ({"discipline": "red"}, ["discipline", "'red'", "'fifo'"]),
        ({"diffusion": -0.1}, ["diffusion", "-0.1"]),
        ({"intensity": 0.5}, ["intensity", "0.5", ">= 1"]),
        ({"phases": "odd"}, ["phases", "'odd'"]),
        ({"duration": -1.0}, ["duration", "-1"]),
        ({"min_rto": 0.0}, ["min_rto"]),
        ({"flows": ()}, ["flows"]),
    ],
)
def test_scenario_fields(change, parts) -> None:
    with pytest.raises(ValueError, match=r"must|allowed|use|least") as error:
        replace(takano2006("1"), **change)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("change", "part"),
    [({"entry": 0}, "entry"), ({"exit": 1}, "exit"), ({"exit": 31}, "exit"),
     ({"max_window": 0.0}, "max_window"), ({"start": -1.0}, "start")],
)  # fmt: skip
def test_flow_fields(change, part) -> None:
    scenario = takano2006("1")
    with pytest.raises(ValueError, match=f"{part} of flow 'target'"):
        replace(scenario, flows=(replace(scenario.flows[0], **change),))


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
