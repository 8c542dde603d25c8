"""malhotra2005, Fig. 4: throughput gained by pause over the round-trip time, at four loads (M03, M04)."""

import numpy as np

from hopflow.results import figure
from markov import PauseTandem, sweep

drawn, ax = figure()
rtts = np.geomspace(0.1, 20.0, 9)
for load in (20.0, 25.0, 50.0, 100.0):
    rate = sweep(PauseTandem(arrival_rates=(load, 1.0)), high_threshold=[15, 20], rtt=rtts).throughput
    gain = 100.0 * (rate.sel(high_threshold=15) / rate.sel(high_threshold=20) - 1.0)
    ax.semilogx(rtts, gain, ".-", label=f"largest rate {load:g}/s")
ax.set(xlabel="round-trip time (s)", ylabel="gain (%)")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("malhotra2005_4.png")
