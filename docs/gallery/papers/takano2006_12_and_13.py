"""takano2006, Figs. 12 and 13: packets stored at each node of scenario 4, without DFC and with it (D10, D11)."""

from dfcmodel import simulate, takano2006
from hopflow.results import figure

drawn, axes = figure(9.0, 4.0, ncols=2)
for ax, dfc in zip(axes, (False, True), strict=True):
    run = simulate(takano2006("4", dfc=dfc), duration=0.5, level="fluid")
    run.plot_space_time(ax)
    ax.set_title("with DFC" if dfc else "without DFC")

if __name__ == "__main__":
    drawn.savefig("takano2006_12_and_13.png")
