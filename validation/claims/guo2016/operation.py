"""Livelock (G01), storms and watchdogs (G02, G03), slow receivers (G04), thresholds (G05)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dfcmodel import CBR, FIFO, Cable, Fabric, Flow, FlowOptions, Link, Packets, Scenario, flows_from, simulate
from dfcmodel.lossless import Watchdog, leaf_spine, storm_spread, watch_packets
from responsefn import FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, over_seeds
from validation.statistics import Estimate, of_runs

C = fabric_runs.line(40)
DROPPED = 1 / 256
MESSAGE = 4096
"""Packets of a message of 4 MB."""
SMALL_PART = 1e-3
"""Part of the link below which goodput counts as none."""


def go_back_0(p: float, size: int) -> float:
    """Return the part of the packets sent that complete messages of ``size`` packets have, which begin again at each loss.

    With independent losses of probability p the packets sent until a message is complete are a mean of (q^-size - 1) / p, q = 1 - p.
    """
    return size * p / math.expm1(-size * math.log1p(-p))


@kept
def go_back_n() -> list[float]:
    """Return the goodput of go-back-N over the link's rate with losses of one in 256, for each run."""
    found = []
    for seed in fabric_runs.SEEDS:
        scenario = fabric_runs.star(1, FixedRate(), FIFO(), 0.01, begins=fabric_runs.starts(1, seed))
        run = fabric_runs.packets(scenario, seed, 1e-3, 1e-4, loss={"switch->receiver": DROPPED})
        found.append(float(run.rates[0] / C))
    return found


@fabric_runs.on_fabrics("G01", least=0.5, also={"none": SMALL_PART})
def livelock() -> Effects:
    """Compute the goodput of go-back-0, and measure that of go-back-N."""
    none, own = go_back_0(DROPPED, MESSAGE), go_back_n()
    return Effects(
        {
            "livelock": Statement(model=fabric_runs.under(*fabric_runs.exact(none), threshold="none")),
            "progress": Statement(level=fabric_runs.over(of_runs(own))),
            "goodput": Statement(level=fabric_runs.over(of_runs(own), threshold="none")),
        },
        {
            "goodput": Curve(["go-back-0"], model=[none]),
            "goodput in packets": Curve(["go-back-N"], level=[of_runs(own)]),
        },
        ("repair", "part of the link"),
    )


BEFORE, STORM, END = 1e-3, 2e-3, 1.2e-2
"""When rates before the storm are counted from, its begin, and the end of the run, s."""
LATE = 6e-3
"""From when rates under the storm are counted, s."""
LATEST = (1.2e-2, 1.6e-2)
"""Begin and end of what is counted when flows no longer send what the storm held back, s."""
DOG = Watchdog("0.5 ms", "1 ms", "1 ms")
NEVER = Watchdog("10 s", "10 s", "10 s")
"""One that does nothing within a run."""
FAULT = "stormy->stormy memory"
"""The port whose fault makes its host pause the switch."""
LEAVES = 4
RATE = 1.5e6
"""Of each link, packets/s, of which the flows use four fifths in all."""


def storm_network(xoff: float) -> tuple[Scenario, list[list[str]]]:
    """Return flows of 16 hosts of four switches to a host and its neighbour on a fifth one, and their routes.

    A receiving host is a node whose link leads to its memory, so that its interface may pause the switch.
    """
    rule = fabric_runs.pfc(xoff, xon=0.5 * xoff)
    ways = [(f"h{n}", f"leaf{n // 4}") for n in range(16)]
    ways += [(f"leaf{n}", "spine") for n in range(LEAVES)]
    ends = ("stormy", "neighbour")
    ways += [
        ("spine", "leaf4"),
        *(("leaf4", end) for end in ends),
        *((end, f"{end} memory") for end in ends),
    ]
    links = [Link(*way, RATE, 1e-6, 2000, rule) for way in ways]
    paths = [[f"h{n}", f"leaf{n // 4}", "spine", "leaf4", ends[n % 2]] for n in range(16)]
    flows = [Flow(f"flow {n}", (*path, f"{path[-1]} memory"), CBR(RATE / 20)) for n, path in enumerate(paths)]
    return Scenario("storm", links, flows, duration=END, packet_size=fabric_runs.PACKET), paths


