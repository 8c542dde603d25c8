"""``python -m benchmarks.levels explanations`` and ``choice``: how far fluid and packets are apart, and what they cost.

``explanations`` writes ``results/explanations.csv``, a row for each part of each gap on published and other
scenarios, and ``results/explanations.md``, the table of the documentation. Every number follows from the seeds.

``choice`` writes ``dfcmodel/levels/measured.csv``, by which ``simulate(..., level="auto")`` chooses: shares and losses
of both levels on dumbbells over flows and bandwidth times delay, and CPU seconds, under FIFO, DFC and PFC (``--only``: of one
discipline, the rows of the others stay). ``costs`` prints predicted and measured CPU seconds on other networks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

import dfcmodel as dfc
import dfcmodel.levels.choices
from dfcmodel.levels.choices import choose_level, fluid_work, packet_work
from dfcmodel.levels.instances import Runs
from dfcmodel.levels.quantities import Measure
from dfcmodel.network.queueing.disciplines import Discipline
from dfcmodel.results.trajectories import Trajectory
from hopflow import gbps, mbps, ms, us
from responsefn import HSTCP, Fusion, NewReno, Reno, WindowRule
from validation.networks.packet_networks import dumbbell_scenario, parking_lot_scenario

FOLDER = Path(__file__).parent / "results"
GRIDS = {
    "FIFO": ((2, 8, 32, 128), (2.0, 5.0, 10.0, 30.0, 100.0)),
    "DFC": ((2, 8, 32), (5.0, 30.0, 100.0)),
    "PFC": ((2, 8, 32), (5.0, 30.0, 100.0)),
}
"""Numbers of flows and packets of bandwidth times delay for each."""
SECONDS, WARM_UP, LONGER, ROUNDS = 20.0, 5.0, 40.0, 3
RUNS = {"explanations": 6, "choice": 4}
WITH_DFC: dict[str, dict[str, float]] = {
    "1": {}, "2": {}, "3": {"duration": 1.0}, "4": {"duration": 0.5}, "5": {"duration": 0.3},
    "6": {"duration": 0.2},
}  # fmt: skip
"""Scenarios of takano2006 with DFC, and how much of them is simulated, s."""
TAKANO = ("1", "2", "3", "4", "5", "6", "4S", "4L", "4R", "4N", "4V", "4V'")


@dataclass(frozen=True)
class Case:
    """A scenario and what is compared on it: arguments of `explain`."""

    scenario: dfc.Scenario
    measures: tuple[Measure, ...]
    arguments: dict[str, Any]

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments, with times as an option object."""
        times = {name: value for name, value in self.arguments.items() if name != "fluid"}
        others = {name: value for name, value in self.arguments.items() if name == "fluid"}
        return {**others, "options": dfc.RandomRuns(**times)}


def cases() -> Iterator[Case]:
    """Yield takano2006 without and with DFC, two pairs of kaneko2007, TCP over pause, an incast under pause and PFC."""
    for name in TAKANO:
        scenario = dfc.takano2006(name, dfc=False)
        end = {} if scenario.links[0].rate < mbps(10_000) else {"duration": 1.0}
        yield Case(scenario, ("share", "losses", "first_loss"), end)
    for name, end in WITH_DFC.items():
        scenario = dfc.takano2006(name)
        yield Case(replace(scenario, name=f"{scenario.name} with DFC"), ("share",), end)
    scenario = dfc.takano2006("1")
    links = [replace(link, rate=mbps(37)) for link in scenario.links]
    slow = replace(scenario, name=f"{scenario.name} with DFC, 37 Mb/s", links=links)
    yield Case(slow, ("share",), {"duration": 1.5, "since": 0.5})
    for pair in ((Reno(), Fusion()), (Reno(), HSTCP())):
        yield Case(kaneko_pair(*pair), ("share", "losses", "first_loss"), {"since": 20.0})
    # Transmission times are whole steps on such links.
    fine = {"fluid": dfc.Fluid(steps_per_delay=16)}
    for scenario in (tcp_over_pause(), incast(), incast(by_class=True)):
        yield Case(scenario, (first_completion, "completion", "paused"), fine)


def first_completion(run: Trajectory) -> float:
    """Return when the first transfer was complete, s; nan where none was."""
    return float(run.finished.min())


def kaneko_pair(*rules: WindowRule) -> dfc.Scenario:
    """Return two flows over kaneko2007's path: 100 Mb/s, RTT 80 ms, buffer BDP/2, no random loss."""
    links = dfc.dumbbell(2, rate=mbps(100), delay=ms(38), access_rate=mbps(1000), access_delay=ms(1), buffer=333)
    flows = tuple(
        dfc.Flow(type(rule).__name__, (f"s{n}", "left", "right", f"d{n}"), rule, 7000.0, 10.0 * (n - 1))
        for n, rule in enumerate(rules, start=1)
    )
    names = " and ".join(flow.name for flow in flows)
    return dfc.Scenario(f"kaneko2007: {names}", links, flows, duration=80.0)


