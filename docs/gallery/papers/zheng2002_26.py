"""zheng2002, Fig. 26: RED with ECN and without it, by the number of flows, in ns-2 (Z16)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2)
found = table("zheng2002/ecn", "link")
found = found[found["reading"] == found["reading"].iloc[0]]
for ecn, own in found.groupby("ecn"):
    mean = own.groupby("number")[["utilisation", "loss"]].mean()
    for ax, name in zip(axes, mean, strict=True):
        ax.plot(mean.index, mean[name], ".-", label="with ECN" if ecn else "without ECN")
        ax.set(xlabel="flows", ylabel=name)
axes[0].set_ylim(0.0, 1.05)
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("zheng2002_26.png")
