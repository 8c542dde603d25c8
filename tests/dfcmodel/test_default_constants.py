"""Default constants against the numbers of their sources: disciplines, flows, TCP of both levels, frames."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import math
from pathlib import Path
from typing import Any

import pytest

import dfcmodel
from dfcmodel import FIFO, takano2006
from dfcmodel.network.disciplines import Discipline
from hopflow import mbps

TABLE = Path(__file__).with_name("default_constants.csv")
OTHERS = ("Link", "Flow", "Scenario", "OnOff", "Packets", "Fluid")
"""Classes with defaults that are not disciplines."""
NUMERICAL = {
    "Fluid.steps_per_delay", "Fluid.backend", "Fluid.whole_losses", "Fluid.whole_packets", "Fluid.accuracy",
    "Fluid.most_steps_per_delay", "Fluid.recovery", "Fluid.contracted", "Packets.phases", "Packets.loss",
    "Packets.backend",
}  # fmt: skip
"""How a level computes, and what it is asked for; no paper has them."""


def rows() -> list[dict[str, str]]:
    """Return the rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def value_of(text: str) -> Any:
    """Return the value of an expression of the table, such as ``80/256``."""
    names = {"__builtins__": {}, "inf": math.inf, "FIFO": FIFO}
    return eval(text, names)


def defaults() -> dict[str, Any]:
    """Return the defaults of all disciplines, of links, flows, scenarios and levels, by name."""
    found: dict[str, Any] = {}
    for name in dfcmodel.__all__:
        kind = getattr(dfcmodel, name)
        if name not in OTHERS and not (inspect.isclass(kind) and issubclass(kind, Discipline)):
            continue
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING:
                found[f"{name}.{field.name}"] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                found[f"{name}.{field.name}"] = field.default_factory()
    return {name: value for name, value in found.items() if name not in NUMERICAL}


def test_every_default_has_a_row_and_every_row_a_source() -> None:
    listed = [row["name"] for row in rows()]
    assert len(set(listed)) == len(listed)
    assert set(defaults()) == {name for name in listed if ":" not in name}
    assert all(len(row["source"]) >= 8 for row in rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["name"])
def test_a_default_is_that_of_its_source(row: dict[str, str]) -> None:
    name = row["name"]
    if ":" in name:
        module, constant = name.split(":")
        value = getattr(importlib.import_module(module), constant)
    else:
        value = defaults()[name]
    expected = value_of(row["value"])
    if isinstance(expected, float):
        assert value == pytest.approx(expected, rel=1e-15)  # quotients of integers: rounded once
    else:
        assert value == expected


TABLE_1 = {"1": 370, "2": 1230, "3": 3700, "4": 12300, "5": 37000, "6": 123000}
"""takano2006, Table 1: link bandwidth in Mb/s."""
WINDOWS = {"1": 5e3, "2": 5e3, "3": 5e3, "4": 1e4, "5": 2e4, "6": 1e5, "4S": 1e4, "4L": 2e4}
"""takano2006, Tables 1 and 2: largest window in packets."""
NODES = {"4S": (16, 8), "4L": (60, 30)}
"""takano2006, Sect. 5: nodes, and where the background flow enters; 30 and 15 in Sect. 4."""
SENDERS = {"4R": "Reno", "4N": "NewReno", "4V": "NS2Vegas", "4V'": "NS2Vegas"}
"""takano2006, Tables 3 and 4; the others have Tahoe."""


@pytest.mark.parametrize("name", [*TABLE_1, *NODES, *SENDERS])
def test_a_scenario_has_the_numbers_of_the_paper(name: str) -> None:
    """takano2006, Tables 1 to 4 and Fig. 5: delays of 0.1 ms, buffers of 1800 packets, 400 in 4V'."""
    scenario = takano2006(name)
    nodes, entry = NODES.get(name, (30, 15))
    assert len(scenario.links) == nodes - 1
    for link in scenario.links:
        assert link.rate == pytest.approx(mbps(TABLE_1[name[0]]), rel=1e-12)
        assert link.delay == pytest.approx(1e-4, rel=1e-12)
        assert link.buffer == (400 if name == "4V'" else 1800)
    target, background = scenario.flows
    assert (target.path[0], target.path[-1], target.start) == (1, nodes, 0.0)
    assert (background.path[0], background.path[-1], background.start) == (entry, nodes, 0.1)
    for flow in scenario.flows:
        assert type(flow.source).__name__ == SENDERS.get(name, "Tahoe")
        assert flow.max_window == WINDOWS.get(name, 1e4)
    assert scenario.duration == (1.5 if name == "6" else 3.0)
