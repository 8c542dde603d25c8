"""zheng2002, Figs. 10 to 15: rate of one kind over that of another by their numbers, in ns-2 (Z11 to Z13)."""

from hopflow.results import figure
from validation import table

PAIRS = (("TCP(3/7,1/4)", "TCP(1,1/2)"), ("TCP(3/7,1/4)", "TFRC"), ("TFRC", "TCP(1,1/2)"))

drawn, axes = figure(11.0, 3.6, ncols=3, sharey=True)
for speed in (15, 60):
    found = table(f"zheng2002/friendliness-{speed}", "flows").query("reading == '1-b'")
    for ax, (one, other) in zip(axes, PAIRS, strict=True):
        own = found[found["pair"] == f"{one} with {other}"]
        rate = own.groupby(["number", "kind"])["rate"].mean().unstack("kind")
        ax.semilogx(rate.index, rate[one] / rate[other], ".-", base=2, label=f"{speed} Mb/s")
        ax.axhline(1.0, color="0.7", zorder=0)
        ax.set(xlabel="flows of each kind", title=f"{one} over {other}")
axes[0].set_ylabel("ratio of the rates")
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("zheng2002_10_to_15.png")
