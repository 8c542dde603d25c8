"""Fabrics under PFC beside htsim (Raiciu, Handley and others): CPU seconds of collectives to their ends.

htsim's program for RoCE runs the leaf-spine fabric of `benchmarks.fabrics` with the same flows, thresholds and packets of
4096 bytes, and says when each flow is complete: incast and permutation of 128 hosts, all-to-all of 64. Its senders have the rate of the link, get an ACK per packet
and go back to what is lost; a switch hashes each flow to one of the spines, so that in the permutation other flows meet
than here. Ours are the same senders with and without ACKs, and NewReno. Programs take turns, and the minimum counts;
start-up is in all times.

Build it from the sources of Broadcom/csg-htsim (``make libhtsim.a`` in ``sim``, ``make htsim_roce`` in ``sim/datacenter``)
and set ``HTSIM_ROCE`` to the program, or have it in the ``PATH``; without it there is no row of it, and the suite says so.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.fabrics import BYTES, PACKETS, SENDERS, SHAPES, SMALL, Shape, fabric, pairs
from benchmarks.timing import Row
from dfcmodel import simulate

__all__ = ["connections", "finish_times", "program", "rows", "topology"]

PROGRAM = "htsim_roce"
TARGETS = {"incast": (25.0, 15.0), "permutation": (40.0, 20.0), "all-to-all": (60.0, 35.0)}
"""How many times faster than htsim, without ACKs and with ACKs as packets."""
ENDS = {"incast": 25e-3, "permutation": 15e-3, "all-to-all": 4e-3}
"""When all flows are complete, s."""
ROUNDS = 5
OURS = ("line rate", "line rate with ACKs", "NewReno")
"""Of `benchmarks.fabrics.SENDERS`; the first two have targets."""


def program() -> str | None:
    """Return the path of htsim's program for RoCE: that of ``HTSIM_ROCE``, or one in the ``PATH``; None: there is none."""
    return shutil.which(os.environ.get("HTSIM_ROCE", PROGRAM))


def topology(shape: Shape = SMALL) -> str:
    """Return the fabric as htsim reads it: 100 Gb/s and 1 us per link, no time in a switch.

    Examples
    --------
    >>> topology().splitlines()[:2]
    ['Nodes 128', 'Tiers 2']
    """
    link = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
    leaves = f"Tier 0\nRadix_Down {shape.per_leaf}\nRadix_Up {shape.spines}\n{link}"
    spines = f"Tier 1\nRadix_Down {shape.leaves}\n{link}"
    return f"Nodes {shape.hosts}\nTiers 2\nPodsize {shape.hosts}\n\n{leaves}\n{spines}"


def connections(traffic: str) -> str:
    """Return the flows as htsim reads them.

    Examples
    --------
    >>> connections("incast").splitlines()[:3]
    ['Nodes 128', 'Connections 127', '1->0 start 0 size 2002944']
    """
    shape, size = SHAPES[traffic], PACKETS[traffic] * BYTES
    flows = [f"{a}->{b} start 0 size {size}" for a, b in pairs(traffic, shape)]
    return "\n".join([f"Nodes {shape.hosts}", f"Connections {len(flows)}", *flows]) + "\n"


def finish_times(text: str) -> list[float]:
    """Return when flows are complete, s, from what htsim prints in us.

    Examples
    --------
    >>> finish_times("Flow Roce_1_0 9 finished at 4793.5 total bytes 2002944")
    [0.0047935]
    """
    return [float(time) / 1e6 for time in re.findall(r"finished at ([\d.]+) total", text)]


def rows() -> list[Row]:
    """Return rows for each kind of traffic: ours, and htsim where it is installed."""
    found = []
    for traffic in tqdm(PACKETS, desc="htsim", leave=False):
        found += _race(traffic)
    return found


def _race(traffic: str) -> list[Row]:
    """Return our rows and htsim's for one kind of traffic, all of which took turns; the first round compiles."""
    path = program()
    if path is None:
        print(f"{PROGRAM} is not in the PATH, and HTSIM_ROCE does not name it: no rows of htsim")
    times: dict[str, list[float]] = {name: [] for name in (*OURS, *(["htsim"] if path else []))}
    ends = dict[str, np.ndarray]()
    for n in range(ROUNDS + 1):
        for name, kept in times.items():
            seconds, ends[name] = _ours(traffic, name) if name in OURS else _theirs(traffic, path)
            if n > 0:
                kept.append(seconds)
    task, found = f"{traffic} of {SHAPES[traffic].hosts} hosts to its end", []
    for name, kept in times.items():
        ratio, note = 1.0, _note(ends[name], PACKETS[traffic] * len(ends[name]), min(kept))
        if name == "htsim":
            ratios = [min(kept) / min(times[own]) for own in OURS]
            ratio = ratios[0]
            reached = all(map(float.__ge__, ratios, TARGETS[traffic]))
            note += f"; {ratios[1]:.1f} times that with ACKs; targets {TARGETS[traffic]}: {'reached' if reached else 'missed'}"
        label = name if name == "htsim" else f"Packets, {name}"
        found.append(Row(task, label, statistics.median(kept), min(kept), max(kept), ratio, note))
    return found


def _ours(traffic: str, name: str) -> tuple[float, np.ndarray]:
    """Return our CPU seconds for flows up to their ends, set-up included, and these ends."""
    sender, began = SENDERS[name], time.process_time()
    scenario = fabric(traffic, sender, SHAPES[traffic])
    run = simulate(scenario, sender.method, duration=ENDS[traffic], sample=ENDS[traffic])
    return time.process_time() - began, run.finished


def _theirs(traffic: str, path: str) -> tuple[float, np.ndarray]:
    """Return htsim's CPU seconds, and the ends of the flows."""
    shape = SHAPES[traffic]
    flows = pairs(traffic, shape)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "topology").write_text(topology(shape))
        (Path(folder) / "flows").write_text(connections(traffic))
        options = {
            "topo": "topology", "tm": "flows", "nodes": shape.hosts, "linkspeed": 100_000, "mtu": BYTES,
            "q": 1000, "queue_type": "lossless_input", "strat": "ecmp_host", "paths": shape.spines,
            "end": round(ENDS[traffic] * 1e6), "o": "log",
        }  # fmt: skip
        given = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [path, *given, "-pfc_thresholds", "10", "20"]
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = np.full(len(flows), np.nan)
    found = finish_times(run.stdout)
    ended[: len(found)] = found
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, ended


def _note(ended: np.ndarray, packets: float, seconds: float) -> str:
    """Return what a run has delivered, when, and at what cost."""
    late = f"the last of {np.isfinite(ended).sum()} of {len(ended)} flows at {1e3 * np.nanmax(ended):.2f} ms"
    return f"{late}, {packets:.0f} packets, {1e9 * seconds / packets:.0f} ns each"
