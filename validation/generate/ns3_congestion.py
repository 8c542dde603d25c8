"""The flows of ``ns2_linux`` in ns-3: its own congestion controls and five of ours (kaneko2007).

``ns3/congestion.cc`` leaves the same three files as ``ns2/linux.tcl``; columns and rows are made
by ``ns2_linux``.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from validation.generate import ns2_linux
from validation.generate.cases import Rows, Run, call
from validation.generate.ns3_build import compiled

TOOL = "ns-3"
DRAIN = 120.0
MODULES = (
    *("core", "network", "internet", "point-to-point", "applications"),
    *("bridge", "traffic-control", "stats"),
)
TYPES = {
    "reno": "ns3::TcpNewReno",
    "fusion": "ns3::TcpFusion",
    "rate_estimate": "ns3::TcpRateEstimate",
    "areno": "ns3::TcpAdaptiveReno",
    "compound": "ns3::TcpCompound",
    "fast": "ns3::TcpFast",
    "highspeed": "ns3::TcpHighSpeed",
    "bic": "ns3::TcpBic",
    "cubic": "ns3::TcpCubic",
}
FAST_QUEUE = 200 / 1e9
"""FAST's alpha: packets per bit/s of the bottleneck."""

SOURCES = (
    "validation/generate/ns3/congestion.cc",
    "validation/generate/ns3/rules.h",
    "validation/generate/ns2_linux.py",
    "validation/generate/ns3_congestion.py",
)


def _arguments(run: Run) -> list[str]:
    """Options of ``congestion.cc``: those of ``linux.tcl``, and its own names of the rules."""
    path = run.get("path", {})
    flows = len(run["rules"])
    return [
        f"--rules={','.join(TYPES[rule] for rule in run['rules'])}",
        f"--starts={','.join(f'{start:g}' for start in run['starts'])}",
        f"--rtts={','.join(f'{rtt:g}' for rtt in run['rtts'])}",
        f"--from={','.join(map(str, path.get('from', [0] * flows)))}",
        f"--to={','.join(map(str, path.get('to', [1] * flows)))}",
        f"--hops={path.get('hops', 1)}",
        f"--delay={path.get('delay', min(run['rtts']) / 2):g}",
        f"--back-buffer={path.get('back_buffer', 1_000_000)}",
        *(f"--{name}={run[name]}" for name in ("buffer", "seed", "ssthresh", "window")),
        *(f"--{name}={run[name]:g}" for name in ("rate", "loss", "overhead", "begin", "end")),
        f"--drain={DRAIN:g}",
        f"--step={ns2_linux.STEP:g}",
        f"--fast-alpha={FAST_QUEUE * run['rate']:g}",
    ]


def simulate(run: Run, folder: Path) -> None:
    """Run the program; it leaves its files in ``folder``."""
    program = compiled("congestion", *MODULES)
    call(shlex.join([str(program), *_arguments(run)]), folder)


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one parameter set."""
    simulate(run, folder)
    return ns2_linux.measure(run, folder)


def command(run: Run) -> str:
    """Write the call for the record; the executable's real name carries its source's hash."""
    return shlex.join(["build/data/bin/congestion", *_arguments(run)])


def simulated_seconds(run: Run) -> float:
    """Add the draining to the run."""
    return float(run["end"]) + DRAIN
