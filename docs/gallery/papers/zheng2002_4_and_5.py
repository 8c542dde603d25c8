"""zheng2002, Figs. 4 and 5: utilisation and loss by the number of flows of one kind, in ns-2 (Z04, Z05)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2)
found = table("zheng2002/flows-one-kind", "link")
found = found[found["reading"] == found["reading"].iloc[0]]
for rule, own in found.groupby("rule"):
    mean = own.groupby("number")[["utilisation", "loss"]].mean()
    for ax, name in zip(axes, mean, strict=True):
        ax.plot(mean.index, mean[name], ".-", label=rule)
        ax.set(xlabel="flows", ylabel=name)
axes[0].set_ylim(0.0, 1.05)
axes[0].legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("zheng2002_4_and_5.png")
