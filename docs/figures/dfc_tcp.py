"""The figure of README: what diffusion-type flow control does for TCP on a chain of 30 nodes, in packet simulations.

``python docs/figures/dfc_tcp.py`` writes ``dfc_tcp.svg`` beside this file.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from dfcmodel import simulate, takano2006
from hopflow.results import COLOURS
from validation import load

SCENARIOS = {"Tahoe": "4", "Reno": "4R", "NewReno": "4N"}
SINCE, UNTIL = 0.1, 0.5  # s, the part that all runs have


def mean(efficiency: xr.DataArray) -> np.ndarray:
    """Return the mean efficiency of the observed flow."""
    return np.ravel(efficiency.sel(flow="target", time=slice(SINCE, UNTIL)).mean("time"))


def controlled(name: str, host: str) -> np.ndarray:
    """Return the efficiency of five runs of ns-3 with DFC."""
    runs = load(f"takano2006/scenario-{name.lower()}-with-dfc").efficiency
    return mean(runs.sel(host=host, phases="random", buffers="shared", diffusion=0.1))


def computed(name: str, level: str, **options: object) -> float:
    """Return the efficiency that hopflow computes."""
    run = simulate(takano2006(name, **options), duration=UNTIL, level=level)
    return float(mean(run.efficiency)[0])


plt.rcParams["svg.hashsalt"] = "hopflow"
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
KINDS = {
    "without DFC (ns-2)": lambda name: mean(load(f"takano2006/scenario-{name.lower()}-without-dfc").efficiency),
    "DFC, host not controlled (ns-3)": lambda name: controlled(name, "unshaped"),
    "DFC from the host on (ns-3)": lambda name: controlled(name, "shaped"),
}  # fmt: skip
for n, (label, runs) in enumerate(KINDS.items()):
    for group, name in enumerate(SCENARIOS.values()):
        values = runs(name)
        x = group + 0.25 * (n - 1) + np.linspace(-0.06, 0.06, len(values))
        ax.plot(x, values, "o", ms=4, color=COLOURS[n], label=label if group == 0 else None)
for level, mark in (("fluid", "_"), ("packets", "x")):
    for group, name in enumerate(SCENARIOS.values()):
        values = computed(name, level, dfc=False), computed(name, level, dfc=True, host="shaped")
        places = group - 0.25, group + 0.25
        size = 18 if mark == "_" else 8
        ax.plot(places, values, mark, ms=size, color="black", label=f"hopflow, {level}" if group == 0 else None)  # fmt: skip
ax.set_xticks(range(len(SCENARIOS)), list(SCENARIOS))
ax.set(ylabel="throughput / link rate", ylim=(0, 0.65), title="TCP over 30 nodes, 12.3 Gb/s")
ax.legend(frameon=False, ncols=2, fontsize="small", loc="upper left")
fig.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