@kept
def victims(watched: str, window: tuple[float, float] = (LATE, END)) -> list[float]:
    """Return the rate of the flows to the neighbour in a window over that before the storm, for each run.

    Watchdogs are at no link, at ``"all"`` links of switches, or at the ports that face ``"hosts"``.
    """
    late, end = window
    found = []
    for seed in fabric_runs.SEVEN_SEEDS:
        scenario, paths = storm_network(40.0)
        begins = fabric_runs.starts(16, seed)
        flows = [replace(flow, start=begin) for flow, begin in zip(scenario.flows, begins, strict=True)]
        scenario = replace(scenario, flows=flows, duration=end)
        dog = DOG if watched != "none" else NEVER
        links = ["leaf4->stormy", "leaf4->neighbour"] if watched == "hosts" else None
        run = watch_packets(scenario, dog, storms={FAULT: [(STORM, end)]}, links=links, method=Packets(seed=seed)).run
        to_neighbour = [n for n, path in enumerate(paths) if path[-1] == "neighbour"]
        time, own = run.time, run.delivered[to_neighbour].sum(axis=0)
        at = np.interp([BEFORE, STORM, late, end], time, own)
        found.append(float((at[3] - at[2]) / (end - late) / ((at[1] - at[0]) / (STORM - BEFORE))))
    return found


@fabric_runs.on_fabrics("G02", least=0.05)
def storm() -> Effects:
    """Compute which flows a storm stops, and measure the others' rates."""
    _, paths = storm_network(40.0)
    spread = storm_spread(paths, RATE / 20, [("leaf4", "stormy")], threshold=40.0, delay=1e-6)
    to_neighbour = {n for n, path in enumerate(paths) if path[-1] == "neighbour"}
    stopped = len(set(spread.victims) & to_neighbour) / len(to_neighbour)
    own = of_runs(victims("none"))
    return Effects(
        {"victims": Statement(model=fabric_runs.under(Estimate(1.0 - stopped, 0.0)), level=fabric_runs.under(own))},
        {"flows to the neighbour that go on": Curve(["storm"], model=[1.0 - stopped], level=[own])},
        ("fault", "part"),
    )


@fabric_runs.on_fabrics("G03", least=0.9)
def watchdogs() -> Effects:
    """Measure the rates of the others under a storm with watchdogs."""
    places = {"none": "no watchdog", "all": "at all links", "hosts": "at ports that face hosts"}
    own = {name: of_runs(victims(where, LATEST)) for where, name in places.items()}
    return Effects(
        {
            "freed": Statement(level=fabric_runs.over(of_runs(victims("all")))),
            "freed_by_hosts": Statement(level=fabric_runs.over(own[places["hosts"]])),
        },
        {"flows to the neighbour": Curve(list(own), level=list(own.values()))},
        ("watchdogs", "rate over that before the storm"),
        values={"during": of_runs(victims("hosts", (STORM, 4e-3)))},
        readings={"watchdogs at all links": {"freed_by_hosts": Statement(level=fabric_runs.over(own[places["all"]]))}},
    )


SMALL_THRESHOLD, LARGE_THRESHOLD = 10.0, 100.0
"""Thresholds of PFC, packets."""
PERIOD, PAUSED, SLOW_END = 2e-4, 2e-5, 4e-3
"""How often, and how long, the slow receiver pauses, and the end of the run, s."""


