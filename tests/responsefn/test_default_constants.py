"""Default constants against the numbers of their sources: a table of every default, with where it is from."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import responsefn
from hopflow import tcp_constants
from responsefn import linux
from tests.default_constants import check_row, check_sources, names, rows

TABLE = Path(__file__).with_name("default_constants.csv")
NO_CONSTANTS = {
    "seed", "unit_check", "rtt", "window", "p", "loss", "duration", "events", "rounds", "least_packets",
}  # fmt: skip
"""Parameters of functions that say where, and for how long: not constants of an algorithm."""
CODES = {
    "STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT", "PROBE_BW", "INIT", "REFILLING",
    "STARTING", "PROBING", "MOVING", "FEEDBACK", "STOPPING", "FIRST", "NORMAL", "FROZEN", "RAMP", "NONE", "CUT", "LOSS",
}  # fmt: skip
"""Names of states: any numbers that differ."""
NUMERICAL = {
    "responsefn.rules.base:MIN_ARRAY", "responsefn.rules.base:STARTS", "responsefn.rules.base:SAME_RATE",
    "responsefn.rules.rates.dcqcn:GRID", "responsefn.rules.rates.dcqcn:BISECTIONS",
    "responsefn.rules.rates.dcqcn:MIN_RATE", "responsefn.rules.rates.rate_rule:MOST_TELEMETRY",
    "responsefn.rules.rates.dcqcn:MAX_RATE",
    "responsefn.rules.deliveries.swift:UNPACED", "responsefn.rules.quic:NEWTON_STEPS",
}  # fmt: skip
"""How equations are solved; no paper has them."""


def _public() -> Iterator[tuple[str, Any]]:
    for module in (responsefn, linux):
        yield from ((name, getattr(module, name)) for name in module.__all__)


def defaults() -> dict[str, Any]:
    """Return all defaults by name: parameters of rules and laws, of functions, constants of modules."""
    found: dict[str, Any] = {}
    for name, value in _public():
        if hasattr(value, "Params"):
            listed = value.Params._field_defaults
        elif inspect.isfunction(value) or name == "LossHistory":
            listed = {
                k: p.default
                for k, p in inspect.signature(value).parameters.items()
                if isinstance(p.default, (int, float)) and k not in NO_CONSTANTS
            }
        else:
            continue
        found |= {f"{name}.{field}": default for field, default in listed.items()}
    package = importlib.import_module("responsefn.rules")
    for info in pkgutil.walk_packages(package.__path__, "responsefn.rules."):
        module = importlib.import_module(info.name)
        own = {k for k in vars(module) if k.isupper() and k not in CODES | {"TYPE_CHECKING"}}
        own -= set(tcp_constants.__all__)  # their rows are in the table of dfcmodel
        found |= {
            f"{info.name}:{k}": getattr(module, k)
            for k in own
            if isinstance(getattr(module, k), (int, float))
        }
    return {name: value for name, value in found.items() if name not in NUMERICAL}


def test_every_default_has_a_row_and_every_row_a_source() -> None:
    elsewhere = {name for name in names(TABLE) if name.startswith("responsefn.simulation.")}
    assert set(defaults()) == names(TABLE) - elsewhere
    check_sources(TABLE)


def test_a_default_is_that_of_its_source() -> None:
    found = defaults()
    for row in rows(TABLE):
        check_row(row, found)
