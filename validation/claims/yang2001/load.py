"""TCP and UDP flows on a slow link (Y01, Y02)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dfcmodel import CBR, Flow, Link, Packets, Scenario, simulate
from responsefn import PFTK, Reno
from validation.claims.effect_claims import deviation, effects
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.claims.kaneko2007.runs import of_cases
from validation.claims.yang2001.sharing import UDP_RATE
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE, over_seeds
from validation.records import rows
from validation.statistics import PART, Estimate, difference, mostly, of_runs

TIMES = (
    "yang2001/transfer-times", "yang2001/transfer-times-100mb", "yang2001/transfer-times-seeds"
)  # fmt: skip
LOAD = "yang2001/sensitivity-load"
SHARES, OTHERS = "yang2001/bandwidth-shares", "yang2001/sensitivity-shares"
LINK = 1e6
"""Rate of the bottleneck, bit/s: the paper's total load over its time."""
FLOWS, UDP_FLOWS = 13, 6
EARLY, LATE = 50, 100
"""Times until which the share drops, and from which it is small, s."""
SMALL_CHANGE = 0.01
LONGEST = 1000
"""Simulated time at hopflow's packet level, s."""
DELAY, BUFFER, PACKET = 0.048, 50, 1000
"""Round-trip time without queues in s, buffer in packets of UDP and TCP, bytes of TCP's packets."""
LONG_TRANSFER = 10_000_000
"""Size in bytes from which the start of a transfer does not decide its time."""
PAST_SLOW_START = 100_000
"""Size in bytes from which a transfer outlasts its slow start."""


@effects("Y01", cases=(*TIMES, LOAD), equal=True)
def transfer_times() -> Effects:
    """Measure the transfer times of 7 TCP and 6 UDP flows by their size."""
    frame = of_cases(*TIMES)
    printed = pd.DataFrame(rows("yang2001_table1.csv"))
    printed["time"] = printed["transfer_time_s"].astype(float)
    printed["size"] = printed["size_bytes"].astype(float)
    groups = frame.groupby(["size", "seed", "protocol"])["transfer_time"]
    first, last, mean = (getattr(groups, name)().unstack() for name in ("min", "max", "mean"))  # noqa: PD010
    ahead = (first["TCP"] > last["UDP"]).groupby("seed").all()
    sizes = [int(size) for size in sorted(frame["size"].unique())]
    gaps = {size: of_runs((mean["TCP"] - mean["UDP"]).loc[size]) for size in sizes}
    rate = {size: of_runs(8.0 * FLOWS * size / last["TCP"].loc[size]) for size in sizes}
    means = {(protocol, size): of_runs(mean[protocol].loc[size]) for protocol in ("TCP", "UDP") for size in sizes}
    table = printed.groupby(["protocol", "size"])["time"].mean()
    alone = {size: 8.0 * UDP_FLOWS * size / LINK for size in sizes}
    exact = 8.0 * FLOWS / (8.0 * UDP_FLOWS) - 1.0
    curves = {
        protocol: Curve(
            sizes,
            [means[protocol, size] for size in sizes],
            list(alone.values()) if protocol == "UDP" else (),
        )
        for protocol in ("TCP", "UDP")
    }
    return Effects(
        {
            "before": Statement(
                lambda given: mostly(ahead, given["level"]),
                (Estimate(exact, 0.0),),
            ),
            "grows": Statement(
                tuple(difference(gaps[b], gaps[a]) for a, b in itertools.pairwise(sizes)),
                tuple(
                    Estimate((alone[b] - alone[a]) * exact / 2.0, 0.0)
                    for a, b in itertools.pairwise(sizes)
                ),
            ),
            "rate": Statement(
                tuple(deviation(rate[s], LINK) for s in sizes if s >= PAST_SLOW_START),
                (Estimate(0.0, 0.0),),
                equal=True,
            ),
            **_against_the_table(means, table, alone),
        },
        curves,
        ("size (bytes)", "mean transfer time (s)"),
        "xy",
        values={
            "ahead": int(ahead.sum()), "seeds": ahead.size, "rates": list(rate.values()), "million": means["UDP", 1_000_000],
            "alone": alone[1_000_000], "printed": float(table["UDP", 1_000_000]),
            "queues": [_changed("default"), _changed("200")], "packets": BUFFER,
            "tcp": means["TCP", 1_000_000], "tcp_printed": float(table["TCP", 1_000_000]),
        },
    )  # fmt: skip


def _against_the_table(
    means: dict[tuple[str, int], Estimate], table: pd.Series[float], alone: dict[int, float]
) -> dict[str, Statement]:
    """Return the statements on the times of the paper's table: of long transfers, and of short ones."""

    def off(long: bool) -> tuple[Estimate, ...]:
        return tuple(
            deviation(e, float(table[protocol, s]))
            for (protocol, s), e in means.items()
            if (s >= LONG_TRANSFER) == long
        )

    udp = (Estimate(t / float(table["UDP", s]) - 1.0, 0.0) for s, t in alone.items() if s >= LONG_TRANSFER)
    return {
        "times": Statement(off(long=True), tuple(udp), equal=True),
        "short": Statement(off(long=False), equal=True),
    }


