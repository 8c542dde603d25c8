"""zheng2002, Fig. 3: utilisation and loss of one flow by its window limit, in ns-2 (Z03)."""

from hopflow.results import figure
from validation import table

drawn, axes = figure(9.0, 3.6, ncols=2)
found = table("zheng2002/window-sweep", "link").query("background == background.min()")
mean = found.groupby("window")[["utilisation", "loss"]].mean()
for ax, name in zip(axes, mean, strict=True):
    ax.plot(mean.index, mean[name], ".-")
    ax.set(xlabel="largest window (packets)", ylabel=name)

if __name__ == "__main__":
    drawn.savefig("zheng2002_3.png")
