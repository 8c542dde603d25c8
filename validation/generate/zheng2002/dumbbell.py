"""Flows of several kinds over one bottleneck (zheng2002, Sect. 3), by ns-2: one run, its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from validation.generate.case_tables import columns, load
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
TABLES = load(__file__)
COLUMNS = columns(TABLES["columns"])
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
    keys = {**factors, "seed": COLUMNS["seed"]}
    flow = {**keys, "kind": COLUMNS["kind"], "flow": COLUMNS["flow"]}
    chosen = {
        "flows": Table(flow, columns(TABLES["flows"])),
        "link": Table(keys, columns(TABLES["link"])),
    }
    if series:
        over_time = columns(TABLES["series"], series=series)
        departures = {"departures": over_time.pop("departures")}
        chosen["series"] = Table({**flow, **over_time}, departures)
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
