"""An all-reduce of 32 hosts by halving and doubling over eleven fabrics: pauses, credits or losses, rates, routes."""

from dataclasses import replace

import numpy as np

from dfcmodel import (
    FIFO,
    INT,
    PFC,
    Cable,
    Credits,
    Fabric,
    FlowOptions,
    Packets,
    RampMarking,
    SelectiveRepair,
    all_reduce,
    job_completion,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from hopflow.results import figure
from responsefn import DCQCN, HPCC, FixedRate

PACKETS = 4096  # of 4096 bytes: 16.8 MB per host
four_leaves = Fabric(leaf_spine(4, 4, hosts=8), Cable("100Gbps", "10m"), Cable("200Gbps", "50m"), "1 MB", 4096)
ecn = RampMarking(25, 100, 0.1)
dcqcn = DCQCN()  # as published: 40 Mb/s, 400 Mb/s and 10 MB, in the packets of the fabric
pfc = {"xoff": 40, "xon": 20, "counts": "switch"}
late = SelectiveRepair(reordering=64)  # sprayed packets overtake each other
fabrics = {  # discipline, source, routes, repair
    "pauses, line rate, even": (PFC(**pfc), FixedRate(), "even", "go-back-n"),
    "pauses, line rate, hashed": (PFC(**pfc), FixedRate(), "ecmp", "go-back-n"),
    "pauses, line rate, sprayed": (PFC(**pfc), FixedRate(), "spray", late),
    "pauses, DCQCN, hashed": (PFC(**pfc, manager=ecn), dcqcn, "ecmp", "go-back-n"),
    "credits, line rate, hashed": (Credits(), FixedRate(), "ecmp", "go-back-n"),
    "credits, DCQCN, hashed": (Credits(manager=ecn), dcqcn, "ecmp", "go-back-n"),
    "losses, line rate, hashed": (FIFO(), FixedRate(), "ecmp", "go-back-n"),
    "losses, line rate, hashed, selective": (FIFO(), FixedRate(), "ecmp", "selective"),
    "losses, line rate, sprayed, selective": (FIFO(), FixedRate(), "spray", late),
    "losses, DCQCN, hashed": (ecn, dcqcn, "ecmp", "go-back-n"),
    "losses, HPCC, hashed": (INT(), HPCC(), "ecmp", "go-back-n"),
}

jobs, lost = {}, {}
for name, (discipline, source, routes, recovery) in fabrics.items():
    fabric = replace(four_leaves, discipline=discipline)
    given = {"source": source, "routes": routes, "links": fabric.links, "options": FlowOptions(host="nic")}
    flows = all_reduce(fabric.hosts, PACKETS, "halving-doubling", **given)
    scenario = fabric.scenario(name, flows, duration=0.05, min_rto=1e-3)
    run = simulate(scenario, Packets(seed=1, recovery=recovery), sample=0.05)
    jobs[name] = job_completion(run, "all_reduce", PACKETS)
    lost[name] = run.lost_by_flow.sum()
    job = jobs[name]
    print(
        f"{name:37} {1e3 * job.time:6.2f} ms, bound {1e3 * job.bound:.2f}, {1e-9 * job.bus_bandwidth:5.2f} GB/s, {lost[name]:.0f} lost"
    )

drawn, (curves, bars) = figure(6.4, 7.0, nrows=2, height_ratios=(3, 2))
dashes = {"pauses": "-", "credits": "--", "losses": ":"}
for name, job in jobs.items():
    part = np.arange(1, len(job.finished) + 1) / len(job.finished)
    curves.step(1e3 * job.finished, part, dashes[name.split(",")[0]], label=name)
curves.set(xlabel="time (ms)", ylabel="complete transfers", ylim=(0, 1.02))
curves.legend(fontsize=7, frameon=False)
bars.barh(list(jobs), [1e-9 * job.bus_bandwidth for job in jobs.values()], color="#56B4E9")
limits = [job.time / job.bound * 1e-9 * job.bus_bandwidth for job in jobs.values()]
bars.plot(limits, range(len(jobs)), "k|", markersize=12)
bars.invert_yaxis()
bars.tick_params(axis="y", labelsize=7)
bars.set(xlabel="bus bandwidth (GB/s), and the upper bound of these routes")
