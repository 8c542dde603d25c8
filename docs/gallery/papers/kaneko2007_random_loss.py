"""kaneko2007, robustness to random packet loss: goodput of one flow by its loss rate, in ns-3 (K01)."""

from hopflow.results import figure
from validation import table

drawn, ax = figure()
found = table("kaneko2007/loss-sweep-ns3", "flows")
for rule, own in found.groupby("rule"):
    mean = own.groupby("loss_rate")["goodput"].mean()
    ax.loglog(mean.index, mean, "x--" if rule == "reno" else ".-", label=rule)
ax.set(xlabel="loss rate", ylabel="goodput (packets/s)")
ax.legend(frameon=False, ncols=2)

if __name__ == "__main__":
    drawn.savefig("kaneko2007_random_loss.png")
