"""zheng2002, Figs. 22 to 25: variation of the rates over time with RED and with drop-tail, in ns-2 (Z15)."""

import numpy as np

from hopflow.results import figure
from validation import table

drawn, ax = figure(9.0, 3.6)
found = table("zheng2002/red-droptail", "flows").query("reading == '1-b' and jitter > 0")
mean = found.groupby(["pair", "kind", "queue"], sort=False)["rate_cov"].mean().unstack("queue")
places = np.arange(len(mean))
for shift, queue in ((-0.2, "DropTail"), (0.2, "RED")):
    ax.bar(places + shift, mean[queue], 0.4, label=queue)
labels = ["\n".join([kind, "of", *pair.split(" with ")]) for pair, kind in mean.index]
ax.set_xticks(places, labels, fontsize=7)
ax.set(ylabel="variation over time", xlabel="kind of flow, and of which pair")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("zheng2002_22_to_25.png")
