"""takano2006, Figs. 14 to 19: scenario 4 with other lengths, Reno, NewReno and Vegas (D12 to D17)."""

from dfcmodel import simulate, takano2006
from hopflow.results import figure

drawn, axes = figure(9.0, 5.4, nrows=2, ncols=3, sharey=True)
for ax, name in zip(axes.flat, ("4S", "4L", "4R", "4N", "4V", "4V'"), strict=True):
    for dfc, label in ((True, "DFC"), (False, "none")):
        run = simulate(takano2006(name, dfc=dfc), sample=0.01, level="fluid")
        ax.plot(run.time, run.efficiency[0], label=label)
    ax.set(title=f"scenario {name}", xlabel="time (s)")
axes[0, 0].set_ylabel("efficiency")
axes[1, 0].set_ylabel("efficiency")
axes[0, 0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("takano2006_14_to_19.png")
