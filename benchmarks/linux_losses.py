"""``python -m benchmarks.linux_losses``: what decides the shares of two flows of Linux: their rules, or whose packets are dropped.

The rules of hopflow get the losses of the bundled runs, flow by flow, at the times at which the kernel dropped, and the kernel's
round-trip times. Shares that agree then leave the choice of the dropped packets as the cause of a difference at packet level.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.linux_agreement import RULES, SHARE_FROM
from responsefn import WindowRule
from validation import evidence

Floats = NDArray[np.float64]
CASES = tuple(f"linux/cubic-and-reno{suffix}" for suffix in ("", "-single-packets", "-each-acknowledged"))
GAP = 0.15
"""s between drops of two congestion episodes: a few round trips of 40 to 80 ms."""
STEP = 0.1
"""s between samples of a replayed window, as of the bundled ones."""
FIRST_WINDOW, FIRST_RTT = 10.0, 0.04


def drops_of(case: str, run: str, flow: int) -> Floats:
    """Return the times at which the buffer dropped packets of a flow, s."""
    rows = evidence.table(case, "drops")
    own = (rows["run"] == run) & (rows["flow"] == flow)
    return rows.loc[own, "time"].to_numpy(dtype=float)


def losers(drops: tuple[Floats, Floats]) -> dict[str, float]:
    """Return the part of the congestion episodes after `SHARE_FROM` in which only the first of two flows lost, the second, both."""
    times = np.concatenate(drops)
    flows = np.repeat([0, 1], [len(each) for each in drops])
    order = np.argsort(times, kind="stable")
    times, flows = times[order], flows[order]
    times, flows = times[times > SHARE_FROM], flows[times > SHARE_FROM]
    episodes = np.split(flows, np.flatnonzero(np.diff(times) > GAP) + 1)
    first, second = (np.array([each in of for of in episodes]) for each in (0, 1))
    parts = {"first": first & ~second, "second": second & ~first, "both": first & second}
    return {name: float(which.mean()) for name, which in parts.items()}


def _rate(rule: WindowRule, drops: Floats, trips: tuple[Floats, Floats], span: tuple[float, float]) -> float:
    """Return the mean rate of a window from `SHARE_FROM` on, packets/s: each ACK comes a round trip over the window later.

    ``drops``: times in s; a drop is seen a round trip later, and cuts once per round trip, in which the window stays.
    ``trips``: times and round-trip times in s. ``span``: begin and end in s.
    """
    s: Any = rule.start(FIRST_RTT)._replace(cwnd=FIRST_WINDOW)
    now, end = span[0] + FIRST_RTT, span[1]
    lost, still, rates = 0, -np.inf, list[float]()
    while now < end:
        rtt = float(np.interp(now, *trips))
        event = SimpleNamespace(time=now, rtt=rtt, acks=1.0, marks=0.0)
        if lost < len(drops) and now >= drops[lost] + rtt:
            s = rule.on_loss(s, rule.params, event)
            still = now + rtt
            lost = int(np.searchsorted(drops, now, side="right"))
        elif now >= still:
            s = rule.on_ack(s, rule.params, event)
        if now >= SHARE_FROM + STEP * len(rates):
            rates.append(s.cwnd / rtt)
        now += rtt / s.cwnd
    return float(np.mean(rates))


def replayed(case: str) -> pd.DataFrame:
    """Return a row for each run: the first flow's share in Linux, and that of our rules with Linux's losses."""
    windows, seconds = (evidence.table(case, name) for name in ("windows", "seconds"))
    late = seconds[seconds["time"] > SHARE_FROM].pivot_table("bytes", "run", "flow", aggfunc="sum")
    shares = dict(zip(map(str, late.index), late[0] / late.sum(axis=1), strict=True))
    rows = []
    for run, flows in evidence.table(case, "runs").groupby("run", sort=False):
        rates = []
        for flow in flows.sort_values("flow").to_dict("records"):
            own = windows[(windows["run"] == run) & (windows["flow"] == flow["flow"])]
            own = own[own["srtt"] > 0]
            trips = own["time"].to_numpy(dtype=float), own["srtt"].to_numpy(dtype=float) / 1e6
            drops = drops_of(case, str(run), flow["flow"])
            span = flow["start"], flow["seconds"]
            rates.append(_rate(RULES[flow["rule"]], drops, trips, span))
        rows.append({"run": run, "linux": shares[str(run)], "replayed": rates[0] / sum(rates)})
    return pd.DataFrame(rows)


def main() -> None:
    """Print shares, and who lost in Linux, as means over the runs."""
    for case in CASES:
        found = replayed(case)[["linux", "replayed"]]
        runs = evidence.table(case, "runs")["run"].unique()
        who = pd.DataFrame([losers((drops_of(case, r, 0), drops_of(case, r, 1))) for r in runs])
        print(case, found.mean().round(3).to_dict(), found.sem().round(4).to_dict())
        print("  lost alone or both:", who.mean().round(3).to_dict())


if __name__ == "__main__":
    main()
