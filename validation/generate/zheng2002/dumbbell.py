"""Flows of several kinds over one bottleneck (zheng2002, Sect. 3), by ns-2: one run, its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from validation.generate.cases import Calls, Column, Rows, Run, Table
from validation.generate.outputs import lines, loss_events
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("dumbbell.tcl")
WARM = 20.0
DURATION = 90.0
BIN = 0.5
TRUNK_DELAY = 20e-3
ACCESS_RATE = 100e6
ACK_BITS = 8 * 40
AB = {"TCP(1,1/2)": (1.0, 0.5), "TCP(3/7,1/4)": (3 / 7, 0.25), "TCP(1/5,1/8)": (0.2, 0.125)}
DEFAULTS: Mapping[str, float | str] = {
    "bandwidth": 15e6,
    "access": 2e-3,
    "step": 0,
    "queue": "RED",
    "buffer": 180,
    "low": 30,
    "high": 90,
    "ecn": 0,
    "size": 1000,
    "window": 10000,
    "jitter": 0,
    "background": 0,
    "warm": WARM,
    "duration": DURATION,
}
SEED = {"seed": Column("1", "substream of the random number streams")}
KIND = Column("", "TCP(a,b), TFRC, background (on/off UDP) or cbr (UDP at a constant rate)")
FLOW = Column("1", "number of the flow among those of its kind, from 1")

FLOW_VALUES = {
    "access_delay": Column("s", "one-way delay of each of the two access links of the flow"),
    "start": Column("s", "start of the flow"),
    "arrivals": Column("packets", "packets of the flow that reached the bottleneck's queue"),
    "drops": Column("packets", "of these, dropped"),
    "departures": Column("packets", "packets of the flow that the bottleneck began to send"),
    "queued_before": Column("packets", "packets of the flow waiting when the measurement began"),
    "queued_after": Column("packets", "packets of the flow waiting when it ended"),
    "marks": Column("packets", "departures with ECN's mark"),
    "loss_events": Column(
        "events",
        "drops that came one mean_rtt or more after the drop that began the loss event before; "
        "marks do not count; empty for UDP",
    ),
    "sent": Column("packets", "data packets that the sender sent; empty for UDP"),
    "resent": Column("packets", "of these, sent again; empty for TFRC and UDP"),
    "received": Column(
        "packets", "TCP: newly acknowledged; TFRC and UDP: packets that reached the receiver"
    ),
    "timeouts": Column("events", "retransmission timeouts; empty for TFRC and UDP"),
    "cuts": Column(
        "events",
        "window reductions, also by timeouts and by ECN; empty for TFRC and UDP",
    ),
    "ecn_responses": Column("events", "of the cuts, answers to marks; empty for TFRC and UDP"),
    "rate": Column("packets/s", "departures / length of the measurement"),
    "rate_variance": Column(
        "(packets/s)^2", f"sample variance of the departures per {BIN:g} s, as rates"
    ),
    "rate_cov": Column("1", "square root of rate_variance over the mean; empty without packets"),
    "p": Column("1", "drops / arrivals; empty without arrivals"),
    "p_event": Column("1", "loss_events / arrivals; empty for UDP"),
    "mean_wait": Column(
        "s",
        "mean time of the flow's departed packets in the bottleneck's queue; empty for UDP and "
        "without departures",
    ),
    "mean_rtt": Column(
        "s",
        "mean_wait + propagation and transmission times of packet and acknowledgement; "
        "empty for UDP and without departures",
    ),
    "sampled_rtt": Column(
        "s", "mean of TCP's latest round-trip sample, looked at every 0.1 s; empty otherwise"
    ),
}
LINK_VALUES = {
    "arrivals": Column("packets", "packets that reached the queue, dropped ones included"),
    "drops": Column("packets", "packets dropped by the queue"),
    "departures": Column("packets", "packets that the link began to send"),
    "queued_before": Column("packets", "packets waiting when the measurement began"),
    "queued_after": Column("packets", "packets waiting when it ended"),
    "marks": Column("packets", "departures with ECN's mark"),
    "departed_bytes": Column("bytes", "bytes of the departures"),
    "utilisation": Column(
        "1",
        "8 departed_bytes / (rate x length of the measurement); counted as transmissions begin, "
        "so a link that never idles may show up to one packet more than 1",
    ),
    "loss": Column("1", "drops / arrivals"),
    "mean_queue": Column("packets", "mean over time of the packets waiting"),
    "mean_wait": Column("s", "mean_queue / rate of arrivals that were not dropped"),
    "peak_queue": Column("packets", "most packets seen waiting, looked at every 0.1 s"),
}
SERIES_VALUES = {"departures": Column("packets", f"packets of the flow sent in {BIN:g} s")}

NOTES = (
    (
        "Not stated by the paper and chosen here: TCP is SACK with one acknowledgement per packet; "
        "1,000 bytes per packet on the wire for every kind (TFRC puts 32 bytes, TCP 40 on top of "
        "packetSize_), so that 15 Mb/s are 1,875 packets/s and 90 packets per 48 ms; RED counts "
        "packets, thresholds 1/3 and 1, buffer 2 bandwidth-delay products (30, 90, 180 packets at "
        "15 Mb/s; 120, 360, 720 at 60 Mb/s), max_p 0.1, weight 0.002, gentle. ns-2's own automatic "
        "thresholds would be 5 and 15 packets."
    ),
    (
        "The thresholds are of the size that makes one flow's losses begin beyond a window of 120, "
        "as the paper reports in Fig. 3; that point of Fig. 3 is thus no independent evidence."
    ),
    (
        "Reading '1-b': decrease_num_, the factor of the window that is kept, is 1-b, as TCP(a,b) "
        "is defined. Reading 'b': decrease_num_ is b, as if it were the part given up. Both are the "
        "same for b = 1/2; the reading is then '1-b'."
    ),
    (
        "ns-2 cuts to 1/2 at a flow's first loss, in slow start and for the threshold after a "
        "timeout, whatever b is."
    ),
    (
        "Flows start at times uniform in the first 5 s; all that is measured is measured from "
        f"{WARM:g} s on. A seed gives the same starts to the flows of every setting with the same "
        "number of flows."
    ),
    (
        "arrivals + queued_before = drops + departures + queued_after, exactly, for every flow and "
        "for the link. Acknowledgements travel on a link of their own and are never lost."
    ),
    (
        "TFRC: tcp_tick_ 1 ms and minrto_ 0.2 s as TCP's (ns-2's default clock of 0.1 s would give "
        "t_RTO in steps of 0.1 s)."
    ),
)

PARAMETERS: dict[str, tuple[float | str, str]] = {
    "agents": ("Agent/TCP/Sack1 and Agent/TCPSink/Sack1; Agent/TFRC and Agent/TFRCSink", ""),
    "trunk rate": (15e6, "bit/s"),
    "trunk delay": (TRUNK_DELAY, "s"),
    "access rate": (ACCESS_RATE, "bit/s"),
    "access delay": (2e-3, "s (on either side)"),
    "bytes per packet": (1000, "bytes (with all headers; acknowledgements 40)"),
    "queue": ("RED", "(in packets)"),
    "thresh_, maxthresh_": ("30, 90", "packets"),
    "limit_": (180, "packets (drops what finds 179 waiting)"),
    "q_weight_": (0.002, "1"),
    "linterm_": (10, "1 (max_p = 0.1)"),
    "gentle_, wait_": ("true", ""),
    "mark_p_ (default)": (0.1, "1 (with ECN: RED drops where its probability is above)"),
    "window_": (10000, "packets"),
    "windowOption_": (1, "1"),
    "increase_num_, decrease_num_": ("a, 1 - b or b by the reading", ""),
    "tcpTick_ (TCP)": (1e-4, "s"),
    "tcp_tick_ (TFRC)": (1e-3, "s"),
    "minrto_": (0.2, "s"),
    "overhead_": (0, "s"),
    "singledup_ (TCP, default)": (1, "1 (limited transmit)"),
    "windowInit_ (TCP, default)": (2, "packets"),
    "bval_ (TFRC, default)": (1, "packets per acknowledgement"),
    "starts": ("uniform in 0 to 5", "s"),
    "measured": (f"{WARM:g} to {DURATION:g}", "s"),
    "background": (
        "0",
        "on/off UDP sources of 500 kb/s; on 1 s, off 2 s in the mean, both Pareto of shape 1.5",
    ),
}


EXCHANGED = "a and b exchanged"
"""The reading of TCP(a,b) with a as the part that is given up, as the caption of the paper's Fig. 7 has it."""


