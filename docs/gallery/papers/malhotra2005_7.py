"""malhotra2005, Fig. 7: the gain with two and three levels of TCP's rate (M07)."""

import numpy as np

from hopflow.results import figure
from markov import PauseTandem, sweep

drawn, ax = figure()
rtts = np.geomspace(0.1, 20.0, 9)
for rates in ((50.0, 1.0), (50.0, 25.0, 1.0), (50.0, 34.0, 17.0, 1.0)):
    rate = sweep(PauseTandem(arrival_rates=rates), high_threshold=[15, 20], rtt=rtts).throughput
    gain = 100.0 * (rate.sel(high_threshold=15) / rate.sel(high_threshold=20) - 1.0)
    ax.semilogx(rtts, gain, ".-", label=f"N = {len(rates)}")
ax.set(xlabel="round-trip time (s)", ylabel="gain (%)")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("malhotra2005_7.png")
