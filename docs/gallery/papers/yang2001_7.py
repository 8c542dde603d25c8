"""yang2001, Fig. 7: total time of a hundred small transfers by how many are of TCP, in ns-2 (Y10)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2, sharey=True)
for ax, environment in zip(axes, ("ts/ts", "ts/be"), strict=True):
    for discipline in ("FCFS", "DRR", "RED", "SFQ"):
        found = table(f"yang2001/small-{discipline.lower()}", "sources")
        found = found[found["environment"] == environment]
        total = found.groupby(["tcp_flows", "seed"])["finish"].max().groupby("tcp_flows").mean()
        ax.plot(total.index, total, ".-", label=discipline)
    ax.set(xlabel="TCP flows of a hundred", title=environment)
axes[0].set_ylabel("total time (s)")
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("yang2001_7.png")
