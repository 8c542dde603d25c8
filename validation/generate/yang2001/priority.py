"""Sources that control their TCP and UDP flows by priority, and best effort (yang2001), by ns-2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from validation.generate.case_tables import About, Driver, columns, crossed, load, tables_of
from validation.generate.cases import Calls, Case, Rows, Run, Table
from validation.generate.outputs import lines
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("priority.tcl")
SEEDS = (1, 5)
DISCIPLINES = ("FCFS", "DRR", "RED", "SFQ")
MEGABYTE = 1_000_000
BANDWIDTH = 1e6
DRAIN = 5.0
BUFFER = 50
"""Packets of R1's queue, unless a run has others."""
TABLES = load(__file__)
INDEX = columns(TABLES["labels"])
"""Columns of what a run may vary."""
WHO = columns(TABLES["tables"]["flows"]["values"])
"""Columns that say whose flow it is, among others."""


def options(run: Run) -> dict[str, float | str]:
    """Options of ``priority.tcl``: everything of a run but the labels."""
    chosen = {key: value for key, value in run.items() if key not in ("parameter", "value")}
    environment = chosen.pop("environment", "be/be").split("/")
    mechanisms = dict(zip(("s1", "s2"), environment, strict=True))
    if "tcp_flows" in chosen:
        tcp = chosen.pop("tcp_flows")
        chosen |= {"tcp1": tcp, "udp1": 100 - tcp, "tcp2": tcp, "udp2": 100 - tcp}
    return {**mechanisms, **chosen}


def calls(run: Run) -> Calls:
    """Return the options of ``priority.tcl`` as words."""
    return [pairs(options(run))]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run; check that no packet got lost unseen."""
    index = {name: run[name] for name in INDEX if name in run}
    flows: Rows = []
    finishes: dict[str, list[float]] = {"1": [], "2": []}
    for words in lines(folder, "flows.txt"):
        flow, source, protocol, priority, mechanism = words[:5]
        start, finish, allowed = map(float, words[5:8])
        stops, arrived, dropped, left, sent, resent, timeouts, _ = map(int, words[8:])
        tcp = protocol == "TCP"
        lost = arrived - dropped - left, sent - (arrived if tcp else left)
        if min(lost) < 0 or (finish >= 0 and max(lost) > 0):
            msg = f"{run}: flow {flow}: {arrived} arrived, {dropped} dropped, {left} left, {sent}"
            raise RuntimeError(msg)
        finishes[source].append(finish)
        row = {
            "flow": int(flow),
            "source": int(source),
            "protocol": protocol,
            "priority": int(priority),
            "mechanism": mechanism,
            "transfer_time": round(finish - start, 4) if finish >= 0 else None,
            "allowed_time": round(allowed, 4),
            "stops": stops,
            "sent": arrived,
            "resent": resent if tcp else None,
            "timeouts": timeouts if tcp else None,
            "dropped": dropped,
            "received": left,
        }
        flows.append(index | row)
    sources: Rows = [
        index
        | {
            "source": int(words[0]),
            "mechanism": words[1],
            "signals": int(words[2]),
            "turns": int(words[3]),
            "rounds": int(words[4]),
            "finish": round(float(words[5]), 4) if min(finishes[words[0]]) >= 0 else None,
        }
        for words in lines(folder, "sources.txt")
    ]
    return {"flows": flows, "sources": sources}


def read_shares(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the packets of each endless flow that passed the queue until each of several times."""
    about = {words[0]: words for words in lines(folder, "flows.txt")}
    index = {name: run[name] for name in INDEX if name in run}
    rows: Rows = []
    for time, flow, arrived, dropped, left in lines(folder, "shares.txt"):
        _, source, protocol, priority, mechanism, *_ = about[flow]
        rows.append(
            index
            | {
                "time": float(time),
                "flow": int(flow),
                "source": int(source),
                "protocol": protocol,
                "priority": int(priority),
                "mechanism": mechanism,
                "arrived": int(arrived),
                "dropped": int(dropped),
                "departed": int(left),
                "waiting": int(arrived) - int(dropped) - int(left),
            }
        )
    buffer = int(run.get("buffer", BUFFER))
    for time in {row["time"] for row in rows}:
        waiting = [row["waiting"] for row in rows if row["time"] == time]
        if min(waiting) < 0 or sum(waiting) > buffer:
            raise RuntimeError(f"{run}: {sum(waiting)} packets waiting at {time} s")
    return {"shares": rows}


def duration(run: Run) -> float:
    """Estimate the simulated time of a run by the time that its load needs at the bottleneck."""
    chosen = {"tcp1": 4, "udp1": 3, "tcp2": 3, "udp2": 3, "bandwidth": BANDWIDTH, **options(run)}
    if chosen["size"] == 0:
        return float(chosen["limit"])
    flows = sum(int(chosen[name]) for name in ("tcp1", "udp1", "tcp2", "udp2"))
    return 8 * flows * float(chosen["size"]) / float(chosen["bandwidth"]) + DRAIN


DRIVER = Driver("yang2001", PROGRAM, calls, read, duration, TABLES, TABLES["texts"], own_notes_first=True)
ENDLESS = replace(DRIVER, read=read_shares)


def tables(run: Run) -> dict[str, Table]:
    """Return the tables of a case: of its flows and sources, or the shares of endless flows."""
    index = {name: column for name, column in INDEX.items() if name in run}
    endless = run["size"] == 0
    if endless:
        del index["size"]
    names = ("shares",) if endless else ("flows", "sources")
    return tables_of({name: TABLES["tables"][name] for name in names}, index)


def shown(value: float | str) -> str:
    """Return a value as the tables have it."""
    return value if isinstance(value, str) else f"{value:g}"


def varied(about: About) -> list[Run]:
    """One factor at a time around the default; a name ``discipline.option`` sets both."""
    changes = {"default": ["default"], **TABLES["varied"][about["varied"]]}
    runs: list[Run] = []
    for parameter, values in changes.items():
        if parameter in about.get("without", ()):
            continue
        for value in values:
            *discipline, option = parameter.split(".")
            change = {} if parameter == "default" else {option: value}
            change |= {"discipline": discipline[0]} if discipline else {}
            label = {"parameter": parameter, "value": shown(value)}
            runs += crossed([{**label, **about["options"], **change}], SEEDS)
    return runs


def a_case(about: About) -> Case:
    """Return a case of ``priority.toml``."""
    runs = varied(about) if "varied" in about else crossed(about["runs"], SEEDS)
    runs = [
        {**run, "value": shown(run[run["parameter"]])} if "parameter" in run and "value" not in run else run
        for run in runs
    ]
    return (ENDLESS if runs[0]["size"] == 0 else DRIVER).case(about, runs, tables(runs[0]))


def each(about: About) -> Iterator[About]:
    """Yield a case, or the same one under several disciplines."""
    for discipline in about.get("disciplines", ()):
        yield {
            **about,
            "name": about["name"].format(discipline=discipline.lower()),
            "title": about["title"].format(discipline=discipline),
            "runs": [{"discipline": discipline, **block} for block in about["runs"]],
        }
    if "disciplines" not in about:
        yield about


CASES = [a_case(one) for about in TABLES["cases"] for one in each(about)]
