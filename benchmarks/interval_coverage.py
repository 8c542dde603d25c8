"""``python -m benchmarks interval_coverage``: how often printed 95 % intervals contain what they say.

Of each quantity some settings are called with many seeds. An interval of a mean is compared with the mean over other spawned
seeds of the same setting (or with an exact value), an interval of one further run with those other runs. Each suite of rows is
written to ``results/interval_coverage.csv`` when it is complete; `docs/intervals.md` reads the table.
``python -m benchmarks.interval_coverage QUANTITY ...`` measures some quantities alone.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import Row
from hopflow.intervals import spawn_seeds

RESULTS = Path(__file__).parent / "results" / "interval_coverage.csv"
COLUMNS = ("quantity", "setting", "calls", "truth", "mean", "further", "printed", "seconds")
CALLS, TRUTH = 1, 2
"""Seeds from which those of the calls and of the truth are spawned."""


class Coverage(NamedTuple):
    """Measured coverage of one quantity in one setting.

    ``mean`` and ``further`` are the parts of the printed intervals that contain the mean, and of further runs in the
    interval of one further run (NaN: has none); ``printed`` is the part of the calls that have an interval.
    """

    quantity: str
    setting: str
    calls: int
    truth: str
    mean: float
    further: float
    printed: float
    seconds: float


Interval = tuple[float, float]


def covered(
    quantity: str, setting: str, calls: Sequence[tuple[Interval, Interval | None]], truth: Any, began: float
) -> Coverage:
    """Return the coverage of calls, each with the intervals of the mean and of one further run; ``truth``: further runs, or the exact mean."""
    runs = np.atleast_1d(np.asarray(truth, dtype=float))
    mean = float(runs.mean())
    ends = np.array([of_mean for of_mean, _ in calls])
    printed = np.isfinite(ends).all(axis=1)
    inside = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
    rounding = 1e-12 * abs(mean)
    inside |= (np.abs(ends - mean) <= rounding).any(axis=1)
    singles = [single for _, single in calls if single is not None and np.isfinite(single).all()]
    further = (
        np.mean([np.mean((low <= runs) & (runs <= high)) for low, high in singles])
        if singles and len(runs) > 1
        else math.nan
    )
    source = "exact" if len(runs) == 1 else f"{len(runs)} seeds"
    return Coverage(
        quantity, setting, len(calls), source, float(inside[printed].mean()) if printed.any() else math.nan, float(further),
        float(printed.mean()), (time.process_time() - began),
    )  # fmt: skip


def around(value: float, half: float) -> Interval:
    """Return the ends of an interval around a value."""
    return value - half, value + half


def ensembles() -> Iterator[Coverage]:
    """`Ensemble.intervals`: goodput of the first flow in five runs, and in 64; two flows at one bottleneck."""
    from dfcmodel import Flow, Link, Packets, RunSettings, Scenario, ensemble, takano2006
    from responsefn import CUBIC, NewReno

    def pair(rules: Any, trips: tuple[float, float], duration: float) -> Scenario:
        links = [Link("router", "end", 2000.0, 1e-3, 80)]
        links += [Link(n, "router", 2e4, 0.5 * trip - 1e-3, 1e4) for n, trip in zip("ab", trips, strict=True)]
        flows = [Flow(n, (n, "router", "end"), rule) for n, rule in zip("ab", rules, strict=True)]
        return Scenario("pair", links, flows, duration=duration)

    same, lossy = Packets(), Packets(loss={"router->end": 0.005})
    settings: list[tuple[str, Scenario, dict[str, Any]]] = [
        ("two CUBIC, 40 ms, 20 s", pair((CUBIC(), CUBIC()), (0.04, 0.04), 20.0), {"method": same}),
        ("NewReno, 40 and 80 ms, 20 s", pair((NewReno(), NewReno()), (0.04, 0.08), 20.0), {"method": same}),
        ("NewReno and CUBIC, 40 ms, 5 s", pair((NewReno(), CUBIC()), (0.04, 0.04), 5.0), {"method": same}),
        ("two NewReno, 0.5 % random loss, 20 s", pair((NewReno(), NewReno()), (0.04, 0.04), 20.0), {"method": lossy}),
        ("takano2006 1, no DFC, fluid, 0.4 s", takano2006("1", dfc=False), {"level": "fluid"}),
    ]
    unlike = settings[1][1:]
    settings.append(("NewReno, 40 and 80 ms, 20 s, 64 runs (the default)", *unlike))
    for name, scenario, options in settings:
        runs = 64 if "64 runs" in name else 5
        began, calls = time.process_time(), []
        usual = RunSettings(sample=0.5, packet_jitter="1pkt")
        options["options"] = usual if scenario.name == "pair" else RunSettings(sample=0.05, duration=0.4)
        fluid = options.get("level") == "fluid"
        for seed in spawn_seeds(CALLS, 12 if runs > 5 else 20 if fluid else 40).tolist():
            goodput = ensemble(scenario, runs, seed=seed, **options).intervals().goodput[:, 0]
            low, high, single_low, single_high = (float(goodput.sel(estimate=end)) for end in ENDS)
            calls.append(((low, high), (single_low, single_high)))
        more = ensemble(
            scenario, 80 if fluid else 1000 if "80 ms" in name else 300, seed=TRUTH, **options
        ).goodput.to_numpy()[:, 0]
        yield covered("Ensemble.intervals", name, calls, more, began)


ENDS = ("low", "high", "prediction_low", "prediction_high")


def explanations() -> Iterator[Coverage]:
    """`Explanation.to_xarray`: the difference of the levels, and the first part of it, in five runs."""
    from dfcmodel import Flow, Link, RandomRuns, Scenario, explain
    from responsefn import NewReno

    links = [Link("router", "end", 2000.0, 1e-3, 40)]
    links += [Link(n, "router", 2e4, delay, 1e4) for n, delay in (("near", 9e-3), ("far", 29e-3))]
    flows = [Flow(n, (n, "router", "end"), NewReno()) for n in ("near", "far")]
    scenario = Scenario("pair", links, flows, duration=3.0)
    began = time.process_time()
    options = RandomRuns(packet_jitter="1pkt", jitter=0.02)
    found = [
        explain(scenario, "share", runs=5, options=replace(options, seed=s)) for s in spawn_seeds(CALLS, 25).tolist()
    ]
    many = explain(scenario, "share", runs=100, options=replace(options, seed=TRUTH))
    for setting, values in (
        ("difference of the levels, share, NewReno, 20 and 60 ms, 3 s", "gap"),
        ("part not explained, the same", "unexplained"),
    ):
        calls = []
        for each in found:
            data = each.to_xarray()
            row = data["gap"] if values == "gap" else data["contribution"].sel(part=values)
            low, high, single_low, single_high = (float(row[0].sel(estimate=end)) for end in ENDS)
            calls.append(((low, high), (single_low, single_high)))
        truth = many.gap[:, 0] if values == "gap" else many.contributions[:, many.parts.index(values), 0]
        yield covered("Explanation.to_xarray", setting, calls, truth, began)
        began = time.process_time()


def evaluations() -> Iterator[Coverage]:
    """`Evaluation.table`: rows of a small path, NewReno beside CUBIC, up to eight seeds."""
    from dfcmodel.sharing.bottlenecks import Bottleneck
    from dfcmodel.sharing.evaluations import _measure_row
    from dfcmodel.sharing.rfc9743_measures import MEASURES
    from responsefn import CUBIC

    link, rule = Bottleneck(500.0, 0.04, 20, duration=20.0, warm_up=4.0), CUBIC()
    chosen = ("Jain's index of 2 flows", "losses of 8 flows", "rate that NewReno keeps", "RTT exponent, R and 2R")
    for measure in MEASURES:
        if measure.name in chosen:
            yield from _of_measure(measure, link, rule, _measure_row)


def _of_measure(measure: Any, link: Any, rule: Any, measured: Any) -> Iterator[Coverage]:
    """Measure the interval of a row's value, and that of its difference to NewReno."""
    from dfcmodel.sharing.rfc9743_measures import Bench
    from dfcmodel.sharing.rfc9743_verdicts import differences
    from responsefn import NewReno

    began, values, gains = time.process_time(), [], []
    for seed in spawn_seeds(CALLS, 30).tolist():
        value, _, low, high, single, _, gain, gain_low, gain_high, _ = measured(
            link, measure, rule, spawn_seeds(seed, 8).tolist()
        )
        values.append(((low, high), around(value, single)))
        gains.append(((gain_low, gain_high), None))
    more = [
        (measure.run(Bench(link, s), rule), measure.run(Bench(link, s), NewReno()))
        for s in spawn_seeds(TRUTH, 100).tolist()
    ]
    own, standard = (list(column) for column in zip(*more, strict=True))
    number = measure.section.split()[0]
    yield covered("Evaluation.table", f"value of {number} {measure.name}, CUBIC", values, own, began)
    true_gain = differences(measure.quantity, own, standard).value
    gain = covered(
        "Evaluation.table",
        f"difference of {number} {measure.name}, CUBIC less NewReno",
        gains,
        [true_gain],
        time.process_time(),
    )
    yield gain._replace(truth="100 seeds")


