"""Dumbbells, parking lots and takano2006's chains under Tahoe, Reno, NewReno and SACK in ns-2, packet by packet.

`validation.networks.packet_networks` has the networks as scenarios, `dfcmodel.to_ns2` writes their programs, and ``networks.toml``
says what is run.
"""

from __future__ import annotations

from validation.generate.case_tables import About, Driver, columns, crossed, load, tables_of
from validation.generate.cases import Case, Run
from validation.generate.packets.exported import SENT_AGAIN, calls, read
from validation.generate.programs import Ns2Export
from validation.networks.packet_networks import (
    ACCESS_DELAY,
    ACCESS_RATE,
    BUFFER,
    DELAY,
    DURATION,
    RATE,
    SAMPLE,
    WINDOW,
    sample_hash,
    scenario_of,
)

__all__ = ["CASES", "SAMPLE", "sample_hash", "scenario_of"]

TABLES = load(__file__)
RECOVERIES = ("tahoe", "reno", "newreno", "sack")


def _seconds(run: Run) -> float:
    """Return the simulated time of a run in s."""
    return float(scenario_of(run).duration)


DRIVER = Driver("packets", Ns2Export((SENT_AGAIN,)), calls, read, _seconds, {})


def parameters(topology: str) -> dict[str, tuple[float, str]]:
    """Return the parameters of dumbbells and parking lots."""
    return {
        "rate of the bottlenecks": (RATE, "bit/s"),
        "delay of the bottlenecks": (DELAY[topology], "s"),
        "rate of the access links": (ACCESS_RATE, "bit/s"),
        "delay of the access links": (ACCESS_DELAY, "s"),
        "buffer of each, both directions": (BUFFER, "packets"),
        "largest window": (WINDOW, "packets"),
        "duration": (DURATION, "s"),
        "interval of the samples": (SAMPLE, "s"),
    }


def a_case(about: About) -> Case:
    """Return a case of ``networks.toml``: all its runs with each recovery."""
    topology = about["topology"]
    blocks = [{"recovery": recovery, **block} for recovery in RECOVERIES for block in about["runs"]]
    fixed = {"topology": topology} | ({"delayed": True} if about.get("delayed") else {})
    index = columns(TABLES["columns"])
    if "parameters" in about:  # a chain
        index |= columns(TABLES["chains"])
    else:
        about = {**about, "parameters": parameters(topology)}
    runs = [{**fixed, **run} for run in crossed(blocks)]
    return DRIVER.case(about, runs, tables_of(TABLES["tables"], index))


CASES = tuple(a_case(about) for about in TABLES["cases"])
