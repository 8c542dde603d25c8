"""Flows of several kinds over one bottleneck (zheng2002, Sect. 3), by ns-2: one run, its tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    bins: Sequence[float] = (),
    options: Mapping[str, float | str] | None = None,
) -> Run:
    """Build a run: the columns that identify it, its flows, the further bins of its rates in s, and its non-default options."""
    chosen = {**DEFAULTS, **(options or {})}
    chosen["kinds"] = ",".join(spec(kind, number, reading) for kind, number in kinds)
    return {
        "factors": dict(factors),
        "labels": [kind for kind, _ in kinds],
        "options": chosen | {"seed": seed},
        "seed": seed,
        "series": series,
        **({"bins": list(bins)} if bins else {}),
    }


def tables(factors: Mapping[str, Column], *, series: str = "", bins: bool = False) -> dict[str, Table]:
    """Tables of a case whose runs differ in ``factors``; ``series`` describes those with one.

    ``bins``: the case has the rates in further bins and nothing else.
    """
    keys = {**factors, "seed": COLUMNS["seed"]}
    flow = {**keys, "kind": COLUMNS["kind"], "flow": COLUMNS["flow"]}
    if bins:
        return {"bins": Table(flow | columns(TABLES["bins"]["index"]), columns(TABLES["bins"]["values"]))}
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


OF_FLOW = (
    *("arrivals", "drops", "departures", "queued", "marks"),
    *("sent", "resent", "timeouts", "cuts", "ecn_responses", "received"),
)
OF_LINK = ("arrivals", "drops", "departures", "queued", "marks", "departed_bytes", "area")
"""Counters that the program writes in pairs, when the measurement begins and when it ends."""
OF_TCP = ("resent", "timeouts", "cuts", "ecn_responses", "sampled_rtt")
OF_GREEDY = ("sent", "loss_events", "p_event")
"""Columns that are empty for TFRC and UDP, and those that are empty for UDP alone."""


def changes(names: Sequence[str], words: Sequence[str]) -> dict[str, float]:
    """Return by how much each counter grew, and ``queued_before`` and ``queued_after``."""
    numbers = list(map(float, words))
    before, after = (dict(zip(names, half, strict=True)) for half in (numbers[::2], numbers[1::2]))
    queued = {"queued_before": before["queued"], "queued_after": after["queued"]}
    return {**{name: after[name] - before[name] for name in names if name != "queued"}, **queued}


def moments(departures: Sequence[float], length: float = BIN) -> tuple[float, float]:
    """Return mean and sample variance of the rates in bins of a length in s, from the departures after each `BIN`."""
    ends = departures[:: round(length / BIN)]
    bins = [(b - a) / length for a, b in itertools.pairwise(ends)]
    mean = sum(bins) / len(bins)
    return mean, sum((rate - mean) ** 2 for rate in bins) / (len(bins) - 1)


def rates(departures: Sequence[float]) -> dict[str, float | None]:
    """Return the variance of the rates in the bins, from the departures so far, and their coefficient of variation."""
    mean, variance = moments(departures)
    cov = short(variance**0.5 / mean) if mean > 0 else None
    return {"rate_variance": short(variance), "rate_cov": cov}


def flow_row(run: Run, kind: str, number: int, words: Sequence[str], times: Sequence[float]) -> dict[str, Any]:
    """Return the row of a flow from its line of flows.txt and the times of its drops."""
    options, greedy, tcp = run["options"], kind not in {"background", "cbr"}, kind in AB
    start, wait, sampled = map(float, words[2:5])
    grown = {name: round(value) for name, value in changes(OF_FLOW, words[5:]).items()}
    if abs(len(times) - grown["drops"]) > 1:  # the trace rounds its times
        raise RuntimeError(f"flow {words[0]}: {grown['drops']} drops counted, {len(times)} traced")
    bits = 8 * options["size"]
    hops = 2 * bits / ACCESS_RATE + bits / options["bandwidth"]
    hops += 2 * ACK_BITS / ACCESS_RATE + ACK_BITS / options["bandwidth"]
    access = options["access"] + options["step"] * (number - 1) * greedy
    rtt = wait + hops + 2 * (TRUNK_DELAY + 2 * access)
    events, arrivals = loss_events(times, rtt), grown["arrivals"]
    seen = greedy and grown["departures"] > 0
    row = {
        **grown,
        "kind": kind,
        "flow": number,
        "access_delay": access,
        "start": short(start),
        "loss_events": events,
        "rate": short(grown["departures"] / (options["duration"] - options["warm"])),
        "p": short(grown["drops"] / arrivals) if arrivals else None,
        "p_event": short(events / arrivals) if arrivals else None,
        "mean_wait": short(wait) if seen else None,
        "mean_rtt": short(rtt) if seen else None,
        "sampled_rtt": short(sampled),
    }
    unknown = () if tcp else OF_TCP if greedy else (*OF_TCP, *OF_GREEDY)
    return {**row, **dict.fromkeys(unknown)}


def link_row(options: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the row of the link from link.txt."""
    seconds = options["duration"] - options["warm"]
    grown = changes(OF_LINK, words[:-1])
    area, admitted = grown.pop("area"), grown["arrivals"] - grown["drops"]
    served = 8 * grown["departed_bytes"] / (options["bandwidth"] * seconds)
    mean_queue = area / seconds
    return {
        **{name: round(value) for name, value in grown.items()},
        "utilisation": round(served, 8),
        "loss": short(grown["drops"] / grown["arrivals"]),
        "mean_queue": short(mean_queue),
        "mean_wait": short(mean_queue * seconds / admitted),
        "peak_queue": round(float(words[-1])),
    }


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run."""
    warm, key = run["options"]["warm"], {**run["factors"], "seed": run["seed"]}
    times: dict[str, list[float]] = {}
    for time, flow in lines(folder, "drops.txt"):
        if float(time) > warm:
            times.setdefault(flow, []).append(float(time))
    counts = [[float(word) for word in words] for words in lines(folder, "counts.txt")]
    first = next(m for m, row in enumerate(counts) if row[0] > warm - BIN / 2)
    flows: Rows = []
    series: Rows = []
    binned: Rows = []
    numbers: Counter[str] = Counter()
    for words in lines(folder, "flows.txt"):
        fid = int(words[0])
        kind = run["labels"][int(words[1]) - 1] if words[1].isdigit() else words[1]
        numbers[kind] += 1
        column = [row[fid] for row in counts]
        row = flow_row(run, kind, numbers[kind], words, times.get(words[0], []))
        flows.append(key | row | rates(column[first:]))
        for length in run.get("bins", ()):
            mean, variance = map(short, moments(column[first:], length))
            binned.append(
                key | {"kind": kind, "flow": numbers[kind], "bin": length}
                | {"rate": mean, "rate_variance": variance}
            )  # fmt: skip
        if run["series"]:
            about = {"kind": kind, "flow": numbers[kind]}
            series += [
                key | about | {"time": b[0], "departures": round(b[fid] - a)}
                for a, b in zip([0.0, *column[:-1]], counts, strict=True)
            ]
    link = link_row(run["options"], lines(folder, "link.txt")[0])
    check(link, flows)
    return {"flows": flows, "link": [key | link], "series": series, "bins": binned}


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