def worst_cases() -> Iterator[Coverage]:
    """`WorstCase`: 16 fresh seeds, with the delay that the search of each call found, and without any."""
    from dfcmodel import JitteredPath, worst_case
    from dfcmodel.sharing.worst_paths import _run_measure
    from responsefn import NewReno, Vegas

    for rule, measure in ((Vegas(), "share"), (NewReno(), "share")):
        path = JitteredPath(1000.0, 0.05, buffer=60, bound=0.02)
        began = time.process_time()
        found = [worst_case(rule, path, measure, runs=4, seed=s) for s in spawn_seeds(CALLS, 20).tolist()]
        more = spawn_seeds(TRUTH, 80).tolist()
        calls = [
            (around(each.without, each.without_half_width), around(each.without, each.without_prediction_half_width))
            for each in found
        ]
        truth = [_run_measure(rule, path, measure, None, s)[1] for s in more]
        yield covered("WorstCase", f"without delay, {measure}, {rule!r}, 16 seeds", calls, truth, began)
        began = time.process_time()
        traces: dict[str, list[Any]] = {}
        for each in found:
            traces.setdefault(repr(each.trace), []).append(each)
        rows = []
        for same in traces.values():
            truth = [_run_measure(rule, path, measure, same[0].trace, s)[1] for s in more]
            calls = [
                (around(each.value, each.value_half_width), around(each.value, each.value_prediction_half_width))
                for each in same
            ]
            rows.append(covered("WorstCase", f"worst delay, {measure}, {rule!r}, 16 seeds", calls, truth, began))
        weights = np.array([row.calls for row in rows])
        yield rows[0]._replace(
            calls=int(weights.sum()), mean=float(np.average([row.mean for row in rows], weights=weights)),
            further=float(np.average([row.further for row in rows], weights=weights)), seconds=time.process_time() - began,
        )  # fmt: skip