def spec(kind: str, number: int, reading: str) -> str:
    """Return the flows of one kind in the notation of ``dumbbell.tcl``."""
    if kind == "TFRC":
        return f"tfrc/0/0/{number}"
    increase, decrease = AB[kind]
    if reading == EXCHANGED and kind != "TCP(1,1/2)":
        increase, decrease = decrease, increase
    kept = decrease if reading == "b" else 1 - decrease
    return f"sack/{increase!r}/{kept!r}/{number}"


def make(
    factors: Mapping[str, float | str],
    kinds: Sequence[tuple[str, int]],
    seed: int,
    *,
    reading: str = "1-b",
    series: bool = False,
    options: Mapping[str, float | str] | None = None,
) -> Run:
    """Build a run: the columns that identify it, its flows, and its non-default options."""
    chosen = {**DEFAULTS, **(options or {})}
    chosen["kinds"] = ",".join(spec(kind, number, reading) for kind, number in kinds)
    return {
        "factors": dict(factors),
        "labels": [kind for kind, _ in kinds],
        "options": chosen | {"seed": seed},
        "seed": seed,
        "series": series,
    }


def tables(factors: Mapping[str, Column], *, series: str = "") -> dict[str, Table]:
    """Tables of a case whose runs differ in ``factors``; ``series`` describes those with one."""
    keys = {**factors, **SEED}
    flow = {**keys, "kind": KIND, "flow": FLOW}
    chosen = {"flows": Table(flow, FLOW_VALUES), "link": Table(keys, LINK_VALUES)}
    if series:
        time = Column("s", f"end of an interval of {BIN:g} s; {series}")
        chosen["series"] = Table({**flow, "time": time}, SERIES_VALUES)
    return chosen


