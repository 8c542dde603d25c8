"""takano2006, Figs. 6 to 11: efficiency of the flow across all nodes, with DFC and without, at six speeds (D04 to D09)."""

from dfcmodel import simulate, takano2006
from hopflow.results import figure

drawn, axes = figure(9.0, 5.4, nrows=2, ncols=3, sharey=True)
for ax, name in zip(axes.flat, "123456", strict=True):
    for dfc, label in ((True, "DFC"), (False, "none")):
        run = simulate(takano2006(name, dfc=dfc), sample=0.01, level="fluid")
        ax.plot(run.time, run.efficiency[0], label=label)
    speed = max(link.rate for link in run.scenario.links) * 12000 / 1e6
    ax.set(title=f"scenario {name}: {speed:.0f} Mb/s", xlabel="time (s)")
axes[0, 0].set_ylabel("efficiency")
axes[1, 0].set_ylabel("efficiency")
axes[0, 0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("takano2006_6_to_11.png")