def conformances() -> Iterator[Coverage]:
    """`JudgedCase.interval`: a check that holds in about 70 % of all seeds, in five runs."""
    from dfcmodel.sharing.bbr_cases import DISTANT, _with_rate_drop
    from dfcmodel.sharing.bbr_checks import probe_down_by_time
    from dfcmodel.sharing.bbr_conformances import JudgedCase
    from responsefn import BBR

    began, run, rule = time.process_time(), _with_rate_drop(DISTANT, "DOWN", 0.7), BBR()
    trace: Any = None

    def holds(seed: int) -> bool:
        return all(check.holds for check in probe_down_by_time(run(rule, seed)))

    calls = [
        JudgedCase(9, "", (), "", trace, 5, sum(map(holds, spawn_seeds(s, 5).tolist())))
        for s in spawn_seeds(CALLS, 25).tolist()
    ]
    truth = [holds(s) for s in spawn_seeds(TRUTH, 100).tolist()]
    yield covered(
        "JudgedCase.interval",
        "a check that PROBE_RTT may end early, five runs",
        [(c.interval, None) for c in calls],
        truth,
        began,
    )


def simulations() -> Iterator[Coverage]:
    """`SimulatedResponse`: rates of rules under random loss."""
    from responsefn import (
        BIC,
        CUBIC,
        DCTCP,
        HTCP,
        Gilbert,
        Illinois,
        Independent,
        Reno,
        Scalable,
    )

    queue = {"bandwidth": 1000.0, "buffer": 40.0}
    settings: list[tuple[Any, float, Any, dict[str, float]]] = [
        (Reno(), 1e-2, Independent(), {}), (CUBIC(), 1e-3, Independent(), {}), (HTCP(), 1e-3, Independent(), {}),
        (BIC(), 1e-3, Independent(), {}), (Scalable(), 1e-2, Independent(), {}), (Illinois(), 1e-2, Independent(), {}),
        (DCTCP(), 1e-1, Independent(), {}), (Reno(), 1e-2, Gilbert(), {}), (Reno(), 1e-3, Independent(), queue),
    ]  # fmt: skip
    for rule, p, losses, options in settings:
        for events in (100, 2000):
            began, many = time.process_time(), 100 if events == 100 else 40
            run = partial(_simulated, rule, p, losses, events, options)
            found = [run(s) for s in spawn_seeds(CALLS, many).tolist()]
            calls = [(around(r.rate, r.half_width), around(r.rate, r.prediction_half_width)) for r in found]
            truth = [run(s).rate for s in spawn_seeds(TRUTH, 2 * many).tolist()]
            setting = f"{rule!r}, p = {p:g}, {losses!r}{', 1,000 packets/s and 40 of buffer' if options else ''}, {events} losses"
            yield covered("SimulatedResponse.half_width", setting, calls, truth, began)


