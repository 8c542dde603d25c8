"""The cases of kaneko2007 in both simulators: ``sweeps.toml`` as runs.

How a run is simulated and measured is in ``flows``; a run carries all its parameters, so that a
change here repeats only the runs that it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from validation.generate.case_tables import About, Driver, columns, crossed, load
from validation.generate.cases import Case, Run
from validation.generate.kaneko2007 import flows
from validation.generate.kaneko2007.flows import PACKET_BITS

TABLES = load(__file__)
COLUMNS = columns(TABLES["columns"])
DEFAULTS: Mapping[str, Any] = {
    "rate": 100e6, "rtts": [0.04], "bdps": 1, "loss": 0.0, "begin": 20.0, "end": 100.0,
}  # fmt: skip
WINDOW = 7000
LINE: Mapping[str, float] = {"rtt": 0.0017, "buffer": 250}
"""The real line: its round trip in s without what is added, its buffer in packets."""
DRIVERS = {
    "ns2": Driver(
        *("kaneko2007", flows.NS2, flows.ns2_calls, flows.read, flows.ns2_seconds),
        *(TABLES["ns2"], TABLES["texts"]),
    ),
    "ns3": Driver(
        *("kaneko2007", flows.NS3, flows.ns3_calls, flows.read, flows.ns3_seconds),
        *(TABLES["ns3"], TABLES["texts"]),
    ),
}


def bdp(rate: float, rtt: float) -> int:
    """Bandwidth-delay product in packets of 1500 bytes."""
    return round(rate * rtt / PACKET_BITS)


def filled(settings: About, factors: About) -> dict[str, Any]:
    """Return settings with the factors that they name, ``"$name"``, also in lists."""

    def fill(value: Any) -> Any:
        if isinstance(value, list):
            return [fill(each) for each in value]
        named = isinstance(value, str) and value.startswith("$")
        return factors[value[1:]] if named else value

    return {name: fill(value) for name, value in settings.items()}


def a_run(settings: About, factors: About, seed: int) -> Run:
    """Fill in one run: starts with up to 0.1 s of jitter from the seed, slow start up to the BDP by default."""
    given = {**DEFAULTS, **filled(settings, factors)}
    if "added" in given:
        given |= {"rtts": [LINE["rtt"] + each for each in given["added"]], "buffer": LINE["buffer"]}
    rules, rate = given["rules"], given["rate"]
    rtts = given["rtts"] * (len(rules) if len(given["rtts"]) == 1 else 1)
    random = Random(seed)
    starts = given.get("starts", [0.0] * len(rules))
    run = {
        "factors": dict(factors),
        "rules": rules,
        "seed": seed,
        "rate": rate,
        "rtts": rtts,
        "buffer": round(given["bdps"] * given.get("buffer", bdp(rate, rtts[0]))),
        "loss": given["loss"],
        "overhead": PACKET_BITS / rate,
        "starts": [round(start + random.uniform(0.0, 0.1), 6) for start in starts],
        "begin": given["begin"],
        "end": given["end"],
        "ssthresh": max(bdp(rate, min(rtts)) // len(rules), 10),
        "window": max(WINDOW, 4 * bdp(rate, max(rtts))),
    }
    return {**run, "bin": given["series"]} if given.get("series") else run


def in_ns3(run: Run) -> Run:
    """Return a run with socket buffers no larger than three times BDP + buffer."""
    return {**run, "window": 3 * (bdp(run["rate"], max(run["rtts"])) + run["buffer"])}


def a_case(about: About) -> Case:
    """Return a case of ``linux.tcl`` or of ``congestion.cc``, by the end of its name."""
    simulator = about["name"][-3:]
    settings = {**TABLES["experiments"][about["experiment"]], **about.get("settings", {})}
    runs = []
    for factors in crossed(about["runs"], about.get("seeds", ())):
        seed = factors.pop("seed")
        runs.append(a_run(settings, factors, seed))
    index = {name: COLUMNS[name] for name in runs[0]["factors"]}
    return DRIVERS[simulator].case(
        about,
        runs if simulator == "ns2" else [in_ns3(run) for run in runs],
        flows.tables(index, "bin" in runs[0]),
    )


CASES = [a_case(about) for about in TABLES["cases"]]
