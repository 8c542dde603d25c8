"""yang2001, Tables 4 and 5: mean transfer time by priority and discipline, in ns-2 (Y03 to Y06, Y12)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(11.0, 3.6, ncols=3, sharey=True)
for ax, mechanism in zip(axes, ("cc", "ts", "be"), strict=True):
    for discipline in ("FCFS", "DRR", "RED", "SFQ"):
        found = table(f"yang2001/{mechanism}-{mechanism}-{discipline.lower()}", "flows")
        kind = found["protocol"] + found["priority"].astype(str)
        mean = found["transfer_time"].groupby(kind).mean()
        ax.plot(mean.index, mean, ".", markersize=9, label=discipline)
    ax.set(xlabel="class of flows", title=f"both sources {mechanism}")
axes[0].set_ylabel("mean transfer time (s)")
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("yang2001_4_and_5.png")
