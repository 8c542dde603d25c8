"""yang2001, Table 1: mean transfer time of 7 TCP and 6 UDP flows by their size, in ns-2 (Y01)."""

import pandas as pd

from hopflow.results import figure
from validation import table

drawn, ax = figure()
cases = ("yang2001/transfer-times", "yang2001/transfer-times-100mb")
found = pd.concat([table(case, "flows") for case in cases])
for protocol, own in found.groupby("protocol"):
    mean = own.groupby("size")["transfer_time"].mean()
    ax.loglog(mean.index, mean, ".-", label=protocol)
ax.set(xlabel="size (bytes)", ylabel="mean transfer time (s)")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("yang2001_1.png")
