"""yang2001, Table 6: spread of the transfer times within a class of priority, in ns-2 (Y13, Y18)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2, sharey=True)
for ax, mechanism in zip(axes, ("cc", "ts"), strict=True):
    for discipline in ("FCFS", "DRR", "RED", "SFQ"):
        found = table(f"yang2001/{mechanism}-{mechanism}-{discipline.lower()}", "flows")
        found = found[found["protocol"] == "TCP"]
        runs = found.groupby(["tcp_flows", "seed", "priority"])["transfer_time"].std()
        mean = runs.groupby("priority").mean()
        ax.plot(mean.index, mean, ".-", label=discipline)
    ax.set(xlabel="priority (1 is the highest)", xticks=range(1, 5), title=f"both sources {mechanism}")
axes[0].set_ylabel("standard deviation (s)")
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("yang2001_6.png")
