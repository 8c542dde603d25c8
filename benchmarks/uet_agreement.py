"""``python -m benchmarks.uet_agreement``: NSCC and RCCC beside the consortium's htsim, run by run, on one path and sprayed.

It writes ``results/uet_agreement.md``, the table of the documentation, from the bundled runs ``htsim/uec`` and runs of the packet level over
the same fabrics with the parameters that htsim prints (base round-trip time and target 9.33 us, a product of 116,640 bytes). Times are
means of three seeds in both. Nothing is fitted.

Expected, written down before the first comparison: the last flow and the mean time of a flow are within `TOLERANCE` of htsim's on
one path, where switches take spines in turn, and with RCCC. Where packets of NSCC are hashed over eight spines they are within `HASHED`: here
each packet is drawn at random, there the 64 entropies of a flow are spread over the spines once, some of which get more.
This is for senders that take no packet for lost because others overtake it, as htsim's do: `PATIENT`. With the recovery of `NSCC`,
for which three later ACKs are a loss, sprayed flows were expected to take at least 1.2 times as long as htsim's; the four permutations do,
the others do not (``python -m benchmarks.uet_agreement --impatient``).

Two things were learnt from the first comparison. In htsim ACKs go before data: with ACKs that queue behind data the permutation over one spine
took 1.15 times as long, so that ACKs take no time on links here. And while a sender of RCCC waits for credit its timer must not expire: it has
4 ms here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fabric_agreement import TOLERANCE, text_of
from dfcmodel import (
    FIFO,
    RCCC,
    Cable,
    Credited,
    Fabric,
    FlowOptions,
    Packets,
    RampMarking,
    Scenario,
    SelectiveRepair,
    Trimming,
    flows_from,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from dfcmodel.recoveries import RackRecovery
from hopflow import us
from responsefn import NSCC
from validation import evidence

CASE = "htsim/uec"
HASHED = 2.0 * TOLERANCE
"""Of htsim's time, where packets of NSCC are hashed."""
PATIENT = RackRecovery(reordering=4.0, reordering_seen=1.0)
"""Nothing is found late in these runs, in which nothing is lost; a probe is sent where nothing comes for two round trips."""
SEEDS = (1, 2, 3)
SIZE = 4096
RATE = 100e9 / 8 / SIZE
TRIP, PRODUCT = us(9.3312), 116_640 / SIZE
"""As htsim prints them: of the longest path without queues."""
RESULTS = Path(__file__).parent / "results" / "uet_agreement.md"


def scenario_of(run: str) -> Scenario:
    """Return the scenario of a bundled run: its fabric, with 1 us per link, and its flows."""
    about: Any = next(evidence.table(CASE, "runs").query("run == @run").itertuples())
    flows = evidence.table(CASE, "flows").query("run == @run and seed == 1")
    credited = about.control == "rccc"
    if credited:
        switches: Any = Trimming(limit=about.buffer)
    else:
        switches = RampMarking(float(about.low), float(about.high), 1.0)
    cable = Cable("100Gbps", "200m")
    fabric = Fabric(
        leaf_spine(about.leaves, about.spines, hosts=about.hosts), cable, buffer=2000.0 * SIZE, packet_size=SIZE,
        discipline=switches,
    )  # fmt: skip
    links = [replace(link, discipline=FIFO()) if link.source in fabric.hosts else link for link in fabric.links]
    rule = NSCC(base_rtt=TRIP, bdp=PRODUCT, target_qdelay=TRIP)
    senders, receivers = ([fabric.hosts[host] for host in flows[each]] for each in ("source", "target"))
    own = flows_from(
        senders,
        receivers,
        flows["packets"].to_numpy(float),
        flows["start"].to_numpy(float),
        source=Credited() if credited else rule,
        links=links,
        routes="ecmp" if about.balancing == "one" else "spray",
        options=FlowOptions(receiver=RCCC(unsolicited=round(1.5 * PRODUCT)) if credited else None, host="nic"),
    )
    # the timer of htsim: 15 us and six queues
    timer = us(4000.0 if credited else 15.0) + (0.0 if credited else 6.0 * about.buffer / RATE)
    return Scenario(run, links, own, duration=0.05, packet_size=SIZE, min_rto=timer)


def row_of(run: str, recovery: Any = PATIENT) -> dict[str, Any]:
    """Return when the last flow of a run is complete, and after what time flows are in the mean, s, here and in htsim.

    Raises
    ------
    RuntimeError
        If a flow is not complete.
    """
    scenario = scenario_of(run)
    about: Any = next(evidence.table(CASE, "runs").query("run == @run").itertuples())
    theirs = evidence.table(CASE, "flows").query("run == @run")
    starts = theirs.query("seed == 1")["start"].to_numpy()
    repair = SelectiveRepair(reordering=1000) if about.control == "rccc" else recovery
    back = np.array([us(1) * (len(flow.path) - 1) for flow in scenario.flows])
    ends = []
    for seed in SEEDS:
        spraying = "turns" if about.balancing == "turns" else "random"
        method = Packets(seed=seed, recovery=repair, ack_transmission=False, spraying=spraying)
        ends.append(simulate(scenario, method, sample=scenario.duration).finished + back)
    if not np.isfinite(ends).all():
        raise RuntimeError(f"{run}: not all flows are complete after {scenario.duration} s")
    last = theirs.groupby("seed")["finish"].max().mean()
    hashed = about.balancing == "hashed" and about.control == "nscc"
    return {
        "run": run, "flows": len(starts), "tolerance": HASHED if hashed else TOLERANCE,
        "last": (float(np.max(ends, axis=1).mean()), float(last)),
        "mean": (float((np.array(ends) - starts).mean()), float((theirs["finish"] - theirs["start"]).mean())),
    }  # fmt: skip


def main() -> None:
    """Compare all runs, and write the table; ``--impatient``: with the recovery of `NSCC`, and write nothing."""
    impatient = "--impatient" in sys.argv
    names = evidence.table(CASE, "runs")["run"]
    rows: list[Mapping[str, Any]] = [row_of(run, "sack" if impatient else PATIENT) for run in names]
    text = text_of(rows, "htsim")
    if not impatient:
        RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
