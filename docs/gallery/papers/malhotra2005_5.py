"""malhotra2005, Fig. 5: throughput as the lower threshold moves away below the upper one (M05)."""

from hopflow.results import figure
from markov import PauseTandem, sweep

drawn, ax = figure()
for high in (12, 15, 18):
    lows = list(range(2, high + 1, 2))
    found = sweep(PauseTandem(high_threshold=high), low_threshold=lows)
    ax.plot(lows, found.throughput, ".-", label=f"upper threshold {high}")
ax.set(xlabel="lower threshold (packets)", ylabel="throughput (packets/s)")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("malhotra2005_5.png")