def short(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")


def calls(run: Run) -> Calls:
    """Return the options of ``dumbbell.tcl``."""
    return [pairs(run["options"])]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Sum up the counters of one run."""
    options = run["options"]
    key = {**run["factors"], "seed": run["seed"]}
    seconds = options["duration"] - options["warm"]
    bits = 8 * options["size"]
    hops = 2 * bits / ACCESS_RATE + bits / options["bandwidth"]
    hops += 2 * ACK_BITS / ACCESS_RATE + ACK_BITS / options["bandwidth"]

    drop_times: dict[int, list[float]] = {}
    for time, flow in lines(folder, "drops.txt"):
        if float(time) > options["warm"]:
            drop_times.setdefault(int(flow), []).append(float(time))
    counts = [[float(word) for word in words] for words in lines(folder, "counts.txt")]
    first = next(m for m, row in enumerate(counts) if row[0] > options["warm"] - BIN / 2)

    flows: Rows = []
    series: Rows = []
    numbers: dict[str, int] = {}
    for words in lines(folder, "flows.txt"):
        fid = int(words[0])
        kind = run["labels"][int(words[1]) - 1] if words[1].isdigit() else words[1]
        greedy = kind not in {"background", "cbr"}
        tcp = kind in AB
        number = numbers[kind] = numbers.get(kind, 0) + 1
        start, wait, sampled = map(float, words[2:5])
        counted = [round(float(word)) for word in words[5:]]
        before, after = counted[::2], counted[1::2]
        change = [b - a for a, b in zip(before, after, strict=True)]
        arrivals, drops, departures, _, marks, sent, resent, timeouts, cuts, ecn, received = change
        times = drop_times.get(fid, [])
        if abs(len(times) - drops) > 1:  # the trace rounds its times
            msg = f"flow {fid}: {drops} drops counted, {len(times)} traced"
            raise RuntimeError(msg)
        access = options["access"] + options["step"] * (number - 1) * greedy
        rtt = wait + hops + 2 * (TRUNK_DELAY + 2 * access)
        events = loss_events(times, rtt)
        column = [row[fid] for row in counts]
        bins = [(b - a) / BIN for a, b in zip(column[first:], column[first + 1 :], strict=False)]
        mean = sum(bins) / len(bins)
        variance = sum((rate - mean) ** 2 for rate in bins) / (len(bins) - 1)
        row = {
            "kind": kind,
            "flow": number,
            "access_delay": access,
            "start": short(start),
            "arrivals": arrivals,
            "drops": drops,
            "departures": departures,
            "queued_before": before[3],
            "queued_after": after[3],
            "marks": marks,
            "loss_events": events if greedy else None,
            "sent": sent if greedy else None,
            "resent": resent if tcp else None,
            "received": received,
            "timeouts": timeouts if tcp else None,
            "cuts": cuts if tcp else None,
            "ecn_responses": ecn if tcp else None,
            "rate": short(departures / seconds),
            "rate_variance": short(variance),
            "rate_cov": short(variance**0.5 / mean) if mean > 0 else None,
            "p": short(drops / arrivals) if arrivals else None,
            "p_event": short(events / arrivals) if greedy and arrivals else None,
            "mean_wait": short(wait) if greedy and departures else None,
            "mean_rtt": short(rtt) if greedy and departures else None,
            "sampled_rtt": short(sampled) if tcp else None,
        }
        flows.append(key | row)
        if run["series"]:
            series += [
                key | {"kind": kind, "flow": number, "time": b[0], "departures": round(b[fid] - a)}
                for a, b in zip([0.0, *column[:-1]], counts, strict=True)
            ]

    totals = [float(word) for word in lines(folder, "link.txt")[0]]
    before_link, after_link = totals[:-1:2], totals[1::2]
    most = totals[-1]
    gained = [b - a for a, b in zip(before_link, after_link, strict=True)]
    counted = [round(value) for value in gained]
    mean_queue = gained[6] / seconds
    link = {
        "arrivals": counted[0],
        "drops": counted[1],
        "departures": counted[2],
        "queued_before": round(before_link[3]),
        "queued_after": round(after_link[3]),
        "marks": counted[4],
        "departed_bytes": counted[5],
        "utilisation": round(8 * gained[5] / (options["bandwidth"] * seconds), 8),
        "loss": short(gained[1] / gained[0]),
        "mean_queue": short(mean_queue),
        "mean_wait": short(mean_queue * seconds / (gained[0] - gained[1])),
        "peak_queue": round(most),
    }
    check(link, flows)
    return {"flows": flows, "link": [key | link], "series": series}


def check(link: Mapping[str, float], flows: Rows) -> None:
    """Raise unless packets in are packets out, dropped and stored, by flow and over the link."""
    for row in (link, *flows):
        left = row["arrivals"] + row["queued_before"]
        if left != row["drops"] + row["departures"] + row["queued_after"]:
            msg = f"packets are not conserved: {row}"
            raise RuntimeError(msg)
    for name in ("arrivals", "drops", "departures", "queued_before", "queued_after", "marks"):
        if sum(row[name] for row in flows) != link[name]:
            msg = f"{name} of the flows do not add up to the link's"
            raise RuntimeError(msg)


def simulated(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    duration: float = run["options"]["duration"]
    return duration