def _simulated(rule: Any, p: float, losses: Any, events: int, options: dict[str, float], seed: int) -> Any:
    """Return a simulated response at a round-trip time of 0.1 s."""
    from responsefn import DirectSimulation, simulate_rule

    return simulate_rule(rule, p, 0.1, losses, events=events, options=DirectSimulation(seed=seed, **options))


def ratio_tables() -> Iterator[Coverage]:
    """`RatioTable`: closed form over simulated rate."""
    from responsefn import CUBIC, HSTCP, Reno
    from responsefn.simulation.ratio_checks import ratios

    rules, p = (Reno(), CUBIC(), HSTCP()), (1e-3, 1e-2)
    began = time.process_time()
    tables = [ratios(rules, p, events=100, seed=s) for s in spawn_seeds(CALLS, 60).tolist()]
    more = [ratios(rules, p, events=100, seed=s) for s in spawn_seeds(TRUTH, 60).tolist()]
    for n, rule in enumerate(rules):
        for m, loss in enumerate(p):
            calls = [(around(t.independent[n, m], t.half_width[n, m]), None) for t in tables]
            truth = [t.independent[n, m] for t in more]
            yield covered("RatioTable.half_width", f"{rule!r}, p = {loss:g}, 1,000 losses", calls, truth, began)
            began = time.process_time()


def splittings() -> Iterator[Coverage]:
    """`OverflowEstimate.interval`: beside the exact probability of the chain."""
    from dfcmodel.lossless import Episodes, Splitting, headroom_pool, overflow

    for size, paths in (("500 kB", 100), ("600 kB", 500), ("700 kB", 100), ("700 kB", 500), ("800 kB", 300)):
        began = time.process_time()
        pool = headroom_pool(1e5, 10, 2, size=size, shared="9 MB", alpha=1.0, rate="100Gbps")
        episodes = Episodes(50.0, 1e-3, within=0.01)
        exact = overflow(pool, episodes).probability
        found = [overflow(pool, episodes, Splitting(paths=paths), seed=s) for s in spawn_seeds(CALLS, 40).tolist()]
        calls = [(each.interval, None) for each in found]
        yield covered(
            "OverflowEstimate.interval", f"probability {exact:.1e}, {paths} paths, 20 replications", calls, exact, began
        )


def recombinations() -> Iterator[Coverage]:
    """`RecombinedEstimate.interval`: sums of exponential parts, whose distribution is known."""
    from scipy.stats import gamma

    from dfcmodel.lossless.pools.recombination import Histories
    from dfcmodel.lossless.pools.recombined_overflows import RecombinedEstimate

    for parts, probability in ((4, 1e-3), (4, 1e-5), (8, 1e-5)):
        began, size = time.process_time(), float(gamma(parts).isf(probability))
        calls = []
        for seed in spawn_seeds(CALLS, 30).tolist():
            held = np.random.default_rng(seed).exponential(1.0, (1, parts, 2000)).astype(np.float32)
            names = tuple((f"port {k}",) for k in range(parts))
            calls.append((RecombinedEstimate(Histories(held, size), names, 1.0, seed).interval, None))
        yield covered(
            "RecombinedEstimate.interval",
            f"{parts} exponential parts, probability {probability:g}, 2,000 runs",
            calls,
            probability,
            began,
        )


