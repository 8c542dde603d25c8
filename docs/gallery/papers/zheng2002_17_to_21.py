"""zheng2002, Figs. 17 to 21: rate by the delay of the access link, 8 flows of each kind, in ns-2 (Z14)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(11.0, 6.0, nrows=2, ncols=3, sharex=True, sharey=True)
found = table("zheng2002/access-delay", "flows").query("reading == '1-b'")
for ax, (_, own) in zip(axes.flat, found.groupby("pair", sort=False), strict=False):
    for kind, rates in own.groupby("kind", sort=False):
        mean = rates.groupby("access_delay")["rate"].mean()
        ax.plot(1e3 * mean.index, mean, ".-", label=kind)
    ax.set(xlabel="delay of the access link (ms)", ylabel="rate (packets/s)")
    ax.legend(frameon=False, fontsize=8)
axes[1, 2].remove()  # five pairs
axes[0, 2].tick_params(labelbottom=True)

if __name__ == "__main__":
    drawn.savefig("zheng2002_17_to_21.png")
