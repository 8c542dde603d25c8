"""Runs of Linux 6.12 over a bottleneck, one or two flows, alone or under losses: those of ``cases.toml``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from validation.generate.case_tables import About, Driver, crossed, load
from validation.generate.cases import Case
from validation.generate.linux.output import TABLES, calls, read, simulated_seconds
from validation.generate.linux.program import HostKernel, LinuxKernel

_READ = load(__file__)
PATHS: dict[str, About] = _READ["paths"]
DRAWN = tuple(tuple(path.values()) for name, path in PATHS.items() if name.startswith("drawn-"))
"""Paths drawn at random: bit/s and s of both directions, packets."""
EVERYWHERE, VIRTUAL = ("departures", "no-pacing", "limits"), ("entropy",)
"""Notes of all cases, and of those in virtual time."""
REAL = ("real-time", "late")
TICK = "tick of the kernel (HZ 250)"
DRIVER = Driver("linux", LinuxKernel(), calls, read, simulated_seconds, {}, _READ["texts"])


def a_run(about: About, factors: dict[str, Any]) -> dict[str, Any]:
    """Return a run of a case: its path, what is changed of it, and its flows."""
    path = {**PATHS[about.get("path", "seen")], "seconds": about["seconds"]}
    run = {**path, **factors, "run": ""}
    rules = run.pop("rules", None) or [run.pop("rule")]
    starts = [0.0, *([run.pop("start")] if len(rules) > 1 else [])]
    named = {**path, **factors, "rule": rules[0]}
    name = about.get("run", "{rule}-{buffer}").format(**named)
    run.pop("number", None)
    return {**run, "run": name, "rules": tuple(rules), "starts": tuple(starts)}


def a_case(about: About) -> Case:
    """Return a case of ``cases.toml``, in virtual time or with the host's kernel."""
    host = about.get("host", False)
    earlier = tuple(tuple(_READ["earlier"][name]) for name in about["earlier"])
    program = HostKernel(earlier=earlier) if host else LinuxKernel(earlier=earlier)
    runs = [a_run(about, factors) for factors in crossed(about["runs"])]
    parameters = {
        **_READ["parameters"],
        "rate of the link, and of the link back": (runs[0]["rate"], "bit/s"),
        "delay of each": (runs[0]["delay"], "s"),
        "sample": (runs[0].get("sample", 0.01), "s"),
    }
    if host:
        del parameters[TICK]
    notes = (*EVERYWHERE, *(REAL if host else VIRTUAL), *about.get("notes", ()))
    found = {**about, "parameters": parameters, "notes": notes}
    return replace(DRIVER, program=program).case(found, runs, TABLES)


CASES = tuple(a_case(about) for about in _READ["cases"])
