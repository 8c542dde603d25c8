"""yang2001, Fig. 2: share of TCP at a link that UDP overloads, by the time since the start, in ns-2 (Y02)."""

from hopflow.results import figure
from validation import table

drawn, ax = figure()
sent = table("yang2001/bandwidth-shares").groupby(["time", "protocol"])["departed"].sum()
share = sent.xs("TCP", level="protocol") / sent.groupby("time").sum()
ax.loglog(share.index, share, ".-")
ax.set(xlabel="time since the start (s)", ylabel="share of TCP")

if __name__ == "__main__":
    drawn.savefig("yang2001_2.png")
