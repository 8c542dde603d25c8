"""yang2001, Fig. 9: mean transfer time of each class by how many flows are of TCP, FCFS, in ns-2 (Y09)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2, sharey=True)
for ax, mechanism in zip(axes, ("cc", "ts"), strict=True):
    found = table(f"yang2001/{mechanism}-{mechanism}-fcfs", "flows")
    found = found[found["protocol"] == "TCP"]
    for priority, own in found.groupby("priority"):
        mean = own.groupby("tcp_flows")["transfer_time"].mean()
        ax.plot(mean.index, mean, ".-", label=f"TCP{priority}")
    ax.set(xlabel="TCP flows of a hundred", title=f"both sources {mechanism}", ylim=(0, 2200))
axes[0].set_ylabel("mean transfer time (s)")
axes[0].legend(frameon=False, ncols=4, fontsize=8)

if __name__ == "__main__":
    drawn.savefig("yang2001_9.png")