def tcp_over_pause() -> dfc.Scenario:
    """Return two NewReno flows of 2 and 12 ms; the slow link pauses what feeds it, up to the hosts."""
    link: dict[str, Any] = {
        "rate": mbps(100),
        "buffer": 200,
        "discipline": dfc.Pause(high=60, low=30),
    }
    links = (
        dfc.Link("near", "c", delay=ms(1), **link),
        dfc.Link("far", "c", delay=ms(6), **link),
        dfc.Link("c", "d", delay=ms(1), **link),
        dfc.Link("d", "e", mbps(60), ms(1), 200, dfc.Pause(high=60, low=30)),
    )
    flows = tuple(
        dfc.Flow(node, (node, "c", "d", "e"), NewReno(), 1000.0, size=12_000.0, host="unshaped")
        for node in ("near", "far")
    )
    return dfc.Scenario("TCP over pause", links, flows, duration=8.0)


def incast(senders: int = 16, by_class: bool = False) -> dfc.Scenario:
    """Return hosts that send 200 packets each to one receiver over a switch that pauses them.

    By class (PFC) each host's packets are counted for themselves, 12 and 6 in the place of 200 and 100 of all.
    """
    ends: dict[str, Any] = {"rate": gbps(10), "delay": us(5), "buffer": 1000}
    rule: Discipline = dfc.Pause(high=200, low=100)
    if by_class:
        rule = dfc.PFC((0,), xoff=12.0, xon=6.0, headroom=40.0)
    links = (
        *(dfc.Link(f"h{n}", "switch", **ends) for n in range(senders)),
        dfc.Link("switch", "receiver", gbps(10), us(5), 1000, rule),
    )
    flows = tuple(
        dfc.Flow(f"{n}", (f"h{n}", "switch", "receiver"), NewReno(), 256.0, size=200.0, host="unshaped")
        for n in range(senders)
    )
    name = "incast under PFC" if by_class else "incast under pause"
    return dfc.Scenario(name, links, flows, duration=10e-3)


def mixed_dumbbell(flows: int, window: float, name: str = "FIFO") -> dfc.Scenario:
    """Return NewReno flows, half of 20 ms and half of 60 ms, with ``window`` packets of BDP each at 40 ms.

    The buffer is the bandwidth-delay product. Under PFC the bottleneck pauses each host with xoff at its part of the
    buffer, in addition to which it has the headroom; all links have DFC or none.
    """
    rate = flows * window / ms(40)
    buffer = max(4.0, flows * window)
    ends: dict[str, Any] = {"rate": 10.0 * rate, "buffer": buffer}
    delays = {"near": ms(5), "far": ms(25)}
    rule: Discipline = dfc.DFC() if name == "DFC" else dfc.FIFO()
    shared = {"buffer": buffer, "discipline": rule}
    if name == "PFC":
        paused = dfc.PFC((0,), xoff=window, xon=window / 2.0)
        room = sum(paused.room(ends["rate"], delays[kind]) for kind, _ in hosts(flows))
        shared = {"buffer": math.ceil(room) + buffer, "discipline": paused}
        ends["buffer"] = 1e9  # hosts hold what they may not send
    links = (
        *(dfc.Link(f"{kind} {n}", "a", delay=delays[kind], discipline=rule, **ends) for kind, n in hosts(flows)),
        dfc.Link("a", "b", rate, ms(5), **shared),
    )
    senders = tuple(
        dfc.Flow(f"{kind} {n}", (f"{kind} {n}", "a", "b"), NewReno(), max_window=8.0 * window * flows)
        for kind, n in hosts(flows)
    )
    return dfc.Scenario(f"{flows} flows, {window:g} packets each, {name}", links, senders, duration=SECONDS)