def estimates() -> Iterator[Coverage]:
    """`Estimate.intervals`: failures and repairs of a machine that is watched."""
    from markov import ObservedPath, estimate, explore

    machine = explore(
        lambda up, q: [(not up, q.failure if up else q.repair)], start=True, params={"failure": 0.1, "repair": 1.0}
    )
    for jumps in (10, 40):
        began, calls = time.process_time(), []
        for seed in spawn_seeds(CALLS, 100).tolist():
            stays = np.random.default_rng(seed).exponential(1.0, jumps) / np.resize([0.1, 1.0], jumps)
            times = np.concatenate([[0.0], np.cumsum(stays)])
            states = np.resize([True, False], jumps + 1).tolist()
            seen = ObservedPath(times[:-1], states[:-1], end=float(times[-1]))
            calls.append((estimate(machine, seen, ["failure", "repair"]).intervals()["failure"], None))
        yield covered("Estimate.intervals", f"rate of a machine's failures, {jumps} stays", calls, 0.1, began)


def fits() -> Iterator[Coverage]:
    """`Fit.intervals`: a parameter of AIMD from rates with noise of known size."""
    from responsefn import AIMD, fit

    for points, noise in ((6, 0.05), (20, 0.3)):
        began, p, calls = time.process_time(), np.geomspace(1e-4, 1e-2, points), []
        for seed in spawn_seeds(CALLS, 100).tolist():
            factors = np.exp(noise * np.random.default_rng(seed).standard_normal(points))
            calls.append(
                (fit(AIMD(b=0.25), p, 0.1, factors * AIMD(0.7, 0.25).rate(p, 0.1), by="a").intervals["a"], None)
            )
        yield covered("Fit.intervals", f"AIMD's a, {points} points, noise {noise:g}", calls, 0.7, began)


def packet_limits() -> Iterator[Coverage]:
    """`PacketLimit.rate_interval`: differences that shrink as a power, with Gaussian noise."""
    from dfcmodel import CBR, Flow, Scenario, chain, packet_limit

    flows = [Flow(f"{n}", (1, 2), CBR(400.0 + 100.0 * n)) for n in range(3)]
    scenario = Scenario("overload", chain(2, rate=1000.0, delay=0.01, buffer=20), flows, 0.5)
    one = packet_limit(scenario, "losses", factors=(1, 2, 4), runs=2)
    for runs in (8, 24):
        began, calls = time.process_time(), []
        for seed in spawn_seeds(CALLS, 100).tolist():
            draw = np.random.default_rng(seed)
            difference = (np.array([1.0, 0.5, 0.25]) * draw.standard_normal((runs, 3)))[..., np.newaxis]
            low, high = replace(one, fluid=np.zeros_like(difference), packets=difference, seed=seed).rate_interval()
            calls.append(((float(low[0]), float(high[0])), None))
        yield covered("PacketLimit.rate_interval", f"rate 1, three sizes, {runs} runs", calls, 1.0, began)


QUANTITIES: dict[str, Callable[[], Iterator[Coverage]]] = {
    "simulations": simulations, "ratio_tables": ratio_tables, "ensembles": ensembles, "explanations": explanations,
    "evaluations": evaluations, "worst_cases": worst_cases, "conformances": conformances, "splittings": splittings,
    "recombinations": recombinations, "estimates": estimates, "fits": fits, "packet_limits": packet_limits,
}  # fmt: skip


def read_results(path: Path = RESULTS) -> list[dict[str, str]]:
    """Return the recorded rows; none without a record."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def record(found: list[Coverage]) -> None:
    """Replace the recorded rows of the quantities that were measured."""
    names = {each.quantity for each in found}
    rows: list[dict[str, object]] = [dict(row) for row in read_results() if row["quantity"] not in names]
    for each in found:
        numbers = {name: f"{getattr(each, name):.3f}" for name in ("mean", "further", "printed")}
        rows.append(each._asdict() | numbers | {"seconds": f"{each.seconds:.1f}"})
    rows.sort(key=lambda row: str(row["quantity"]))  # stable: settings stay in their order
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def rows(names: list[str] | None = None) -> list[Row]:
    """Measure and record the coverage of some quantities, by default of all; a row has the CPU time of a setting."""
    table = []
    for name in names or QUANTITIES:
        found = list(QUANTITIES[name]())
        record(found)
        for each in found:
            note = f"mean {each.mean:.0%}, further run {each.further:.0%} of {each.calls} calls, printed in {each.printed:.0%}"
            table.append(Row(each.quantity, each.setting, each.seconds, each.seconds, each.seconds, 1.0, note))
    return table


if __name__ == "__main__":
    for row in rows(sys.argv[1:]):
        print(f"{row.task}, {row.name}: {row.note}; {row.seconds:.1f} s")
