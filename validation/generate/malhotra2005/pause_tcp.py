"""malhotra2005, Sects. IV and V, in ns-3: TCP over two bridges with 802.3x pause on and off.

``ns3/pause-tcp.cc`` sends eight flows (or another number) from one host over link A, bridge 1 with
queue 1, link B, bridge 2 with queue 2 and link C. A run is one seed of a case: it calls the program
once per parameter set, so that rows of equal seed have the same starts of the flows, pause on or off.
Where losses come in long patterns, at an RTT of 5 s and more, parameter sets have more seeds than
ten; two cases have so many at 10 and 20 s that the half-width of a gain falls below one point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.case_tables import About, Driver, columns, crossed, load
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3, flags

PROGRAM = Ns3(
    "pause-tcp",
    ("core", "network", "point-to-point", "internet"),
    ("pause-port.h", "reno-agent.h", "flow-plan.h"),
)
SEEDS = 10
"""At least."""
OFF = 20
SEGMENT = 1434
"""Payload of a full packet in bytes."""

TABLES = load(__file__)
FACTORS = TABLES["factors"]


def duration(rtt: float) -> float:
    """Measured time in s, longer where an epoch between losses is longer."""
    return 1000.0 if rtt <= 2 else 4000.0 if rtt <= 5 else 6000.0 if rtt <= 10 else 10_000.0


def _warmup(rtt: float) -> float:
    return 100.0 + 20.0 * rtt


def calls(run: Run) -> Calls:
    """Return the options of ``pause-tcp.cc`` for every parameter set."""
    return [_words(point, run["seed"]) for point in run["points"]]


def _words(point: Mapping[str, Any], seed: int) -> list[str]:
    options = {option: point[name] for name, (option, *_) in FACTORS.items() if name in point}
    options.setdefault("low", options.get("high", 15))
    rtt = float(point.get("rtt", 1.0))
    options |= {"warmup": f"{_warmup(rtt):g}", "duration": f"{duration(rtt):g}", "seed": seed}
    return flags(options)


def simulated_seconds(run: Run) -> float:
    """Add up warm-ups and measured times of the calls of one seed."""
    rtts = [float(point.get("rtt", 1.0)) for point in run["points"]]
    return sum(duration(rtt) + _warmup(rtt) for rtt in rtts)


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return a row for each parameter set of a seed."""
    rows = []
    for point, text in zip(run["points"], printed, strict=True):
        said = {name: float(value) for name, value in map(str.split, text.splitlines())}
        rows.append({**_factors(point), "seed": run["seed"], **_values(point, said)})
    return {"measures": rows}


def _factors(point: Mapping[str, Any]) -> dict[str, float | str]:
    high = point.get("high_threshold", 15)
    row: dict[str, float | str] = {name: point.get(name, default) for name, (_, default, *_) in FACTORS.items()}
    row["low_threshold"] = point.get("low_threshold", high)
    row["pause"] = "off" if high == OFF else "on"
    row["reading"] = point.get("reading", "default")
    return row


def _values(point: Mapping[str, Any], said: Mapping[str, float]) -> dict[str, float | int | None]:
    seconds = duration(float(point.get("rtt", 1.0)))
    if said["failed"] > 0:
        msg = f"{said['failed']:g} connections failed at {point}"
        raise RuntimeError(msg)
    row: dict[str, float | int | None] = {
        "measured_time": seconds,
        "goodput": said["m_bytes"] / SEGMENT / seconds,
        "goodput_least": said["m_bytes_least"] / SEGMENT / seconds,
        "goodput_most": said["m_bytes_most"] / SEGMENT / seconds,
        "retransmission_rate": said["m_retransmissions"] / seconds,
        "loss_rate_1": said["m_dropped_1"] / seconds,
        "loss_rate_2": said["m_dropped_2"] / seconds,
        "timeout_rate": said["m_timeouts"] / seconds,
        "pause_message_rate": said["m_messages"] / seconds,
        "pause_fraction": said["m_held"] / seconds,
        "mean_queue_host": said["m_area_host"] / seconds,
        "mean_queue_1": said["m_area_1"] / seconds,
        "mean_queue_2": said["m_area_2"] / seconds,
        "mean_rtt": said["m_rtt"],
        "mean_file_time": said["m_file_time"] / said["m_files"] if said["m_files"] else None,
    }
    row |= {name: int(said[key]) for name, (key, _, _) in TABLES["counts"].items() if key}
    for queue in ("1", "2"):
        arrivals = said[f"m_accepted_{queue}"] + said[f"m_dropped_{queue}"]
        row[f"arrivals_{queue}"] = int(arrivals)
    row |= {name: int(said[key]) for name, (key, _) in TABLES["whole"].items() if key}
    row["total_host_offered"] = int(said["accepted_host"] + said["dropped_host"])
    return row


DRIVER = Driver("malhotra2005", PROGRAM, calls, read, simulated_seconds, TABLES)


def table(index: Iterable[str]) -> Table:
    """Return the table of a case: its index, values, counts of the measured time and of the whole run."""
    names = {name: Column(*column) for name, (_, _, *column) in FACTORS.items()}
    names |= columns(TABLES["labels"])
    values = columns(TABLES["values"])
    values |= {name: Column(*column) for name, (_, *column) in TABLES["counts"].items()}
    for name, (_, meaning) in TABLES["whole"].items():
        values[name] = Column("packets", f"{meaning}; whole run, warm-up included")
    return Table({name: names[name] for name in (*index, "seed")}, values)


def points_of(about: About) -> list[dict[str, Any]]:
    """Return the parameter sets of a case, with what a reading changes."""
    pauses = {"high_threshold": [15, OFF]} if about.get("both") else {}
    points = crossed([{**block, **pauses} for block in about["runs"]])
    return [{**point, **TABLES["readings"].get(point.get("reading"), {})} for point in points]


def fixed(name: str, points: Sequence[Mapping[str, Any]]) -> float | str:
    """Return the value of a factor in all parameter sets, or its default where it is not one value."""
    default: float | str = FACTORS[name][1]
    used = {point.get(name, default) for point in points}
    return used.pop() if len(used) == 1 else default


def a_case(about: About) -> Case:
    """Return a case of ``pause_tcp.toml``, with as many seeds as each round-trip time wants."""
    points, index, given = points_of(about), about["factors"], about.get("seeds", {})
    more = {} if isinstance(given, int) else {float(rtt): count for rtt, count in given.items()}
    least = given if isinstance(given, int) else SEEDS
    wanted = [more.get(float(point.get("rtt", 1.0)), least) for point in points]
    parameters = {name: (fixed(name, points), unit) for name, (_, _, unit, _) in FACTORS.items() if name not in index}
    if "low_threshold" not in index:
        parameters["low_threshold"] = ("T1", "packets")
    said = "; ".join((f"{SEEDS}", *(f"{n} at RTT {rtt:g} s" for rtt, n in more.items())))
    first = f"{about['first']} to " if "first" in about else ""
    parameters["seeds"] = (f"{first}{given}" if first else given if isinstance(given, int) else said, "1")
    return DRIVER.case(
        {**about, "parameters": parameters},
        [
            {"seed": k, "points": [p for p, n in zip(points, wanted, strict=True) if k <= n]}
            for k in range(about.get("first", 1), max(wanted) + 1)
        ],
        {"measures": table(index)},
    )


CASES = tuple(a_case(about) for about in TABLES["cases"])