def _changed(buffer: str) -> Estimate:
    """Return the load over the time of all transfers of a megabyte with another buffer, bit/s."""
    frame = of_cases(LOAD)
    frame = frame[(frame["value"] == buffer) & (frame["protocol"] == "TCP")]
    ends = frame.groupby("seed")["transfer_time"].max()
    return of_runs((8e6 * FLOWS / ends).to_numpy())


def share_by_law() -> float:
    """Return TCP's share of the link at the loss that UDP's overload causes, by its response.

    p = 1 - C / (rates of the UDP flows), to which TCP's own packets add less than the share itself;
    the round-trip time is that of a full buffer.
    """
    lost = 1.0 - LINK / (UDP_FLOWS * UDP_RATE)
    rtt = DELAY + BUFFER * 8.0 * PACKET / LINK
    rate = float(PFTK().rate(p=lost, rtt=rtt))
    sent = (FLOWS - UDP_FLOWS) * rate * (1.0 - lost) * 8.0 * PACKET
    return sent / LINK


SEEDS = 3
NEAR, ACCESS, WINDOW = 2e-3, 1250.0, 20.0
"""Delay of the other links in s, their rate in packets/s; ns-2's window."""


def shares_at_packet_level(times: tuple[int, ...]) -> np.ndarray:
    """Return TCP's share of what is delivered until some times at hopflow's packet level, (seeds, T)."""
    return np.array(shares_of(times))


@over_seeds(range(1, SEEDS + 1))
def shares_of(seed: int, times: tuple[int, ...]) -> list[float]:
    """Return the same of a run.

    Packets of UDP are as large as TCP's: all of a scenario have one size.
    """
    rate = LINK / (8.0 * PACKET)
    starts = np.random.default_rng(seed).uniform(0.0, 0.1, FLOWS)
    links = [Link("R1", "R2", rate, DELAY / 2 - 2 * NEAR, BUFFER - 1)]
    flows = []
    for n, start in enumerate(starts):
        links += [Link(*ends, ACCESS, NEAR, 1e5) for ends in ((f"s{n}", "R1"), ("R2", f"d{n}"))]
        source = CBR(UDP_RATE / (8.0 * PACKET)) if n < UDP_FLOWS else Reno()
        path = (f"s{n}", "R1", "R2", f"d{n}")
        flows.append(Flow(f"{n}", path, source, WINDOW, float(start)))
    scenario = Scenario(
        "R1 to R2",
        tuple(links),
        tuple(flows),
        float(max(times)),
        packet_size=PACKET,
        min_rto=0.2,
    )
    run = simulate(scenario, Packets(), sample=1.0, seed=seed, packet_jitter=1.0 / rate)
    sent = run.delivered[:, [round(time) - 1 for time in times]]
    shares: list[float] = (sent[UDP_FLOWS:].sum(axis=0) / sent.sum(axis=0)).tolist()
    return shares


def _at_packet_level(times: Sequence[int]) -> dict[int, Estimate]:
    """Return the share by the time at hopflow's packet level."""
    shares = shares_at_packet_level(tuple(times))
    return {time: of_runs(shares[:, n], PART) for n, time in enumerate(times)}


@effects("Y02", cases=(SHARES, OTHERS, CASE))
def shares_of_the_link() -> Effects:
    """Measure TCP's share of the departures at the bottleneck, by the time since the start."""
    frame = of_cases(SHARES)
    sent = frame.groupby(["time", "seed", "protocol"])["departed"].sum().unstack()  # noqa: PD010
    shares = sent["TCP"] / (sent["TCP"] + sent["UDP"])
    found = {int(str(time)): of_runs(seeds, PART) for time, seeds in shares.groupby("time")}
    drops = [
        of_runs((shares[a] - shares[b]).to_numpy())
        for a, b in itertools.pairwise(time for time in found if time <= EARLY)
    ]
    law = share_by_law()
    own = _at_packet_level([time for time in found if time <= LONGEST])
    falls = shares_at_packet_level(tuple(own))
    early = [n for n, time in enumerate(own) if time <= EARLY]
    other = of_cases(OTHERS).query("time == @LATE")
    counts = other.groupby(["parameter", "value", "protocol"])["departed"].sum().unstack()  # noqa: PD010
    largest = (counts["TCP"] / counts.sum(axis=1)).max()
    return Effects(
        {
            "drops": Statement(
                tuple(drops), Verdict.NOT_APPLICABLE,
                level=tuple(of_runs(falls[:, a] - falls[:, b]) for a, b in itertools.pairwise(early)),
            ),
            "below": Statement(
                tuple(beyond(-e, -SMALL_CHANGE) for t, e in found.items() if t >= LATE),
                (Estimate(SMALL_CHANGE - law, 0.0),),
                level=tuple(beyond(-e, -SMALL_CHANGE) for t, e in own.items() if t >= LATE),
            ),
        },
        {
            "TCP": Curve(list(found), list(found.values())),
            "TCP at hopflow's packet level": Curve(list(own), level=list(own.values())),
        },
        ("time since the start (s)", "share of TCP (1)"),
        "x",
        values={"own": own[LATE], "early": found[EARLY], "late": found[LATE], "first": found[1], "law": law,
                "largest": float(largest), "others": len(counts)},
    )  # fmt: skip