def hosts(flows: int) -> list[tuple[str, int]]:
    """Return the hosts, half of them near."""
    return [("near" if n < flows // 2 else "far", n) for n in range(flows)]


def measure(flows: int, window: float, runs: int, name: str = "FIFO") -> dict[str, float | str]:
    """Return errors of the fluid and costs of both levels on a dumbbell."""
    scenario = mixed_dumbbell(flows, window, name)
    methods = {"fluid": dfc.Fluid(), "packets": dfc.Packets()}
    shares: dict[str, list[np.ndarray]] = {level: [] for level in methods}
    lost: dict[str, list[float]] = {level: [] for level in methods}
    asked = Runs(count=runs, seed=0, duration=SECONDS, sample=0.5, jitter=1.0)
    for seeds in asked.seeds():
        for level, method in methods.items():
            wait = 1.0 / scenario.links[-1].rate
            run = dfc.simulate(scenario, method, packet_jitter=wait, **asked.settings(seeds))
            sent = run.delivered[:, -1] - run.delivered[:, np.searchsorted(run.time, WARM_UP)]
            part = sent / (SECONDS - WARM_UP) / scenario.links[-1].rate
            shares[level].append(np.array([part[: flows // 2].sum(), part[flows // 2 :].sum()]))
            lost[level].append(run.lost.sum() / (run.lost.sum() + run.delivered[:, -1].sum()))
    difference = np.array(shares["fluid"]) - np.array(shares["packets"])
    work = {
        "fluid": fluid_work(scenario, LONGER, dfc.Fluid()), "packets": packet_work(scenario, LONGER)
    }  # fmt: skip
    return {
        "discipline": name,
        "flows": flows,
        "window": window,
        "share_error": float(abs(difference.mean(axis=0)).max()),
        "standard_error": float((difference.std(axis=0, ddof=1) / runs**0.5).max()),
        "loss_ratio_packets": float(np.mean(lost["packets"])),
        "loss_ratio_fluid": float(np.mean(lost["fluid"])),
        **{f"{level}_seconds": longer_seconds(scenario, method) for level, method in methods.items()},
        **{f"{level}_work": work[level] for level in methods},
    }


def longer_seconds(scenario: dfc.Scenario, method: dfc.Fluid | dfc.Packets) -> float:
    """Return by how many CPU seconds a run takes longer that simulates `LONGER` s more: without what every run takes."""

    def seconds(duration: float) -> float:
        began = time.process_time()
        wait = 1.0 / scenario.links[-1].rate
        dfc.simulate(scenario, method, duration=duration, sample=0.5, packet_jitter=wait)
        return time.process_time() - began

    short, long = (min(seconds(end) for _ in range(ROUNDS)) for end in (WARM_UP, WARM_UP + LONGER))
    return max(long - short, 1e-6)


def choice(runs: int, only: str, folder: Path) -> None:
    """Measure every cell of the grids and write the table; ``only`` of one discipline."""
    place = folder / "measured.csv"
    kept = pd.read_csv(place, comment="#") if only else pd.DataFrame({"discipline": []})
    tables = [kept[kept["discipline"] != only]]
    for name in [only] if only else GRIDS:
        measure(2, 10.0, 2, name)  # compiles
        flows, windows = GRIDS[name]
        cells = [(many, window) for many in flows for window in windows]
        rows = [measure(*cell, runs, name) for cell in tqdm(cells, desc=f"choice, {name}")]
        tables.append(pd.DataFrame(rows))
    head = (
        f"# python -m benchmarks.levels choice: {runs} runs of {SECONDS:g} s in each cell; window in packets; "
        f"seconds of CPU and work of {LONGER:g} s more\n"
    )
    text = pd.concat(tables).to_csv(index=False, float_format="%.4g", lineterminator="\n")
    place.write_text(head + text, encoding="utf-8")


def explanations(runs: int, only: str, folder: Path) -> None:
    """Explain the gap of every case, or of those ``only``, and write the tables; the rows of others stay."""
    place, order = folder / "explanations.csv", [case.scenario.name for case in cases()]
    kept = pd.read_csv(place) if only else pd.DataFrame({"scenario": []})
    tables = [kept[[only not in name for name in kept["scenario"]]]]
    for case in cases():
        if only not in case.scenario.name:
            continue
        parts = dfc.default_refinements(case.scenario, shared=True)
        found = dfc.explain(case.scenario, case.measures, refinements=parts, runs=runs, **case.keywords)
        end = case.arguments.get("duration", case.scenario.duration)
        columns = {"scenario": case.scenario.name, "seconds": end, "runs": runs}
        tables.append(found.table().assign(**columns))
        print(found, flush=True)
        table = pd.concat([each for each in tables if len(each)])
        table = table.sort_values("scenario", key=lambda names: names.map(order.index), kind="stable")
        table.to_csv(place, index=False, float_format="%.6g", lineterminator="\n")
        table = pd.read_csv(place)  # as it is written
        text = markdown(table) + "\n" + conclusion(table)
        (folder / "explanations.md").write_text(text, encoding="utf-8")


COLUMNS = (
    "bare fluid",
    "transmission times",
    "recovery",
    "timeouts",
    "whole losses",
    "unexplained",
    "packet phases",
    "queued ACKs",
    "whole counts",
    "packets",
)
"""Columns of the table: the bare fluid, the parts in a fixed order, packets."""


def markdown(table: pd.DataFrame) -> str:
    """Return the table of the documentation: a row for each quantity, the waterfall from left to right."""
    columns = list(COLUMNS)
    lines = [["scenario", "quantity", *columns], ["---", "---", *["--:"] * len(columns)]]
    for (scenario, quantity), group in table.groupby(["scenario", "quantity"], sort=False):
        own = group.set_index("row")
        times = quantity == first_completion.__name__ or bool((own["units"] == "s").all())
        cells = [_cell(own, name, 1e3 if times else 1.0) if name in own.index else "" for name in columns]
        shown = str(quantity).replace("_", " ") + (" (ms)" if times else "")
        lines.append([str(scenario), shown, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def conclusion(table: pd.DataFrame) -> str:
    """Return sentences on how much of the gaps of all shares is explained, without and with DFC."""
    shares = table[table["quantity"].str.startswith("share")]
    with_dfc = shares["scenario"].str.contains("with DFC")
    groups = {"without": shares[~with_dfc], "with": shares[with_dfc]}
    return "".join(_sentence(name, rows) for name, rows in groups.items() if len(rows))


def _sentence(name: str, shares: pd.DataFrame) -> str:
    ends = shares.pivot_table(index=["scenario", "quantity"], columns="row", values="mean")
    gaps = (ends["packets"] - ends["bare fluid"]).abs()
    rest = shares[shares["row"] == "unexplained"]
    zero = int(((rest["low"] <= 0.0) & (rest["high"] >= 0.0)).sum())
    return (
        f"Of {len(gaps)} shares {name} DFC packets are {gaps.median():.2g} from the bare fluid in the "
        f"median and at most {gaps.max():.2g}; {rest['mean'].abs().median():.2g} in the median and at "
        f"most {rest['mean'].abs().max():.2g} of it is not explained, and cannot be told from 0 for "
        f"{zero} of them.\n"
    )


def _cell(rows: pd.DataFrame, name: str, unit: float) -> str:
    """Return a mean and half of its interval; bold what is not explained where it is not 0."""
    mean, low, high = (unit * float(rows.loc[name, which]) for which in ("mean", "low", "high"))
    if not np.isfinite(mean):
        return "undefined"
    half = (high - low) / 2.0
    sign = "" if name in ("bare fluid", "packets") else "+"
    if half < 5e-5:
        text = f"{mean:{sign}.4g}"
    else:
        places = min(4, max(0, 1 - math.floor(math.log10(half))))
        text = f"{mean:{sign}.{places}f} ± {half:.{places}f}"
    return f"**{text}**" if name == "unexplained" and not low <= 0.0 <= high else text


def costs() -> None:
    """Print predicted and measured CPU seconds on networks that the unit costs were not taken from."""
    given = [dfc.takano2006(name, dfc=False, tcp="newreno") for name in ("1", "4", "5")]
    given += [parking_lot_scenario("newreno", long, 1) for long in (4, 16)]
    for scenario in [*given, dumbbell_scenario("newreno", 32, 1)]:
        chosen = choose_level(scenario)
        predicted = {"fluid": chosen.fluid_seconds, "packets": chosen.packet_seconds}
        shown = []
        for name, method in {"fluid": dfc.Fluid(), "packets": dfc.Packets(seed=1)}.items():
            began = time.process_time()
            dfc.simulate(scenario, method, sample=0.1)
            seconds = time.process_time() - began
            shown.append(f"{name} {seconds:.3f} s, predicted {predicted[name] / seconds:.1f} times that")
        print(f"{scenario.name}: {'; '.join(shown)}")


def main(
    what: Annotated[str, typer.Argument(help="explanations, choice or costs")],
    runs: Annotated[int | None, typer.Option(help="Seeds of each setting.")] = None,
    only: Annotated[str, typer.Option(help="Part of a scenario's name, or a discipline.")] = "",
    folder: Annotated[Path | None, typer.Option(help="Where the tables go.")] = None,
) -> None:
    """Compute one of the tables and write it."""
    if what == "explanations":
        explanations(runs or RUNS[what], only, folder or FOLDER)
    elif what == "choice":
        if only and only not in GRIDS:
            raise typer.BadParameter(f"--only {only!r}: must be one of {', '.join(GRIDS)}")
        choice(runs or RUNS[what], only, folder or Path(dfcmodel.levels.choices.__file__).parent)
    elif what == "costs":
        measure(2, 10.0, 2)  # compiles
        costs()
    else:
        raise typer.BadParameter(f"{what!r}: must be explanations, choice or costs")


if __name__ == "__main__":
    typer.run(main)