@kept
def pauses_of_slow_receiver(xoff: float) -> list[float]:
    """Return how many pauses links between switches have while a receiver is slow, for each run."""
    found = []
    for seed in fabric_runs.SEEDS:
        scenario, _ = storm_network(xoff)
        begins = fabric_runs.starts(16, seed)
        flows = [
            replace(flow, start=begin, source=CBR(RATE / 10 * 0.8))
            for flow, begin in zip(scenario.flows, begins, strict=True)
        ]
        slow = [(t, t + PAUSED) for t in np.arange(1e-3, SLOW_END - PERIOD, PERIOD).tolist()]
        run = watch_packets(
            replace(scenario, flows=flows, duration=SLOW_END), NEVER,
            storms={FAULT: slow}, method=Packets(seed=seed),
        ).run  # fmt: skip
        between = {"spine->leaf4", *(f"leaf{n}->spine" for n in range(LEAVES))}
        found.append(float(sum(str(name) in between for name in run.pauses().link.values)))
    return found


@fabric_runs.on_fabrics("G04", least=0.5)
def slow_receiver() -> Effects:
    """Count the pauses that a slow receiver causes between switches, by threshold."""
    small, large = (np.array(pauses_of_slow_receiver(xoff)) for xoff in (SMALL_THRESHOLD, LARGE_THRESHOLD))
    fewer = of_runs((small - large) / np.maximum(large, 1.0))
    return Effects(
        {
            "spreads": Statement(level=(of_runs(small),)),
            "absorbed": Statement(level=fabric_runs.over(fewer)),
        },
        {"pauses": Curve([SMALL_THRESHOLD, LARGE_THRESHOLD], level=[of_runs(small), of_runs(large)])},
        ("threshold (packets)", "pauses of links between switches"),
    )


LOW, HIGH = 20.0, 80.0
"""Thresholds in the ratio of alpha = 1/64 to 1/16, packets."""
BURST, SHORT = 40, 10
"""Packets of each flow of an incast, and of a short flow."""


@over_seeds(fabric_runs.SEEDS)
def incast_and_short(seed: int, xoff: float) -> tuple[float, float]:
    """Return pauses of an incast of eight hosts, and the mean completion time of short flows from the same hosts, s."""
    cable = Cable("40Gbps", "100m")
    fabric = Fabric(
        leaf_spine(3, 1, hosts=4),
        cable,
        cable,
        buffer="2 MB",
        packet_size=fabric_runs.PACKET,
        discipline=fabric_runs.pfc(xoff, xon=0.5 * xoff),
    )
    target, idle, senders = fabric.hosts[8], fabric.hosts[9], fabric.hosts[:8]
    begins = fabric_runs.starts(16, seed)
    flows = flows_from(
        [*senders, *senders], [*[target] * 8, *[idle] * 8], [*[BURST] * 8, *[SHORT] * 8],
        begins, source=FixedRate(), links=fabric.links, routes="ecmp", options=FlowOptions(host="nic"),
    )  # fmt: skip
    run = simulate(fabric.scenario("alpha", flows, 2e-3), Packets(seed=seed), sample=1e-5)
    times = run.finished[8:] - np.array(begins[8:])
    return float(run.pauses().sizes["pause"]), float(times.mean())


@fabric_runs.on_fabrics("G05", cases=(CASE,), least=0.5)
def smaller_alpha() -> Effects:
    """Measure pauses and completion times by threshold."""
    low, high = (np.array(incast_and_short(xoff)) for xoff in (LOW, HIGH))
    more = of_runs((low[:, 0] - high[:, 0]) / np.maximum(high[:, 0], 1.0))
    slower = fabric_runs.gain(low[:, 1], high[:, 1])
    return Effects(
        {"pauses": Statement(level=fabric_runs.over(more)), "latency": Statement(level=(slower,))},
        {
            "pauses": Curve([LOW, HIGH], level=[of_runs(low[:, 0]), of_runs(high[:, 0])]),
            "short flows (us)": Curve([LOW, HIGH], level=[of_runs(1e6 * low[:, 1]), of_runs(1e6 * high[:, 1])]),
        },
        ("threshold (packets)", "pauses, or microseconds"),
        values={"slower": slower},
    )
