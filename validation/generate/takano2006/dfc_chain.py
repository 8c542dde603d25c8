"""takano2006's scenarios with diffusion-type flow control, by ns-3.

``ns3/dfc.cc`` keeps IP, TCP and UDP in the hosts and replaces the nodes between them by
one object with ns-3's packets and events, which costs a tenth of IP forwarding at every hop: even
123 Gb/s can be simulated. Its window senders behave like ns-2's agents, and ns-3's own TCP stands
beside them; two cases compare the simulators.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from validation.generate.case_tables import About, Driver, columns, crossed, load, tables_of
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3, flags

PROGRAM = Ns3(
    "dfc",
    ("core", "network", "point-to-point", "internet", "applications"),
    ("dfc-chain.h", "window-sender.h", "tcp-senders.h"),
)
SEEDS = (1, 5)
BACKGROUND_START = 0.1
# Figs. 12 and 13 name five instants that the text does not repeat.
INSTANTS = (
    *(0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.105, 0.11, 0.115, 0.12, 0.125, 0.13, 0.135, 0.14),
    *(0.145, 0.15, 0.155, 0.16, 0.17, 0.18, 0.19, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5),
)
FEW_INSTANTS = (0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 1.5)
TABLES = load(__file__)


class Option(NamedTuple):
    """An option of the program: its default, its name and unit as a parameter, and what it means where it is varied."""

    default: Any
    name: str
    unit: str
    meaning: str = ""

    @property
    def column(self) -> Column:
        """The column of a case that varies it."""
        return Column(self.unit.partition(" ")[0], self.meaning)


OPTIONS = {name: Option(*about) for name, about in TABLES["options"].items()}
SWEEPS = {about["name"]: about for about in TABLES["cases"]}


def with_sources(options: About) -> dict[str, Any]:
    """Return options with both sources, where ``source`` or the target's alone is given."""
    found = dict(options)
    if "source" in found:
        found["target_source"] = found.pop("source")
    if "target_source" in found:
        found.setdefault("background_source", found["target_source"])
    return found


def options_of(run: Run) -> dict[str, Any]:
    """Return all options of a run."""
    defaults = {name: option.default for name, option in OPTIONS.items()}
    chosen = {name: run[name] for name in run if name in OPTIONS}
    return {**defaults, **with_sources(SWEEPS[run["case"]].get("common", {})), **chosen}


def calls(run: Run) -> Calls:
    """Return the options of ``dfc.cc``."""
    options = options_of(run)
    all_of_them = SWEEPS[run["case"]].get("instants") == "all"
    instants = INSTANTS if all_of_them else FEW_INSTANTS
    shown = ",".join(f"{time:g}" for time in instants if time <= options["duration"])
    options["megabits"] = options.pop("link_rate") / 1e6
    words = {
        name.removesuffix("_source"): f"{value:g}" if isinstance(value, float) else value
        for name, value in options.items()
        if name not in {"phases", "buffers", "counted"}
    }
    words |= {
        "synchronous": int(options["phases"] == "synchronous"),
        "per-flow": int(options["buffers"] == "per-flow"),
        "count-transmission": int(options["counted"] == "all"),
        "instants": shown,
        "seed": run["seed"],
    }
    return [flags(words)]


def number(text: str) -> float | int | str:
    """Read an integer, a decimal number or a name."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of all tables; every packet must be accounted for."""
    names = {"efficiency": "efficiency", "occupancy": "occupancy", "host": "hosts"}
    names |= {"node": "nodes", "flow": "flows"}
    about = SWEEPS[run["case"]]
    known = tables(about)
    rows: dict[str, Rows] = {name: [] for name in known}
    options = options_of(run)
    labels = {**{name: options[name] for name in about["factors"]}, "seed": run["seed"]}
    total: dict[str, float] = {"target": 0.0, "background": 0.0}
    bins = 0
    for line in printed[0].splitlines():
        kind, *fields = line.split()
        name = names[kind]
        if name not in known:
            continue
        columns = [column for column in known[name].columns if column not in labels]
        if name == "flows":
            columns.remove("mean_efficiency")
        row: dict[str, Any] = dict(zip(columns, map(number, fields), strict=True))
        if name == "efficiency":
            if row["time"] > BACKGROUND_START + 1e-9:
                total[row["flow"]] += row["efficiency"]
                bins += row["flow"] == "target"
            row["efficiency"] = round(row["efficiency"], 5)
        elif name == "nodes":
            for drop in ("first_drop", "last_drop"):
                row[drop] = row[drop] if row[drop] >= 0 else None
            lost = row["target_drops"] + row["background_drops"]
            if row["arrivals"] != row["departures"] + lost + row["stored"]:
                msg = f"packets of a node do not add up: {line}"
                raise RuntimeError(msg)
        elif name == "flows":
            row["mean_efficiency"] = round(total[row["flow"]] / bins, 7)
            parts = ("in_host", "in_nodes", "on_links", "dropped", "received")
            if row["offered"] != sum(row[part] for part in parts):
                msg = f"packets of a flow do not add up: {line}"
                raise RuntimeError(msg)
        rows[name].append({**labels, **row})
    return rows


def simulated_seconds(run: Run) -> float:
    """Give the simulated time of a run, in s."""
    return float(options_of(run)["duration"])


DRIVER = Driver("takano2006", PROGRAM, calls, read, simulated_seconds, {"notes": TABLES["notes"]})


def tables(about: About) -> dict[str, Table]:
    """Tables of a case; what the hosts store is one of them unless the case says otherwise."""
    index = {name: OPTIONS[name].column for name in about["factors"]}
    index |= columns(TABLES["columns"])
    found = tables_of(TABLES["tables"], index, **options_of({"case": about["name"]}))
    if not about.get("hosts", True):
        del found["hosts"]
    return found


def a_case(about: About) -> Case:
    """Return a case of ``dfc_chain.toml``."""
    options = options_of({"case": about["name"]})
    fixed = {
        option.name: (options[name], option.unit) for name, option in OPTIONS.items() if name not in about["factors"]
    }
    others = {
        "link delay": (1e-4, "s"),
        "packet": (1500, "bytes"),
        "start of background": (0.1, "s"),
    }
    blocks = [{}, *TABLES["readings"]] if about.get("readings") else []
    runs = [
        {"case": about["name"], **with_sources(chosen)}
        for chosen in crossed([*blocks, *about.get("runs", ())], about.get("seeds", SEEDS))
    ]
    return DRIVER.case({**about, "parameters": {**fixed, **others}}, runs, tables(about))


CASES = tuple(a_case(about) for about in TABLES["cases"])
