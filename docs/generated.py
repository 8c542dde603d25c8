"""``python docs/generated.py``: write the parts of the documentation that are read from the code.

With ``--simulated`` it also writes those that take minutes of simulations.

Such a part stands in a page between two comments, ``<!-- NAME: made by docs/generated.py -->`` and ``<!-- end -->``.
The index of modules is a page of its own, ``reference/modules.md``, written whenever the documentation is built.
"""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PACKAGES = ("hopflow", "responsefn", "markov", "dfcmodel", "validation")
BARE_PACKETS = ("StepMarking", "RampMarking", "MeanRamp")
"""Kinds whose thresholds are packets as numbers, and bytes as strings."""
BLOCK = re.compile(r"(<!-- (\w+): made by docs/generated\.py -->\n).*?(<!-- end -->)", re.DOTALL)


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(names)
    lines = [names, [":--"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def methods() -> str:
    """Return the methods of `stationary`."""
    from markov.registries import METHODS

    rows = ((f"`{type(entry.method).__name__}`", entry.how, entry.cost, entry.when) for entry in METHODS)
    return table(("Method", "How", "Cost", "When"), rows)


def levels_run() -> str:
    """Return which level runs which discipline and option of a flow."""
    import dfcmodel
    from dfcmodel.network.level_options import level_rows

    public = {name for name in dfcmodel.__all__ if getattr(dfcmodel, name)}  # which loads all disciplines
    rows = []
    for kind, name, features, levels in level_rows():
        if kind == "discipline" and name not in public:
            continue
        subject = f"`{name}`" if kind == "discipline" else f"`Flow(..., {name}=)`: {features}"
        rows.append((subject, *("yes" if runs else "no" for runs in levels)))
    return table(("Discipline or option", "`Fluid`", "`Packets`", "`Twin`"), rows)


def chains() -> str:
    """Return the chains that have names."""
    from markov.registries import CHAINS

    rows = []
    for entry in CHAINS:
        text = inspect.getdoc(entry.kind) or ""
        params = ", ".join(f"`{name}`" for name in entry.kind.Params._fields)
        rows.append((f"`{entry.kind.__name__}`", text.splitlines()[0].rstrip("."), params))
    return table(("Chain", "What it is", "Parameters"), rows)


def scenario_keys() -> str:
    """Return the keys of a scenario file, from its schema; what they mean is in the docstrings of the classes."""
    import dfcmodel
    from dfcmodel.network.scenario_files.toml_keys import (
        ARRIVALS,
        DISCIPLINES,
        ELEMENTS,
        sources_of,
    )

    parts = dfcmodel.scenario_schema()["properties"]
    common = {"link": "Defaults of all links.", "flow": "Defaults of all flows."}
    of_files = {"name": '`"scenario"`', "link": "none", "flow": "none"}
    texts = []
    for title, kind, keys, more in (
        ("The file", dfcmodel.Scenario, parts, common),
        ("A link, and `[link]`", dfcmodel.Link, parts["links"]["items"]["properties"], {}),
        ("A flow, and `[flow]`", dfcmodel.Flow, parts["flows"]["items"]["properties"], {}),
    ):
        meanings, values = described(kind) | more, defaults(kind) | (of_files if more else {})
        rows = ((f"`{key}`", taken(key, value), values[key], meanings.get(key, "")) for key, value in keys.items())
        texts.append(f"### {title}\n\n{table(('Key', 'Value', 'Default', 'Meaning'), rows)}")
    schema = dfcmodel.scenario_schema()["$defs"]
    for title, choices, kinds in (
        ("Disciplines", schema["discipline"], DISCIPLINES),
        ("Sources", schema["source"], sources_of(())),
        ("Arrivals", parts["flows"]["items"]["properties"]["arrivals"], ARRIVALS),
        ("Elements of paths", parts["elements"]["items"], ELEMENTS),
    ):
        rows = (kind_row(each["properties"], kinds) for each in choices["anyOf"][1:])
        texts.append(f"### {title}\n\n{table(('Kind', 'Keys, with units and defaults'), rows)}")
    return "\n".join(texts)


def kind_row(keys: dict[str, Any], kinds: Mapping[str, type[Any]]) -> tuple[str, str]:
    """Return a kind of a scenario file and its keys, each with its unit and its default."""
    name = keys["kind"]["const"]
    values = defaults(kinds[name])
    listed = []
    for key, value in keys.items():
        if key != "kind":
            counted = "packets" if name in BARE_PACKETS and unit(value) else unit(value)
            listed.append(f"`{key}`{f' ({counted})' if counted else ''}: {values[key]}")
    return f"`{name}`", "; ".join(listed)


def defaults(kind: type[Any]) -> dict[str, str]:
    """Return the defaults of a class's parameters as a scenario file writes them."""
    from dfcmodel.network.scenario_files.toml_writing import in_bytes
    from hopflow.units import PacketUnits

    if hasattr(kind, "Params"):
        known = dict(kind.Params._field_defaults)
        for name, value in known.items():
            if isinstance(value, PacketUnits):
                known[name] = in_bytes(value, kind.UNITS[name])
        given = {name: known.get(name, MISSING) for name in kind.Params._fields}
    else:
        given = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory()
            for each in fields(kind)
        }
    return {name: default_text(value) for name, value in given.items()}


def default_text(value: Any) -> str:
    """Return a default as a scenario file writes it.

    >>> default_text(MISSING), default_text(None), default_text(True), default_text((1, 2.5))
    ('required', 'none', '`true`', '`[1, 2.5]`')
    """
    if value is MISSING:
        return "required"
    if value is None:
        return "none"
    return f"`{toml_text(value)}`"


def toml_text(value: Any) -> str:
    """Return a value in TOML, numbers to six digits; of a kind its name."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (int, float)):
        whole = abs(value) < 1e12 and value == int(value)
        return f"{value:.0f}" if whole else f"{value:.6g}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(toml_text, value))}]"
    return f'"{type(value).__name__}"'


def unit(value: dict[str, Any]) -> str:
    """Return the unit of a key; nothing for one without a unit."""
    found = re.match(r"In (.+), or a text with a unit", value.get("description", ""))
    return found[1] if found else ""


def taken(key: str, value: dict[str, Any]) -> str:
    """Return what a key of a scenario file takes, in words."""
    if key in ("source", "discipline", "arrivals") and ("$ref" in value or "anyOf" in value):
        return "a kind, or a table with `kind`"
    if key in ("link", "flow"):
        return "a table"
    if text := value.get("description"):
        words = str(text).removesuffix(".").replace("a text with a unit", "a string with a unit")
        return words[0].lower() + words[1:]
    names = {
        "string": "a string",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
    }
    kinds = [each.get("type") for each in value.get("anyOf", [value])]
    return " or ".join(names[kind] for kind in kinds if kind in names) or "a string or a number"


def described(kind: type) -> dict[str, str]:
    """Return the meanings of parameters from a class's docstring in NumPy's form, as Markdown."""
    found: dict[str, str] = {}
    names: list[str] = []
    text = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")[2]
    for line in text.partition("\n\n")[0].splitlines():
        if not line.startswith(" "):
            names = line.split(", ")
        for name in names if line.startswith(" ") else ():
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return {name: markdown(text) for name, text in found.items()}


def markdown(text: str) -> str:
    """Return a docstring's text as Markdown that fits into a cell of a table."""
    return re.sub(r"(?<!`)`(\w[\w.()=]*)`(?!`)", r"`\1`", text.replace("``", "`")).replace("|", r"\|")


def bbr_cases() -> str:
    """Return the cases of the draft on BBR with what was expected and what happened."""
    from dfcmodel import conformance
    from responsefn import BBR

    rows = []
    for case in conformance(BBR()).cases:
        verdict = case.verdict + (f": {case.deviation}" if "deviation" in case.verdict else "")
        texts = (
            f"{check.expected}: {check.happened}" + ("" if check.holds else " (**not as expected**)")
            for check in case.checks
        )
        states = ", ".join(case.trace.sequence()[:5])
        rows.append((str(case.number), case.title, "<br>".join(texts), states, verdict))
    return table(("", "Case", "Expected: happened", "First states", "Verdict"), rows)


BOUNDS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Bounds of the delay of the table, s: up to a round trip."""


def worst_shares() -> str:
    """Return the least share of a flow whose acknowledgements have a delay, by rule and bound."""
    from dfcmodel import JitteredPath, worst_case
    from responsefn import catalogue

    entries = (*catalogue("rule").entries, *catalogue("delivery rule").entries)
    rows = []
    for rule in entries:
        if getattr(rule, "signal", "loss") != "loss":
            continue
        found = [
            worst_case(rule, JitteredPath(1000.0, 0.05, buffer=300, bound=bound), runs=9)  # type: ignore[arg-type]
            for bound in BOUNDS[1:]
        ]
        shares = [found[0].without, *(each.value for each in found)]
        rows.append((f"`{rule!r}`", *(f"{share:.2f}" for share in shares)))
    names = ("Rule", *(f"{1e3 * bound:g} ms" for bound in BOUNDS))
    return table(names, rows)


def starvation() -> str:
    """Return what flows of a rule get on paths that mislead one of them, without what misleads it, and in the paper."""
    from dfcmodel import Aggregation, BurstLoss, DelayTrace, Jitter
    from responsefn import BBR, CUBIC, FAST, Allegro, BBRv1, Copa, NewReno, Vegas, Vivace

    link, shared = "first->router", "router->end"

    def longer(by: float) -> tuple[DelayTrace, ...]:
        times, delays = (0, "60ms", "62ms"), (by, 0, by)
        return (DelayTrace(link, times, delays, period="2s", acks=True, in_order=False),)

    def misled(by: float) -> tuple[float, float]:
        return 0.06 - by, 0.06

    wide, slow = (120.0, 10_000, 60.0, 1), (6.0, 60, 200.0, 1)
    both = (0.06, 0.06)
    told = "one flow measures {} ms for 2 ms in each 2 s, else 60 ms"
    clocks = tuple(Aggregation(shared, interval="1ms", acks=acks) for acks in (False, True))
    ticks = "the same, {} ms less, and packets and ACKs pass at whole ms"
    trips = "round trips of 40 and 80 ms"
    fourth = (Aggregation(link, count=4),)
    fours = "6 Mb/s, 120 ms, 60 packets; ACKs of one flow in fours"
    lossy = tuple(BurstLoss(name, to_bad=1.0, to_good=0.0, loss_bad=0.02) for name in (link, "second->router"))
    product, short = (120.0, 400, 60.0, 8), (0.04, 0.04)
    forty = "40 ms, 400 packets"
    old = Copa(competitive=0)
    rows = []
    for rule, path, times, elements, bottleneck, paper in (
        (BBRv1(), trips, (0.04, 0.08), (), wide, "8.3 and 107"),
        (BBR(), trips, (0.04, 0.08), (), wide, "-"),
        (old, told.format(59).replace("one flow", "alone, it"), misled(1e-3)[:1], longer(1e-3), wide, "8"),
        (old, ticks.format(2.5), misled(2.5e-3)[:1], longer(2.5e-3) + clocks, wide, "8"),
        (old, told.format(59), misled(1e-3), longer(1e-3), wide, "8.8 and 95"),
        (old, told.format(57), misled(3e-3), longer(3e-3), wide, "-"),
        (old, ticks.format(2.5), misled(2.5e-3), longer(2.5e-3) + clocks, wide, "8.8 and 95"),
        (old.replace(voted=1), ticks.format(2.5), misled(2.5e-3), longer(2.5e-3) + clocks, wide, "8.8 and 95"),
        (Copa(), told.format(59), misled(1e-3), longer(1e-3), wide, "8.8 and 95"),
        (Vegas(), told.format(59), misled(1e-3), longer(1e-3), wide, "-"),
        (FAST(), told.format(59), misled(1e-3), longer(1e-3), wide, "-"),
        *((rule, "ACKs of one flow at multiples of 60 ms", both, (Aggregation(link, interval="60ms"),), wide, "9.9 and 99.4")
          for rule in (Vivace(smoothed=1), Vivace())),
        (Vivace(), "ACKs of one flow up to 60 ms late at random", both, (Jitter(link, "60ms", acks=True),), wide, "-"),
        *((rule, f"{forty}; one flow loses 2 % at random", short, lossy[:1], product, "10.3 and 99.1")
          for rule in (Allegro(), Allegro(doubling=0))),
        (Allegro(), f"{forty}; both lose 2 %", short, lossy, product, "fair"),
        (Allegro(), f"{forty}; alone, it loses 2 %", short[:1], lossy[:1], product, "full"),
        (NewReno(), fours, (0.12, 0.12), fourth, slow, "1 to 2.7"),
        (CUBIC(), fours, (0.12, 0.12), fourth, slow, "1 to 3.2"),
    ):  # fmt: skip
        shown = (
            " and ".join(f"{rate:.2f}" if rate < 9.95 else f"{rate:.1f}" for rate in rates)
            for rates in (
                _rates(rule, times[:1] * len(times), (), bottleneck),
                _rates(rule, times, elements, bottleneck),
            )
        )
        rows.append((f"`{rule!r}`", path, *shown, paper))
    names = ("Rule", "Path", "Without it, Mb/s", "On this path, Mb/s", "Arun et al., Mb/s")
    return table(names, rows)


def _rates(
    rule: Any,
    trips: tuple[float, ...],
    elements: tuple[Any, ...],
    bottleneck: tuple[float, int, float, int],
) -> list[float]:
    """Return the mean rates of flows from 10 s to the end, Mb/s; of the bottleneck its Mb/s, its packets, seconds, and seeds."""
    from dfcmodel import Flow, Link, Packets, Scenario, simulate

    rate, buffer, duration, seeds = bottleneck
    names = ("first", "second")[: len(trips)]
    links = [
        Link("router", "end", f"{rate}Mbps", "1ms", buffer),
        *(Link(name, "router", f"{10.0 * rate}Mbps", 0.5 * trip - 1e-3, 1e5)
          for name, trip in zip(names, trips, strict=True)),
    ]  # fmt: skip
    flows = [Flow(name, (name, "router", "end"), rule) for name in names]
    scenario = Scenario("flows", links, flows, duration=duration, elements=elements)
    runs = [simulate(scenario, Packets(seed=seed), sample=0.1, packet_jitter="1pkt") for seed in range(1, 1 + seeds)]
    rates: list[float] = (sum(run.mean_goodput(10.0) for run in runs) * 12e-3 / seeds).tolist()
    return rates


def model_errors() -> str:
    """Return how far the models were off in the comparisons S06, S07 and S08, from their outcomes."""
    from dfcmodel.levels.accuracies import measured_accuracies
    from validation.checks import subjects
    from validation.claims import find
    from validation.networks.network_comparison import compare
    from validation.networks.network_runs import packet_level
    from validation.networks.unseen_networks import NETWORKS

    def outcome(claim: str) -> Any:
        find(claim)  # registers its subject
        return subjects()[claim].measured()

    def about(part: Any, kind: str) -> list[tuple[str, str, str]]:
        differences = part.shares["difference"].abs()
        ratios = part.networks.set_index("rules")["ratio"]
        mean = f"{part.mean_error:.3f} of the bottleneck's rate on average"
        return [
            (f"fluid: shares of goodput, {len(ratios)} networks {kind}", "ns-2", f"{mean}, {differences.max():.2f} at worst"),
            ("fluid: packets lost, the same networks", "ns-2", f"{ratios.min():.2f} ({ratios.idxmin()}) to {ratios.max():.2f} times as many"),
        ]  # fmt: skip

    networks, switch, window = outcome("S08"), outcome("S07").values, outcome("S06")
    aside, accuracies = networks.aside, measured_accuracies()
    fewest = NETWORKS[aside.networks.set_index("network")["ratio"].idxmin()]
    of_packets = compare([fewest], packet_level).networks["ratio"].item()
    with_error = aside.covered(accuracies["fluid"].half_width).sum()
    packets = accuracies["packet level"]
    worst = window.ratios.loc[window.ratios["ratio"].idxmin()]
    of_losses, of_delays = (f"{100.0 * median:.0f} %" for median in window.medians)
    fluid_off, packets_off = (f"{100.0 * max(switch['off'][level]):.0f} %" for level in ("fluid", "packets"))
    rows = [
        *about(aside, "set aside when it was tuned"),
        (f"packet level: packets lost, the network of {fewest.rules} among them", "ns-2", f"{of_packets:.2f} times as many"),
        *about(networks.fresh, "drawn afterwards"),
        ("fluid: standard deviation over runs, networks set aside", "ns-2", f"{aside.spread:.2f} times as large in the median"),
        ("fluid: 95 % intervals of a share that contain ns-2's, networks set aside", "ns-2",
         f"{aside.inside.sum()} of {len(aside.inside)} by chance alone (`Ensemble.intervals`), {with_error} with the error of the model (`share_intervals`)"),
        (f"packet level: shares of goodput, {packets.networks} networks", "ns-2",
         f"{packets.mean_error:.3f} on average, of which chance makes {packets.chance:.3f}"),
        ("fluid: percentiles of the queue, Reno and CUBIC, 1 to 64 flows", "a Tofino switch", f"up to {fluid_off} of the buffer"),
        ("packet level: the same percentiles", "a Tofino switch",
         f"up to {packets_off} of the buffer; CUBIC's queue is deeper in {switch['above']} of {switch['compared']}"),
        ("window model: rates of rules that go by losses; by a delay or a rate", "ns-2, ns-3", f"{of_losses}; {of_delays} in the median"),
        (f"window model: its worst rate, {worst['rule'].upper()} at p = {worst['p']:g}", worst["tool"], f"{1.0 / worst['ratio']:.1f} times as high"),
    ]  # fmt: skip
    return table(("What", "Compared with", "How far off"), rows)


def interval_rows() -> list[dict[str, Any]]:
    """Return the rows of the table of intervals."""
    return tomllib.loads((DOCS / "intervals.toml").read_text(encoding="utf-8"))["interval"]  # type: ignore[no-any-return]


def measured_coverages() -> list[dict[str, str]]:
    """Return the measured coverages of `benchmarks.interval_coverage` and `benchmarks.coverage`."""
    results = ROOT / "benchmarks" / "results"
    found = []
    for name, rows_of in (("interval_coverage", list), ("coverage", _paths_by_kind)):
        path = results / f"{name}.csv"
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                found += rows_of(csv.DictReader(file))
    return found


def _paths_by_kind(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Return the coverages of `benchmarks.coverage` by function, quantity and kind of path: means over its paths."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["function"], row["quantity"], row["kind"]), []).append(row)
    found = []
    for (function, quantity, kind), paths in groups.items():
        calls, printed, covered = (sum(int(row[name]) for row in paths) for name in ("calls", "printed", "covered"))
        further = [float(row["predicted"]) for row in paths if row["predicted"] not in ("", "nan")]
        found.append({
            "quantity": function, "setting": f"{quantity}, {kind}, {len(paths)} paths", "calls": str(calls),
            "truth": f"{paths[0]['truth']} seeds", "mean": str(covered / printed) if printed else "nan",
            "further": str(sum(further) / len(further)) if further else "nan", "printed": str(printed / calls),
        })  # fmt: skip
    return found


def intervals() -> str:
    """Return quantity, method, what is covered and measured coverage of each interval that a result prints."""
    measured = measured_coverages()
    rows = []
    for row in interval_rows():
        own = [each for each in measured if each["quantity"] in row.get("measured", ())]
        rows.append(
            (row["quantity"], row["method"], row["covers"], row.get("stated") or _coverage(row["measured"], own))
        )
    return table(("Quantity", "Method", "What it covers", "Measured coverage"), rows)


def error_constants() -> str:
    """Return each bound with the inequality that its proof needs, its source, and how many halved constants break it."""
    from benchmarks.halved_constants import bounds, decisive_halves, source_texts

    texts = source_texts()
    rows = []
    for row in bounds():
        where = row.file.removeprefix("markov/").removesuffix(".py")
        broken, count = decisive_halves(row, texts)
        notes = [f"{broken} of {count}" if count else "", f"`{row.test}`" if row.test else "", row.choice]
        place = f"`{where}`" + (f", `{row.function}`" if row.function else "")
        needed = f"`{row.needed}`: " if row.needed else ""
        rows.append((f"{place}: `{row.bound}`", f"{needed}{row.source}", "; ".join(filter(None, notes))))
    return table(
        ("Where, and in the code", "What the proof needs, and its source", "Halves that break it; test; choice"), rows
    )


def _coverage(names: list[str], own: list[dict[str, str]]) -> str:
    """Return the coverage over the settings of a quantity in words."""
    if not own:
        return f"not measured yet: {', '.join(names)}"
    texts = []
    for column, name in (("mean", "mean"), ("further", "further run")):
        if values := [float(row[column]) for row in own if row[column] not in ("", "nan")]:
            texts.append(f"{name} {_percents(values)}")
    printed = [float(row.get("printed") or 1.0) for row in own]
    text = f"{', '.join(texts)}, {len(own)} setting{'s' * (len(own) > 1)}"
    return text + (f"; printed in {_percents(printed)} of the calls" if min(printed) < 1.0 else "")


def _percents(values: list[float]) -> str:
    """Return a range of parts in percent."""
    low, high = round(100 * min(values)), round(100 * max(values))
    return f"{low} %" if low == high else f"{low} to {high} %"


def rate_resolution() -> str:
    """Return the coverage of intervals of a rate alone by their smallest half width, as measured."""
    text = (ROOT / "benchmarks" / "results" / "rate_resolution.md").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if line.startswith("|")) + "\n"


def interval_settings() -> str:
    """Return the measured coverage of each setting."""
    rows = []
    for row in measured_coverages():
        parts = [
            f"{float(row[name]):.0%}".replace("%", " %") if row[name] != "nan" else "" for name in ("mean", "further")
        ]
        rows.append((f"`{row['quantity']}`", row["setting"].replace("|", r"\|"), row["calls"], row["truth"], *parts))
    return table(("Quantity", "Setting", "Calls", "Compared with", "Mean", "Further run"), rows)


def allowed_sets() -> str:
    """Return how many statements allow what, and who states the bounds."""
    rows = published("allowed_sets")
    meanings = {
        "equality": "a deviation of at most a margin", "order": "a difference above zero, or above a least difference",
        "trend": "each difference of neighbours above zero", "bound": "a value on one side of a limit",
        "absence": "an event in fewer than half of the runs", "existence": "a difference above zero in some case",
        "identity": "an equation, or a number computed without sampling error", "undecidable": "no bundled data decide it",
    }  # fmt: skip
    lines = []
    for kind, meaning in meanings.items():
        same = [row for row in rows if row["kind"] == kind]
        ours = sum("ours" in row["stated_by"] for row in same)
        lines.append((kind, meaning, str(len(same)), str(ours)))
    return table(("Kind", "Allowed", "Statements", "Bound by a margin or a majority of ours"), lines)


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of a published table."""
    with (ROOT / "validation" / "published" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def null_worlds() -> str:
    """Return by world how many statements were drawn, and how often they hold."""
    lines = []
    for world in ("edge", "shuffled", "event"):
        rows = [row for row in published("null_worlds") if row["world"] == world]
        judged = [row for row in rows if int(row["failed"]) < int(row["draws"])]
        if judged:
            parts = sorted(int(row["holds"]) / (int(row["draws"]) - int(row["failed"])) for row in judged)
            none, most = sum(part == 0.0 for part in parts), parts[-1]
            refused = len(rows) - len(judged)
            lines.append((world, str(len(judged)), str(none), f"{100 * most:.0f} %", str(refused)))
    head = ("World", "Statements, by simulator", "Hold in no draw", "Most often", "Refused in all draws")
    return table(head, lines)


def _statements_of_rows(
    rows: Iterable[dict[str, str]], count: Callable[[dict[str, str]], tuple[str, ...]]
) -> list[tuple[str, ...]]:
    texts = {(row["claim"], row["statement"]): row["paraphrase"] for row in published("statements")}
    return [(row["claim"], texts[row["claim"], row["statement"]], row["source"], *count(row)) for row in rows]


def too_often() -> str:
    """Return the statements that hold in more than 5 % of the draws of a null world."""
    rows = [
        row
        for row in published("null_worlds")
        if row["world"] != "as run" and int(row["holds"]) > 0.05 * int(row["draws"])
    ]
    head = ("Claim", "Statement", "Simulator", "World", "Holds")
    return (
        table(head, _statements_of_rows(rows, lambda row: (row["world"], f"{row['holds']} of {row['draws']}")))
        if rows
        else "None."
    )


def model_worlds() -> str:
    """Return in how many statements models hold in each world, and which of these should not."""
    from benchmarks.model_worlds import WORLDS, too_often

    rows = [row for row in published("model_worlds") if row["verdict"] == "holds"]
    counts = [(world, *(str(sum(row[world] == v for row in rows)) for v in VERDICTS)) for world in WORLDS]
    head = ("World", *(verdict.capitalize() for verdict in VERDICTS))
    lines = _statements_of_rows(
        (row | {"source": "model"} for row in rows if too_often(row)), lambda row: tuple(row[w] for w in WORLDS)
    )
    exceptions = table(("Claim", "Statement", "By", *(w.capitalize() for w in WORLDS)), lines) if lines else "None."
    return f"{table(head, counts)}\n\nHold where no cause acts, or in both reversed worlds:\n\n{exceptions}"


VERDICTS = ("holds", "contradicted", "inconclusive", "refused")


def weak_verdicts() -> str:
    """Return the verdicts that come again in fewer than 80 % of the draws, and how many seeds they need."""
    rows = [row for row in published("null_worlds") if row["runs"] and row["verdict"] != "inconclusive"]

    def count(row: dict[str, str]) -> tuple[str, ...]:
        return row["verdict"], f"{row[row['verdict']]} of {row['draws']}", row["runs"].replace("> 4", "more than 4")

    head = ("Claim", "Statement", "Simulator", "Verdict", "Again", "Times today's seeds")
    return table(head, _statements_of_rows(rows, count)) if rows else "None."


def deciding_seeds() -> str:
    """Return how many times today's seeds decide each inconclusive statement."""
    rows = [row for row in published("null_worlds") if row["runs"] and row["verdict"] == "inconclusive"]
    head = ("Claim", "Statement", "Simulator", "Times today's seeds")
    return (
        table(head, _statements_of_rows(rows, lambda row: (row["runs"].replace("> 4", "more than 4"),)))
        if rows
        else "None."
    )


def modules() -> str:
    """Return each module with the first line of its docstring, by folder."""
    parts = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("__init__.py")):
            folder = path.parent
            files = sorted(folder.glob("*.py"))
            rows = [(f"`{file.name}`", first_line(file)) for file in files]
            name = folder.relative_to(ROOT).as_posix()
            parts.append(f"## `{name}/`\n\n{table(('file', 'what it is'), rows)}")
    return "\n".join(parts)


def first_line(file: Path) -> str:
    """Return the first line of a module's docstring, safe in a table."""
    begin = re.match(r'r?"""(.*?)"""', file.read_text(encoding="utf-8"), re.DOTALL)
    text = inspect.cleandoc(begin[1]) if begin else ""  # parsing a thousand modules takes seconds
    return text.split("\n\n")[0].replace("\n", " ").rstrip(".").replace("|", r"\|")


def readers() -> str:
    """Return a table for each reader: what it takes, uses, skips and refuses, and its limits."""
    tables = (*_network_readers(), *_switch_readers(), *_trace_readers(), *_model_readers())
    return "\n".join(f"## {title}\n\n{table(('', ''), rows)}" for title, rows in tables)


def prism_grammar() -> str:
    """Return the constructs of the PRISM language, and which of them are read."""
    from markov.files.prism import GRAMMAR

    rows = (
        (
            construct.part.capitalize(),
            construct.name.replace("|", r"\|"),
            f"`{construct.example}`".replace("|", r"\|"),
            f"refused: {construct.refused}" if construct.refused else "read",
        )
        for construct in GRAMMAR
    )
    return table(("Part", "Construct", "Example", ""), rows)


def expression_operators() -> str:
    """Return the binary operators of the expressions of model files, by rising rank."""
    from markov.files.language import OPERATORS

    rows = (
        (
            *(f"`{sign}`".replace("|", r"\|") if sign else "" for sign in (prism, entry.jani, entry.mathml)),
            entry.meaning,
        )
        for prism, entry in sorted(OPERATORS.items(), key=lambda item: item[1].rank)
    )
    return table(("PRISM", "JANI", "MathML (SBML)", "Value"), rows)


def expression_functions() -> str:
    """Return the functions of the expressions of model files, by their names in the languages."""
    from markov.files.language import FUNCTIONS
    from markov.proofs.prism_expressions import EXACT

    exact = {name for entry in EXACT for name in (entry.prism, entry.jani) if name}
    rows = []
    for entry in FUNCTIONS.values():
        words = (entry.prism, entry.jani, entry.mathml)
        if any(words):
            arguments = "any" if entry.arguments is None else str(entry.arguments)
            shown = (f"`{word}`" if word else "" for word in words)
            rows.append((*shown, arguments, entry.meaning, "yes" if exact & {entry.prism, entry.jani} else ""))
    return table(("PRISM", "JANI", "MathML (SBML)", "Arguments", "Value", "In certificates"), rows)


def _reader(title: str, *calls: Any, **rows: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the heading and the rows of a reader; what is refused is in the docstring of the first function."""
    names = _names(map(_import_name, calls))
    refused = section(calls[0], "Raises").replace("|", r"\|")
    texts = {"readers": names, **rows, "refused": refused}
    return title, [
        (name.replace("_", " ").capitalize(), text.replace("``", "`")) for name, text in texts.items() if text
    ]


def _import_name(call: Any) -> str:
    """Return the shortest name by which a function can be imported."""
    parts = call.__module__.split(".")
    modules = (".".join(parts[: n + 1]) for n in range(len(parts)))
    package = next(name for name in modules if getattr(importlib.import_module(name), call.__name__, None) is call)
    return f"{package}.{call.__name__}"


def section(call: Any, name: str) -> str:
    """Return the text of a section of a docstring, in one line."""
    text = inspect.getdoc(call) or ""
    match = re.search(rf"^{name}\n-+\n(.*?)(?=\n\n\w[\w ]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    lines = [] if match is None else match[1].splitlines()
    if name == "Raises":  # an error in each line that is not indented, then when
        lines = [line if line.startswith(" ") else f"*{line}*:" for line in lines if line]
    return " ".join(line.strip() for line in lines)


def _names(names: Iterable[Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _size(limit: int) -> str:
    return f"{limit / 2**20:g} MiB" if limit < 2**30 else f"{limit / 2**30:g} GiB"


def _network_readers() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    import dfcmodel
    from dfcmodel.network.demands import (
        chakra_flows,
        chakra_traces,
        connection_matrices,
        flow_files,
        layer_workloads,
        mahimahi,
    )
    from dfcmodel.network.scenario_files import toml_reading

    yield _reader(
        "Scenarios", dfcmodel.load_scenario,
        formats="TOML 1.0, as `save_scenario` writes it; its keys are in [Scenario files](scenario-files.md).",
        used="Every key.", skipped="Nothing.",
        units="Strings carry their unit.", limits=f"{_size(toml_reading.MAX_BYTES)}; dotted keys of at most 256 parts.",
    )  # fmt: skip
    refused = "; ".join(f"`{name}`: {why}" for name, why in connection_matrices.NOT_READ.items())
    yield _reader(
        "Connection matrices of htsim", dfcmodel.read_connection_matrix, dfcmodel.load_connection_matrix,
        formats="The text format of csg-htsim.",
        used=f"{_names(connection_matrices.HEADER)}; of connections {_names(n for n in connection_matrices.OF_CONNECTIONS if n != 'id')}; of triggers `id`, `count`, `oneshot`, `barrier`. A connection is done when its data are delivered: with `send_done_trigger` htsim waits for the last ACK, a way back longer.",
        skipped="Lines that begin with `#`, empty lines, the values of `id` of connections, and triggers for which no connection waits.",
        units="Starts in whole ps, sizes in bytes; a connection of size 0 is infinite, as in htsim's programs. Times with six decimals, as `ConnectionMatrix::save` writes them in us, are refused.", limits=f"{_size(flow_files.MAX_FILE_BYTES)}.", not_read=refused + ".",
    )  # fmt: skip
    fixed = ", ".join(f"`{name}` other than {only} ({why})" for name, (only, why) in layer_workloads.NOT_READ.items())
    words = " and ".join(str(place + 1) for place in layer_workloads.NOT_USED)
    yield _reader(
        "Workloads of SimAI and ASTRA-sim 1", dfcmodel.read_workload, dfcmodel.load_workload,
        formats=f"Text, kinds {_names(layer_workloads.KINDS)}.",
        used=f"{_names(layer_workloads.SIZES)}; operations {_names(layer_workloads.OPERATIONS)}, groups by the ends `_EP`, `_DP_EP`.",
        skipped=f"{_names(layer_workloads.WITHOUT_MEANING)}, the words {words} of a layer, and of `DATA` the operations of forward passes and of gradients of inputs, as in ASTRA-sim. A warning names operations with bytes that exchange nothing: these, `NONE`, and operations of groups of one rank.",
        not_read=fixed + ".", units=f"Times in ns unless `tick` is given, sizes in bytes. The size of `ALLGATHER` is the total in a text of SimAI, and the contribution of each rank in one of ASTRA-sim 1, whose first line has no size except `model_parallel_NPU_group`. With {_names(layer_workloads.IN_BOTH_FORMATS)} alone an `ALLGATHER` is refused: it may be of either.", limits=f"{_size(flow_files.MAX_FILE_BYTES)}.",
    )  # fmt: skip
    used = "; ".join(f"`{kind.name}`: {_names(names)}" for kind, names in chakra_flows.USED.items())
    yield _reader(
        "Execution traces of MLCommons Chakra", dfcmodel.read_workload, dfcmodel.load_workload,
        formats=f"Protocol Buffers, schemas {_names(chakra_traces.VERSIONS)}, also compressed with gzip.",
        used=f"Nodes {_names(kind.name for kind in chakra_traces.READ)}, their dependencies and durations; attributes of {used}.",
        skipped=f"Attributes {_names(chakra_flows.NOT_USED)}; all of nodes of metadata; durations of all nodes but computations, such as measured ones of operations; of nodes the fields {_names(chakra_traces.NOT_USED)} (the time of the start, inputs, outputs). A warning names kernels of one `stream` that do not wait for each other: they run at the same time.",
        units="Durations in us, sizes in bytes.", limits=f"{_size(flow_files.MAX_FILE_BYTES)} for each rank, uncompressed.",
    )  # fmt: skip
    yield _reader(
        "Traces of Mahimahi", dfcmodel.read_mahimahi,
        formats="Text, one time in each line.", used="The times.", skipped="Empty lines, and what follows `#`.",
        units=f"ms; an opportunity has {mahimahi.OPPORTUNITY:g} bytes.", limits=f"{_size(mahimahi.MAX_BYTES)}, {mahimahi.MAX_BINS:,} bins.",
    )  # fmt: skip


def _switch_readers() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    from dfcmodel import lossless
    from dfcmodel.lossless.audits import config_databases, profiles, table_files
    from dfcmodel.lossless.topologies import topology_files

    yield _reader(
        "Topologies", topology_files.load_topology,
        formats="TOML, also the file of a scenario, as `hopflow deadlock` takes it.",
        used=f"{_names(topology_files.KEYS)}; `source`, `target` and `discipline` of links, `discipline` of `link`; `path`, `paths` and `priority` of flows, and `priority` of `flow`.",
        skipped=f"{_names(topology_files.OF_A_SCENARIO)} (except for the priority), and the other keys of links and flows that a scenario has.",
        limits=f"{_size(topology_files.MAX_BYTES)}.",
    )  # fmt: skip
    limits = f"{_size(table_files.MAX_BYTES)}, {table_files.MAX_ROWS:,} rows."
    yield _reader(
        "Headroom tables: lookup files and CSV", lossless.read_table,
        formats="`pg_profile_lookup.ini` of SONiC; CSV with a heading.",
        used=_names(name for name in table_files.COLUMNS if name not in ("threshold", "xon_offset")) + ".",
        skipped="`threshold`, `xon_offset`; comments of a lookup file; rows for `0m`, which the audit names.",
        units="Speed in Mb/s, at least 1000; cable with its unit; others in bytes.", limits=limits,
    )  # fmt: skip
    used = {
        "BUFFER_PROFILE": ("size", "xon", "xoff", "pool", "headroom_type"), "BUFFER_PG": ("profile",), "BUFFER_POOL": ("xoff",),
        "PORT_QOS_MAP": ("pfc_enable", "pfc_to_pg_map"), config_databases.LOSSLESS_PARAMETERS: (config_databases.RATIO,),
    }  # fmt: skip
    yield _reader(
        "Headroom tables: SONiC's configuration and templates", lossless.read_table,
        formats="`config_db.json`, dumps of the database, output of `mmuconfig -l` and `show buffer configuration`, `buffers.json.j2`.",
        used="; ".join((
            *(f"`{name}`: {_names(fields)}" for name, fields in used.items()),
            "`PORT`: `speed`, `autoneg`, `adv_speeds`, `admin_status`", "`CABLE_LENGTH`", "`DEVICE_METADATA`: `buffer_model`", _names(config_databases.PFC_MAPS),
        )) + ".",
        skipped="; ".join((
            *(f"`{name}`: {_names(n for n in config_databases.FIELDS[name] if n not in fields)}" for name, fields in used.items()),
            "other fields of `PORT` and `DEVICE_METADATA`",
            f"ports whose `CABLE_LENGTH` is `0m`, and profiles named for `0m`, which SONiC does not use, and `{config_databases.TRAFFIC}`; the audit names them",
            f"other tables, unless their name resembles one of {_names(config_databases.TABLES)}",
        )) + ".",
        units="Speed in Mb/s, at least 1000; cable with its unit; others in bytes.", limits=f"{limits[:-1]}, {config_databases.MAX_TABLES:,} tables.",
    )  # fmt: skip
    assert set(used["BUFFER_PROFILE"]) <= set(profiles.PROFILE_FIELDS)


def _trace_readers() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    import dfcmodel
    import responsefn
    from hopflow import text_files
    from responsefn.measurements import captures, qlog_events, samples

    objects = {
        "a file": qlog_events.LOG, "a trace": qlog_events.TRACE, "`configuration`": qlog_events.CONFIGURATION,
        "`common_fields`": qlog_events.COMMON, "an event": qlog_events.EVENT, "`header`": qlog_events.HEADER, "`raw`": qlog_events.RAW,
        **{f"`{kind}`": fields for kind, fields in qlog_events.DATA.items()},
    }  # fmt: skip
    yield _reader(
        "qlog", responsefn.read_qlog, dfcmodel.read_qlog_trace,
        formats=f"JSON, JSON-SEQ and lines; versions {_names(sorted(qlog_events.VERSIONS))}, and schemas {_names(sorted(qlog_events.SCHEMAS))}.",
        used=f"Events {_names(qlog_events.KINDS)}. Fields of " + "; of ".join(f"{name}: {_names(fields.used)}" for name, fields in objects.items()) + ".",
        skipped=f"Events {_names(sorted(qlog_events.SKIPPED_EVENTS))}. Fields of " + "; of ".join(f"{name}: {_names(sorted(fields.skipped))}" for name, fields in objects.items() if fields.skipped) + "; of `packet_received` all but ACK frames. Further ones by `skip=`.",
        units=f"`time_units`: {_names(qlog_events.UNITS)}, without it ms; `time_format`: {_names(qlog_events.CUMULATIVE)}.",
        limits=f"{_size(text_files.MAX_BYTES)}.",
    )  # fmt: skip
    yield _reader(
        "ss -ti", responsefn.read_ss, formats="Output of `ss` of iproute2.",
        used=_names(sorted(samples.USED)) + ".", skipped=_names(sorted(samples.SKIPPED)) + ", and processes (`users`). Further ones by `skip=`.",
        units="Round-trip times in ms, rates in bit/s with `k`, `M`, `G`.", limits=f"{_size(samples.MAX_SS)}.",
    )  # fmt: skip
    links = ", ".join(f"{number} ({name})" for number, name in captures.LINKS.items())
    blocks = ", ".join(f"0x{number:x} ({name})" for number, name in captures.SKIPPED_BLOCKS.items())
    yield _reader(
        "Packet captures", responsefn.read_pcap, formats="pcap with times in us or ns, pcapng with any unit of time, also compressed with gzip.",
        used=f"TCP over IPv4 and IPv6; link types {links}. The MSS of the receiver's SYN, less the options of TCP, is the size of full packets. Retransmissions are also those merged with new bytes, and not segments that the file has in another order than they were sent.",
        skipped=f"Packets that are not TCP, tunnels among them; copies of frames; keep-alives of one byte and probes of a closed window; blocks of pcapng {blocks}; options other than the MSS and timestamps. ECN marks, which a warning names, do not count.",
        limits=f"{_size(captures.MAX_BYTES)} uncompressed, {captures.MAX_CAPTURED:,} bytes for each packet, {_size(captures.MAX_BLOCK)} for each block of pcapng.",
    )  # fmt: skip


def _model_readers() -> Iterable[tuple[str, list[tuple[str, str]]]]:
    import markov
    from markov.files import formulas, jani, parsing, umb
    from markov.results import Stationary

    texts = f"{_size(parsing.MAX_BYTES)} of text."
    yield _reader(
        "Models in the PRISM language", markov.read_prism, formats="Text, `ctmc`; properties in CSL. A `dtmc` is parsed, and refused where its chain or a property is asked for.",
        used="[The language](#the-prism-language), as the table below says, with its [functions](#functions-of-expressions).", skipped="Comments.",
        notes=section(markov.read_prism, "Notes"), limits=texts,
    )  # fmt: skip
    keys = "; ".join(f"`{kind}`: {_names(names.split())}" for kind, names in jani.KEYS.items())
    yield _reader(
        "Models in JANI", markov.read_jani, formats="JSON, `ctmc`, with properties.", used=f"Keys of {keys}.",
        skipped="`comment` in every object, `metadata` of the model.", notes=section(markov.read_jani, "Notes"), limits=texts,
    )  # fmt: skip
    levels = ", ".join(f"level {level} versions {', '.join(versions)}" for level, versions in formulas.VERSIONS.items())
    used = "; ".join(
        f"`{tag}`: {_names(fields.used.split())}" for tag, fields in formulas.FIELDS.items() if fields.used
    )
    skipped = "; ".join(
        f"`{tag}`: {_names(fields.skipped.split() + fields.skipped_elements.split())}"
        for tag, fields in formulas.FIELDS.items()
        if fields.skipped or fields.skipped_elements
    )
    always = _names((formulas.ALWAYS_SKIPPED.skipped + " " + formulas.ALWAYS_SKIPPED.skipped_elements).split())
    operators = _names(
        sorted(
            {
                *formulas.EMPTY,
                *formulas.BINARY,
                *formulas.ASCENDING,
                *formulas.UNARY_FUNCTIONS,
                *formulas.OF_INVERSE,
                *formulas.INVERSE_OF,
                *formulas.CONSTANTS,
                "not",
                "power",
                "root",
                "log",
                "piecewise",
                "lambda",
            }
        )
    )
    yield _reader(
        "Reaction networks in SBML", markov.read_sbml, formats=f"XML, {levels} (core).",
        used=f"Attributes of {used}. MathML: {operators}, and function definitions.",
        skipped=f"{always} in every element, and packages that are not required. Attributes and elements of {skipped}.",
        units="None is converted; units of substances, extents and times that disagree are refused.", notes=section(markov.read_sbml, "Notes"), limits=texts,
    )  # fmt: skip
    yield _reader(
        "Chains listed by states", markov.read_explicit, formats="`.tra` with `.sta`, `.lab`, `.srew` and `.trew` (or `1.srew`, `1.trew`, `2.srew`, ... after its name) beside it; `.umb`; `.mtx` (Matrix Market).",
        skipped=f"Comments, except for those of PRISM with the kind of model and the names of rewards; the action after a rate in `.tra`; with a warning, what follows the values of a state in `.sta`; of `.umb`, what a Markov chain does not need: members that begin with {_names(umb.SKIPPED)}, except for {_names((*umb.REQUIRED, *umb.REQUIRED_FOLDERS))}.",
        not_read="`.drn` of Storm.", notes=section(markov.read_explicit, "Notes"), limits=texts,
    )  # fmt: skip
    yield _reader(
        "Results", Stationary.load, readers="`load` of a result's class, such as `markov.results.Stationary.load` and `dfcmodel.results.Trajectory.load`.", formats="Files that `save` of a result of the same class wrote.",
        used="All. A result of another class is refused.",
    )  # fmt: skip


def rules() -> str:
    """Return the rows of the catalogue of rules and laws."""
    from responsefn import catalogue

    rows = [
        (f"`{row['name']}`", *(row[name].replace("|", r"\|") for name in ("kind", "capacity", "domain", "source")))
        for row in catalogue().rows()
    ]  # fmt: skip
    return table(("Rule or law", "Kind", "Capacity", "Domain", "Source"), rows)


def capacities() -> str:
    """Return the rules whose rate needs the capacity of the path, and those to which it may be given."""
    from responsefn import catalogue

    kinds: dict[str, dict[str, None]] = {"needed": {}, "optional": {}}
    for rule in catalogue("rule").entries:
        if rule.capacity in kinds:
            kinds[rule.capacity][f"`{type(rule).__name__}`"] = None
    needed, optional = (listed(names) for names in kinds.values())
    return f"{needed} require the capacity of the bottleneck (`bandwidth=`). For {optional} it is optional."


def recoveries() -> str:
    """Return the rules by the recovery that they have without ``recovery=``."""
    from responsefn import catalogue

    kinds: dict[str, dict[str, None]] = {}
    for rule in catalogue("rule").entries:
        is_linux = rule.package == "responsefn.linux"
        name = "the modules of Linux" if is_linux else f"`{type(rule).__name__}`"
        kinds.setdefault(rule.recovery, {})[name] = None
    words = {"sack": "SACK", "newreno": "NewReno's recovery", "reno": "Reno's", "tahoe": "Tahoe's"}
    parts = [f"{word}: {listed(kinds[kind])}" for kind, word in words.items() if kind in kinds]
    return "; ".join(parts) + "."


def listed(names: Iterable[str]) -> str:
    """Return names in words.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def rule_parameters() -> str:
    """Return the parameters of rules and laws as their classes declare them."""
    return table(
        ("Rule or law", "Parameter", "Default", "Unit", "Allowed", "Source of the default"),
        _rule_parameters(),
    )


def _rule_parameters() -> Iterator[tuple[str, ...]]:
    from responsefn.rule_catalogue import REGISTRY
    from responsefn.rules.index import RULES

    for name in RULES:
        kind = REGISTRY.named("rule", name)
        for rule in (kind(), *(kind(kernel=version) for version in getattr(kind, "older", ()))):
            for parameter, declared in type(rule).declared.items():
                default = declared.default
                number = repr(float(default) if isinstance(default, float) else default)
                unit = "" if declared.unit == "1" else declared.unit
                texts = (declared.range_text, declared.source)
                yield (
                    f"`{rule!r}`", f"`{parameter}`", f"`{number}`", unit,
                    *(text.replace("|", r"\|") for text in texts),
                )  # fmt: skip


def rule_constants() -> str:
    """Return the constants of the modules of rules, each with the comment at it."""
    return table(("Module", "Constant", "Value", "Source"), _rule_constants())


def _rule_constants() -> Iterator[tuple[str, ...]]:
    folder = ROOT / "responsefn" / "rules"
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if target is None or not ast.unparse(target).replace("(", "").isupper():
                continue
            if not any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in ast.walk(node.value)):  # fmt: skip
                continue
            value = ast.unparse(node.value)
            if len(value) > 100:  # the tables of RFC 3649
                continue
            comment = lines[node.end_lineno - 1].partition("  # ")[2]
            above = node.lineno - 2
            while above >= 0 and lines[above].startswith("# "):
                comment = f"{lines[above][2:]} {comment}".strip()
                above -= 1
            module = path.relative_to(folder).with_suffix("").as_posix()
            yield (
                f"`{module}`",
                f"`{ast.unparse(target)}`",
                f"`{value}`",
                comment.replace("|", r"\|"),
            )


MAKE: dict[str, Callable[[], str]] = {
    "methods": methods,
    "chains": chains,
    "scenario_keys": scenario_keys,
    "bbr_cases": bbr_cases,
    "worst_shares": worst_shares,
    "starvation": starvation,
    "readers": readers,
    "prism_grammar": prism_grammar,
    "expression_functions": expression_functions,
    "expression_operators": expression_operators,
    "rules": rules,
    "capacities": capacities,
    "recoveries": recoveries,
    "rule_parameters": rule_parameters,
    "rule_constants": rule_constants,
    "model_errors": model_errors,
    "error_constants": error_constants,
    "intervals": intervals,
    "interval_settings": interval_settings,
    "rate_resolution": rate_resolution,
    "allowed_sets": allowed_sets,
    "null_worlds": null_worlds,
    "too_often": too_often,
    "model_worlds": model_worlds,
    "weak_verdicts": weak_verdicts,
    "deciding_seeds": deciding_seeds,
    "levels_run": levels_run,
}
PAGES = (
    "error-constants.md",
    "intervals.md",
    "levels.md",
    "markov.md",
    "power.md",
    "readers.md",
    "responses.md",
    "rules.md",
    "scenario-files.md",
)
SIMULATED = ("paths.md",)
"""Pages with parts that take simulations."""
JUDGED = ("../README.md", "known-limits.md")
"""Pages with parts that are read from outcomes of claims, which take a minute unless they are cached."""
OUTCOMES = ("model_errors",)
"""These parts."""


def filled(text: str, without: Container[str] = ()) -> str:
    """Return a page with its generated parts made again, apart from some."""

    def part(match: re.Match[str]) -> str:
        return match[0] if match[2] in without else f"{match[1]}\n{MAKE[match[2]]()}\n{match[3]}"

    return BLOCK.sub(part, text)


def write_index() -> None:
    """Write the page of all modules, which is not kept in the repository."""
    path = DOCS / "reference" / "modules.md"
    path.parent.mkdir(exist_ok=True)
    about = "Every module, with the first line of its docstring. [Architecture](../architecture.md) says how they work together."
    path.write_text(f"# Index of modules\n\n{about}\n\n{modules()}", encoding="utf-8")


def main() -> None:
    """Write the generated parts, and the index of modules."""
    write_index()
    is_simulated = "--simulated" in sys.argv
    for page in (*PAGES, *JUDGED, *(SIMULATED if is_simulated else ())):
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        path.write_text(filled(text, () if is_simulated or page not in JUDGED else OUTCOMES), encoding="utf-8")


if __name__ == "__main__":
    main()
