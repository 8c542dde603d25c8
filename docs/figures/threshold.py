"""The figure of README: where should a switch begin to pause the one before it?

``python docs/figures/threshold.py`` writes ``threshold.svg`` beside this file.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from hopflow.results import COLOURS
from markov import PauseTandem, sweep

BUFFER = 20
RTTS = 0.5, 2.0, 8.0  # s, for a bottleneck of 15 packets/s

plt.rcParams["svg.hashsalt"] = "hopflow"
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.axvspan(0.7, 0.8, color="0.9", label="advice of malhotra2005")
thresholds = np.arange(4, BUFFER + 1)
for rtt, colour in zip(RTTS, COLOURS, strict=False):
    answers = sweep(PauseTandem(rtt=rtt), high_threshold=thresholds)
    throughput = np.ravel(answers["throughput"])
    gain = 100 * (throughput / throughput[-1] - 1)  # at T1 = B2 there is no pause
    best = int(np.argmax(gain))
    share = thresholds / BUFFER
    ax.plot(share, gain, ".-", color=colour, label=f"round-trip time {rtt:g} s")
    ax.plot(share[best], gain[best], "o", ms=9, mfc="none", color=colour)
ax.axhline(0, color="black", lw=0.8)
ax.set(xlabel="pause threshold / buffer", ylabel="throughput gained by pause (%)")
ax.legend(frameon=False)
fig.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})
