"""zheng2002, Figs. 6 to 9: rates over time of 8 flows each of two kinds, in ns-2 (Z06 to Z10, Z17)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(11.0, 6.0, nrows=2, ncols=3, sharex=True, sharey=True)
found = table("zheng2002/pairs-8x8", "series").query("reading == '1-b' and background == 0")
for ax, (_, own) in zip(axes.flat, found.groupby("pair", sort=False), strict=False):
    for kind, rates in own.groupby("kind", sort=False):
        mean = 2.0 * rates.groupby("time")["departures"].mean()  # in half a second
        ax.plot(mean.index, mean, linewidth=0.8, label=kind)
    ax.set(xlabel="time (s)", ylabel="rate of a flow (packets/s)")
    ax.legend(frameon=False, fontsize=8)
axes[1, 2].remove()  # five pairs
axes[0, 2].tick_params(labelbottom=True)

if __name__ == "__main__":
    drawn.savefig("zheng2002_6_to_9.png")
