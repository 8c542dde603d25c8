"""Fabrics under PFC beside htsim (Raiciu, Handley and others): CPU seconds of collectives to their ends.

htsim's program for RoCE runs the leaf-spine fabric of `benchmarks.fabrics` with the same flows, thresholds and packets of
4096 bytes, and says when each flow is complete: incast and permutation of 128 hosts, all-to-all of 64. Its senders have the rate of the link, get an ACK per packet
and go back to what is lost; a switch hashes each flow to one of the spines, so that in the permutation other flows meet
than here. Ours are the same senders with and without ACKs, and NewReno. Programs take turns, and the minimum counts;
start-up is in all times.

``validation/generate/htsim`` runs it, and says how it is built; without it there is no row of it, and the suite says so.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.fabrics import PACKETS, SENDERS, SHAPES, fabric, pairs
from benchmarks.timing import Row
from dfcmodel import simulate
from validation.generate.htsim.inputs import calls, finish_times
from validation.generate.htsim.program import Htsim, htsim_program

TARGETS = {"incast": (25.0, 15.0), "permutation": (40.0, 20.0), "all-to-all": (60.0, 35.0)}
"""How many times faster than htsim, without ACKs and with ACKs as packets."""
ENDS = {"incast": 25e-3, "permutation": 15e-3, "all-to-all": 4e-3}
"""When all flows are complete, s."""
ROUNDS = 5
OURS = ("line rate", "line rate with ACKs", "NewReno")
"""Of `benchmarks.fabrics.SENDERS`; the first two have targets."""


def rows() -> list[Row]:
    """Return rows for each kind of traffic: ours, and htsim where it is installed."""
    found = []
    for traffic in tqdm(PACKETS, desc="htsim", leave=False):
        found += _race(traffic)
    return found


def _race(traffic: str) -> list[Row]:
    """Return our rows and htsim's for one kind of traffic, all of which took turns; the first round compiles."""
    names = list(OURS)
    try:
        htsim_program()
        names.append("htsim")
    except FileNotFoundError as missing:
        print(f"{missing}: no rows of htsim")
    times: dict[str, list[float]] = {name: [] for name in names}
    ends = dict[str, np.ndarray]()
    for n in range(ROUNDS + 1):
        for name, kept in times.items():
            seconds, ends[name] = _ours(traffic, name) if name in OURS else _theirs(traffic)
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


def _theirs(traffic: str) -> tuple[float, np.ndarray]:
    """Return htsim's CPU seconds, and the ends of the flows."""
    shape = SHAPES[traffic]
    flows = [(*hosts, PACKETS[traffic]) for hosts in pairs(traffic, shape)]
    about = {"leaves": shape.leaves, "spines": shape.spines, "hosts": shape.per_leaf, "access": 100e9, "trunk": 100e9}  # fmt: skip
    (words,) = calls({**about, "flows": flows, "end": ENDS[traffic], "xoff": 20, "xon": 10})
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = Htsim().run(words, Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = finish_times(printed)
    ended = np.array([found.get(flow[:2], np.nan) for flow in flows])
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, ended


def _note(ended: np.ndarray, packets: float, seconds: float) -> str:
    """Return what a run has delivered, when, and at what cost."""
    late = f"the last of {np.isfinite(ended).sum()} of {len(ended)} flows at {1e3 * np.nanmax(ended):.2f} ms"
    return f"{late}, {packets:.0f} packets, {1e9 * seconds / packets:.0f} ns each"
