"""``python -m benchmarks coverage``: how often intervals of `coexist`, `compare` and `ensemble` contain what they should.

Paths are drawn (``--seed``; the limits of ``dfcmodel/sharing/convergence.py`` and ``STOPPING_LEVEL`` were chosen on others). On each path a function is called
many times with different seeds, 40 times `coexist`, 12 times the others. Beside them are runs with spawned seeds in the same
setting and duration (``--truth``, 1,000), and a tenth as many of four times the duration.

- Mean: the interval of a call contains the mean of these runs. Their own error widens the interval, by
  ``sqrt(1 + n / N)`` for n runs of a call and N of these.
- Single runs: the part of these runs in a call's prediction interval, in the mean over the calls.
- Width: the mean half width of the calls over Student's t times s / sqrt(n) with the s of these runs, or over the smallest
  half width that `compare` prints (0.005 of a share, 0.001 of the bandwidth) where that is larger.
- Settled: the interval contains the mean at four times the duration, with its warm-up four times as long.

Rows are written to ``results/coverage.csv`` path by path. The same call after an interruption measures the missing ones and writes
``results/coverage.md``. CPU times are those of default calls of this version and of commit 7357e158, from ``git archive``, in turns.
"""

from __future__ import annotations

import csv
import itertools
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.versions import unpack_commit
from dfcmodel import PIE, RED, CoDel, PathOptions, RunSettings, coexist, compare, ensemble
from dfcmodel.sharing.bottlenecks import Bottleneck, Shared, bottleneck_of
from dfcmodel.sharing.comparisons import RATE_RESOLUTION, SHARE_RESOLUTION
from hopflow.intervals import spawn_seeds, t_quantile
from hopflow.progress import progress_bar
from responsefn import BBR, BIC, CUBIC, HSTCP, HTCP, NewReno, Scalable, Westwood, WindowRule

Floats = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
BASELINE = "7357e158"
"""The commit whose CPU times are the unit."""
RULES: tuple[WindowRule, ...] = (NewReno(), CUBIC(), HTCP(), BIC(), HSTCP(), Westwood(), Scalable(), BBR())
KINDS = ("equal flows", "unequal round trips", "different rules", "random loss", "short runs")
AQM = "AQM"
FUNCTIONS = {"coexist": KINDS, "compare": (*KINDS, AQM), "ensemble": (*KINDS, AQM)}
CALLS = {"coexist": 40, "compare": 12, "ensemble": 12}
LONGER = 4
"""Durations at which a settled mean must still be in the interval."""
LONGER_RUNS = 0.1
"""Runs of that duration, as a part of the others: the error of their mean is at most a quarter of that of a call's five runs."""
LEAST_COVERED = 0.8
"""Paths on which fewer intervals contain the mean are named, and called again."""
CALLS_AGAIN = 60
"""With other seeds: among 360 rows of 12 calls, 9 or fewer contain the mean by chance in seven."""
ENSEMBLE_DURATION = 10.0
CPU_CALLS = 3


@dataclass(frozen=True)
class Setting:
    """A drawn path with its flows; ``duration`` None: the function's default."""

    kind: str
    rules: tuple[WindowRule, ...]
    bandwidth: float
    rtt: float
    buffer: int
    loss: float = 0.0
    duration: float | None = None
    discipline: Any = None

    def path(self, **options: Any) -> dict[str, Any]:
        """Return the path as keywords that all functions take, with these options of it."""
        chosen = PathOptions(**{"loss": self.loss, "duration": self.duration, **options})
        return {"bandwidth": self.bandwidth, "rtt": self.rtt, "buffer": self.buffer, "options": chosen}

    def __str__(self) -> str:
        names = " and ".join(map(repr, self.rules))
        return f"{names}, {self.bandwidth:.0f} packets/s, {1e3 * self.rtt:.0f} ms, {self.buffer} packets"


def draw(seed: int, function: str, number: int) -> Setting:
    """Return a path of a function; the kinds take turns."""
    rng = np.random.default_rng([seed, list(FUNCTIONS).index(function), number])
    kind = FUNCTIONS[function][number % len(FUNCTIONS[function])]
    first, second = (RULES[n] for n in rng.choice(len(RULES), 2, replace=False))
    bandwidth, rtt = (float(np.exp(rng.uniform(*np.log(ends)))) for ends in ((400.0, 2500.0), (0.01, 0.1)))
    buffer = max(8, round(bandwidth * rtt * float(np.exp(rng.uniform(*np.log((0.3, 2.0)))))))
    equal = kind in KINDS[:2] or (kind == "short runs" and rng.random() < 0.5)
    return Setting(
        kind, (first, first if equal else second), bandwidth, rtt, buffer,
        loss=float(np.exp(rng.uniform(*np.log((1e-4, 1e-2))))) if kind == "random loss" else 0.0,
        duration=float(rng.uniform(10.0, 20.0)) if kind == "short runs" else None,
        discipline=(RED(), CoDel(), PIE())[rng.integers(3)] if kind == AQM else None,
    )  # fmt: skip


class Call(NamedTuple):
    """What a call says about a quantity: mean of n runs, half widths, whether it is settled (None: it says nothing)."""

    mean: float
    half_width: float
    prediction: float
    runs: int
    duration: float
    settled: bool | None
    low: float = -math.inf
    high: float = math.inf
    """Ends of the range of the quantity, at which its intervals are cut."""
    resolution: float = 0.0
    """Smallest half width that the function prints."""


@dataclass(frozen=True)
class Row:
    """What was counted of a quantity on a path; numbers of calls, and means over them."""

    function: str
    number: int
    kind: str
    setting: str
    quantity: str
    calls: int
    printed: int
    covered: int
    predicted: float
    width: float
    settled: int
    settled_true: int
    settled_possible: int
    mean: float
    deviation: float
    longer_mean: float
    truth: int
    seed: int
    cpu: float
    """CPU seconds of the path."""
    cpu_ratio: float = math.nan
    """CPU seconds of a default call over those at the earlier commit; NaN: not measured."""
    again: int = 0
    """Further calls with other seeds, where too few of the first contain the mean, and how many of these do."""
    again_covered: int = 0


# The functions: their calls, and runs of the same setting


def coexist_calls(setting: Setting, seeds: Sequence[int]) -> dict[str, list[Call]]:
    """Return the calls of `coexist`, share and goodput of the first flow."""
    calls: dict[str, list[Call]] = {"share": [], "goodput": []}
    for seed in seeds:
        result = _coexist(setting, seed=seed)
        for name, row in calls.items():
            row.append(
                Call(
                    float(getattr(result, name)[0]), float(getattr(result, f"{name}_half_width")[0]),
                    float(getattr(result, f"{name}_prediction_half_width")[0]), len(result),
                    setting.duration or 100.0, bool(result.settled[0]) if name == "share" else None,
                    0.0, 1.0 if name == "share" else math.inf,
                )
            )  # fmt: skip
    return calls


def coexist_truth(setting: Setting, quantity: str, duration: float, runs: int, seed: int) -> Floats:
    """Return a quantity of the first flow in single runs of a duration."""
    return np.asarray(_coexist_runs(setting, duration, runs, seed)[quantity][:, 0])


@lru_cache(maxsize=2)
def _coexist_runs(setting: Setting, duration: float, runs: int, seed: int) -> Any:
    """Return all quantities of these runs, which are the same for each of them."""
    return _coexist(setting, runs=runs, seed=seed, duration=duration).by_run


def _coexist(setting: Setting, runs: int = 5, **options: Any) -> Any:
    path = setting.path(**options)
    rtts = path.pop("rtt") * np.array([1.0, 2.0 if setting.kind == "unequal round trips" else 1.0])
    return coexist(setting.rules, rtts, path.pop("bandwidth"), path.pop("buffer"), runs=runs, **path)


def compare_calls(setting: Setting, seeds: Sequence[int]) -> dict[str, list[Call]]:
    """Return the calls of `compare`: the rate of the first rule alone, and a share, or the exponent of unequal round trips."""
    rules = list(dict.fromkeys(setting.rules))
    quantity = "rtt_exponent" if setting.kind == "unequal round trips" else "share"
    index: Any = 0 if quantity == "rtt_exponent" else (0, len(rules) - 1)
    calls: dict[str, list[Call]] = {quantity: [], "rate": []}
    for seed in seeds:
        result = compare(*rules, **setting.path(discipline=setting.discipline, seed=seed))
        ends = (0.5 if len(rules) == 1 else 0.0, 1.0) if quantity == "share" else (-math.inf, math.inf)
        settled = result.settled if quantity == "share" else result.rtt_exponent_settled
        seeds_used = result.seeds[0, 0] if quantity == "rtt_exponent" else result.seeds[index]
        duration = result.durations[0, 0] if quantity == "rtt_exponent" else result.durations[index]
        of_quantity = _call_of(result, quantity, index, seeds_used, duration, settled[index])
        of_quantity = of_quantity._replace(low=ends[0], high=ends[1])
        calls[quantity].append(
            of_quantity._replace(resolution=SHARE_RESOLUTION) if quantity == "share" else of_quantity
        )
        alone = _call_of(
            result, "rate", 0, result.alone_seeds[0], result.alone_durations[0], result.alone_settled[0]
        )  # fmt: skip
        calls["rate"].append(alone._replace(resolution=RATE_RESOLUTION * setting.bandwidth))
    return calls


def _call_of(result: Any, name: str, index: Any, runs: Any, duration: Any, settled: Any) -> Call:
    mean, half, prediction = (
        float(getattr(result, name + part)[index]) for part in ("", "_half_width", "_prediction_half_width")
    )
    return Call(mean, half, prediction, int(runs), float(duration), bool(settled))


def compare_truth(setting: Setting, quantity: str, duration: float, runs: int, seed: int) -> Floats:
    """Return a quantity of `compare` in single runs of a duration."""
    rules = dict.fromkeys(setting.rules)
    path = bottleneck_of(**setting.path(duration=duration, discipline=setting.discipline))
    flows = list(setting.rules[:1]) if quantity == "rate" else list(setting.rules)
    rtts = [path.rtt, 2.0 * path.rtt] if quantity == "rtt_exponent" else None

    def value(run: Shared) -> float:
        if quantity == "rate":
            return float(run.rate[0])
        if quantity == "rtt_exponent":
            return float(np.log2(run.rate[0] / run.rate[1]))
        return float(run.share.max() if len(rules) == 1 else run.share[0])

    return np.array([value(path.run(flows, seed=int(one), rtts=rtts)) for one in spawn_seeds(seed, runs)])


def ensemble_calls(setting: Setting, seeds: Sequence[int]) -> dict[str, list[Call]]:
    """Return the calls of `ensemble`: the goodput of the first flow, which says nothing about being settled."""
    calls = []
    for seed in seeds:
        duration = setting.duration or ENSEMBLE_DURATION
        many = _ensemble(setting, duration, seed=seed)
        goodput = many.intervals(since=0.2 * duration)["goodput"].isel(flow=0)
        mean, half, single = (
            float(goodput.sel(estimate="mean")),
            0.5 * float(goodput.sel(estimate="high") - goodput.sel(estimate="low")),
            float(goodput.sel(estimate="prediction_high") - goodput.sel(estimate="mean")),
        )
        calls.append(Call(mean, half, single, len(many), duration, None))
    return {"goodput": calls}


def ensemble_truth(setting: Setting, quantity: str, duration: float, runs: int, seed: int) -> Floats:
    """Return the mean goodput of the first flow in single runs."""
    many = _ensemble(setting, duration, runs=runs, seed=seed)
    return np.asarray(getattr(many, f"mean_{quantity}")(since=0.2 * duration)[:, 0])


def _ensemble(setting: Setting, duration: float, **options: Any) -> Any:
    link = Bottleneck(
        setting.bandwidth, setting.rtt, setting.buffer, loss=setting.loss, duration=duration, warm_up=0.2 * duration,
        **_discipline(setting),
    )  # fmt: skip
    rtts = [setting.rtt, 2.0 * setting.rtt] if setting.kind == "unequal round trips" else None
    scenario = link.scenario(setting.rules, rtts)
    return ensemble(
        scenario, jitter=setting.rtt, level="packets", **options,
        options=RunSettings(packet_jitter=1.0 / setting.bandwidth, duration=duration, sample=0.1),
    )  # fmt: skip


def _discipline(setting: Setting) -> dict[str, Any]:
    return {} if setting.discipline is None else {"discipline": setting.discipline}


MEASURES = {
    "coexist": (coexist_calls, coexist_truth),
    "compare": (compare_calls, compare_truth),
    "ensemble": (ensemble_calls, ensemble_truth),
}


# Counts


def measure(function: str, number: int, *, seed: int, truth: int, calls: int | None = None) -> list[Row]:
    """Return the rows of a path, with another number of calls also with other seeds."""
    began = time.process_time()
    setting = draw(seed, function, number)
    call, run = MEASURES[function]
    stream = np.random.default_rng([seed, 2 if calls else 1, number])
    streams = spawn_seeds(stream, (calls or CALLS[function]) + 2).tolist()
    rows = []
    for quantity, results in call(setting, streams[2:]).items():
        same = {
            duration: run(setting, quantity, duration, truth, streams[0])
            for duration in sorted({one.duration for one in results})
        }
        longer = {
            duration: run(setting, quantity, LONGER * duration, max(2, round(LONGER_RUNS * truth)), streams[1])
            for duration in same
            if results[0].settled is not None
        }
        rows.append(Row(function, number, setting.kind, str(setting), quantity, **counts(results, same, longer),
                        truth=truth, seed=seed, cpu=0.0))  # fmt: skip
    return [replace(row, cpu=round(time.process_time() - began, 1)) for row in rows]


def counts(calls: Sequence[Call], same: dict[float, Floats], longer: dict[float, Floats]) -> dict[str, Any]:
    """Return the counts of some calls beside runs of the same and of four times the duration."""
    covered = settled_true = possible = 0
    predicted, width = [], []
    printed = [one for one in calls if math.isfinite(one.half_width)]
    for one in printed:
        runs = same[one.duration]
        deviation = runs.std(ddof=1)
        covered += contains(one, runs, deviation)
        low, high = max(one.mean - one.prediction, one.low), min(one.mean + one.prediction, one.high)
        predicted.append(np.mean((runs >= low - 1e-12) & (runs <= high + 1e-12)))
        if deviation > 0.0:
            expected = t_quantile(one.runs - 1) * deviation / math.sqrt(one.runs)
            width.append(one.half_width / max(expected, one.resolution))
        if one.settled is not None:
            true = contains(one, longer[one.duration], deviation)
            possible += true
            settled_true += true and one.settled
    runs = same[calls[0].duration]
    later = longer.get(calls[0].duration)
    return {
        "calls": len(calls), "printed": len(printed), "covered": int(covered),
        "predicted": float(np.mean(predicted)) if predicted else math.nan,
        "width": float(np.mean(width)) if width else math.nan,
        "settled": sum(bool(one.settled) for one in calls), "settled_true": int(settled_true),
        "settled_possible": int(possible), "mean": float(runs.mean()), "deviation": float(runs.std(ddof=1)),
        "longer_mean": math.nan if later is None else float(later.mean()),
    }  # fmt: skip


def contains(call: Call, runs: Floats, deviation: float) -> bool:
    """Return whether the interval of a call contains the mean of some runs, whose own error widens it."""
    error = runs.std(ddof=1) ** 2 / len(runs)
    variance = deviation**2 / call.runs
    factor = math.sqrt(1.0 + error / variance) if variance > 0.0 else 1.0
    return bool(abs(call.mean - runs.mean()) <= call.half_width * factor + 1e-12 * abs(call.mean))


# CPU times beside those of an earlier commit


def cpu_ratio(function: str, number: int, seed: int, baseline: Path) -> float:
    """Return the CPU seconds of a default call over those at the earlier commit, in turns, three calls after a first one."""
    setting = draw(seed, function, number)
    statement = _statement(function, setting)
    source = f"""
import time
from dfcmodel import *
from dfcmodel.sharing.bottlenecks import Bottleneck
from responsefn import *
if "PathOptions" not in globals():  # the earlier commit takes the options as keywords
    PathOptions = RunSettings = dict
    def with_keywords(function):
        return lambda *arguments, options, **others: function(*arguments, **others, **options)
    coexist, compare, ensemble = with_keywords(coexist), with_keywords(compare), with_keywords(ensemble)
def call(seed):
    return {statement}
call(0)
began = time.process_time()
for seed in range(1, {1 + CPU_CALLS}):
    call(seed)
print((time.process_time() - began) / {CPU_CALLS})
"""
    seconds = []
    for folder in (ROOT, baseline, ROOT, baseline):
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, check=True, cwd=folder, env=environment
        )
        seconds.append(float(done.stdout.split()[-1]))
    return (seconds[0] + seconds[2]) / (seconds[1] + seconds[3])


def _statement(function: str, setting: Setting) -> str:
    """Return a default call of a function with the name ``seed``, as source."""
    path = f"bandwidth={setting.bandwidth!r}, rtt={setting.rtt!r}, buffer={setting.buffer!r}"
    lasting = "" if setting.duration is None else f"duration={setting.duration!r}, "  # the earlier commit has no None
    options = f"loss={setting.loss!r}, {lasting}seed=seed"
    if function == "coexist":
        factor = 2.0 if setting.kind == "unequal round trips" else 1.0
        path = path.replace(f"rtt={setting.rtt!r}", f"rtt=[{setting.rtt!r}, {factor * setting.rtt!r}]")
        return f"coexist({list(setting.rules)!r}, {path}, options=PathOptions({options}))"
    if function == "compare":
        options += f", discipline={setting.discipline!r}"
        return f"compare({list(dict.fromkeys(setting.rules))!r}, {path}, options=PathOptions({options}))"
    duration = setting.duration or ENSEMBLE_DURATION
    path += f", loss={setting.loss!r}"
    queue = "" if setting.discipline is None else f", discipline={setting.discipline!r}"
    rtts = [setting.rtt, 2.0 * setting.rtt] if setting.kind == "unequal round trips" else None
    scenario = f"Bottleneck({path}, duration={duration!r}, warm_up={0.2 * duration!r}{queue}).scenario({list(setting.rules)!r}, {rtts!r})"
    jitter = f"jitter={setting.rtt!r}"
    options = f"packet_jitter={1.0 / setting.bandwidth!r}, duration={duration!r}, sample=0.1"
    return f"ensemble({scenario}, {jitter}, level='packets', seed=seed, options=RunSettings({options}))"


# The table


def read(path: Path, seed: int, truth: int) -> list[Row]:
    """Return the rows of a file that were measured with this seed and so many runs; none without a file."""
    if not path.exists():
        return []
    types = {field.name: {"str": str, "int": int, "float": float}[str(field.type)] for field in fields(Row)}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [Row(**{name: types[name](value) for name, value in line.items()}) for line in csv.DictReader(file)]
    return [row for row in rows if (row.seed, row.truth) == (seed, truth)]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write all rows, in the order of functions and paths."""
    order = sorted(rows, key=lambda row: (list(FUNCTIONS).index(row.function), row.number))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in order:
            shown = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in asdict(row).items()}
            writer.writerow(shown)


def table(rows: Sequence[Row]) -> str:
    """Return the rows by function and kind as Markdown."""
    first = rows[0]
    paths = max(row.number for row in rows) + 1
    small = "" if paths >= 60 and first.truth >= 1000 else " The full size is 60 paths and 1000 runs."
    columns = (
        "function, quantity", "kind", "paths", "printed", "mean in its interval (worst path)", "one further run", "width",
        "settled: printed", "true", "printed where true",
    )  # fmt: skip
    about = (
        f"`python -m benchmarks coverage`: up to {paths} paths drawn with seed {first.seed} for each function, beside "
        f"{first.truth} runs, and {round(LONGER_RUNS * first.truth)} of four times the duration, whose own error widens the intervals.{small}"
    )
    lines = [
        "# How often intervals contain what they should",
        "",
        about,
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    remarks: list[str] = []
    for function, quantities in _groups(rows):
        for quantity, group in quantities:
            remarks += _remarks(f"`{function}`, {quantity}", group)
            kinds = [kind for kind in FUNCTIONS[function] if any(row.kind == kind for row in group)]
            for kind in [*kinds, "all"] if len(kinds) > 1 else kinds:
                chosen = [row for row in group if kind in (row.kind, "all")]
                lines.append(f"| `{function}`, {quantity} | {kind} | {_cells(chosen)} |")
    lines += remarks
    for function in FUNCTIONS:
        ratios = {
            row.number: (row.kind, row.cpu_ratio)
            for row in rows
            if row.function == function and math.isfinite(row.cpu_ratio)
        }
        by_kind = {kind: [ratio for k, ratio in ratios.values() if k == kind] for kind, _ in ratios.values()}
        if ratios:
            means = ", ".join(f"{kind} {np.mean(values):.2f}" for kind, values in by_kind.items())
            values = [ratio for _, ratio in ratios.values()]
            span = (
                f"{np.mean([np.mean(each) for each in by_kind.values()]):.2f} ({min(values):.2f} to {max(values):.2f})"
            )
            what = f"CPU of a default call of `{function}` over that of commit {BASELINE}, {len(values)} paths"
            lines += ["", f"{what}: {span}, the mean of the kinds ({means})."]
    return "\n".join(lines) + "\n"


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[tuple[str, list[Row]]]]]:
    for function in FUNCTIONS:
        mine = [row for row in rows if row.function == function]
        quantities = dict.fromkeys(row.quantity for row in mine)
        yield function, [(name, [row for row in mine if row.quantity == name]) for name in quantities]


def _remarks(what: str, rows: Sequence[Row]) -> list[str]:
    """Return where the intervals of a quantity are as wide as what is printed, and the paths on which few are right.

    Such intervals contain nearly constant values always: the others show whether the method covers.
    """
    lines = []
    rounded = [row for row in rows if math.isclose(row.width, 1.0, rel_tol=1e-6)]
    others = [row for row in rows if row.printed and row not in rounded]
    if rounded and others:
        where = (
            f"{what}: on {len(rounded)} of {len(rows)} paths single runs differ by less than the smallest half width"
        )
        cover = f"those intervals contain the mean in {_covered(rounded)}, on the other paths in {_covered(others)}"
        lines += ["", f"{where} that is printed; {cover}."]
    for row in rows:
        if is_low(row):
            chance = float(binom.cdf(row.covered, row.printed, 0.95))
            path = f"{what}, path {row.number} ({row.kind}; {row.setting})"
            found = f"{row.covered} of {row.printed}, or fewer, have a probability of {chance:.1g} at 95%"
            runs = f"single runs have a mean of {row.mean:.6g} and a standard deviation of {row.deviation:.3g}"
            again = (
                f" Of {row.again} further calls {row.again_covered} contain it ({row.again_covered / row.again:.1%})."
                if row.again
                else ""
            )
            lines += ["", f"Below {LEAST_COVERED:.0%}: {path}: {found}; {runs}.{again}"]
    return lines


def is_low(row: Row) -> bool:
    """Return whether few of the intervals contain the mean."""
    return row.covered < LEAST_COVERED * row.printed


def _covered(rows: Sequence[Row]) -> str:
    return f"{sum(row.covered for row in rows) / sum(row.printed for row in rows):.1%}"


def _cells(rows: Sequence[Row]) -> str:
    def total(name: str) -> int:
        return int(sum(getattr(row, name) for row in rows))

    def part(count: float, of: float) -> str:
        return f"{count / of:.1%}" if of else ""

    worst = min(row.covered / row.printed for row in rows if row.printed)
    printed = sum(row.printed == row.calls for row in rows)
    cells = [
        str(len(rows)), f"{printed}", f"{_covered([row for row in rows if row.printed])} ({worst:.0%})",
        f"{np.nanmean([row.predicted for row in rows]):.1%}", f"{np.nanmean([row.width for row in rows]):.2f}",
        part(total("settled"), total("calls")) if total("settled_possible") else "",
        part(total("settled_true"), total("settled")), part(total("settled_true"), total("settled_possible")),
    ]  # fmt: skip
    return " | ".join(cells)


def main(
    paths: Annotated[int, typer.Option(help="Drawn paths of each function.", min=1)] = 60,
    seed: Annotated[int, typer.Option(help="Of the drawn paths.", min=0)] = 88,
    truth: Annotated[
        int, typer.Option(help="Runs of the same setting beside which intervals are judged.", min=8)
    ] = 1000,
    only: Annotated[str | None, typer.Option(help=f"One of {', '.join(FUNCTIONS)}.")] = None,
    processes: Annotated[int, typer.Option(help="Paths that are measured at once.", min=1)] = 1,
    cpu: Annotated[int, typer.Option(help="Paths on which CPU times are compared with the earlier commit.", min=0)] = 6,
    output: Annotated[Path, typer.Option(help="Folder of coverage.csv and coverage.md.")] = RESULTS,
) -> None:
    """Measure how often the intervals of results contain what they should, on drawn paths."""
    if only is not None and only not in FUNCTIONS:
        raise typer.BadParameter(f"--only = {only!r}: must be one of {', '.join(FUNCTIONS)}")
    functions = [only] if only else list(FUNCTIONS)
    rows = read(output / "coverage.csv", seed, truth)
    done = {(row.function, row.number) for row in rows}
    tasks = [(name, number) for name in functions for number in range(paths) if (name, number) not in done]
    with ProcessPoolExecutor(processes) as pool:
        futures = [pool.submit(partial(measure, seed=seed, truth=truth), *task) for task in tasks]
        for future in progress_bar(as_completed(futures), desc="coverage", unit="path", total=len(futures)):
            rows += future.result()
            write(output / "coverage.csv", rows)
    low = [n for n, row in enumerate(rows) if is_low(row) and not row.again and row.function in functions]
    for n in progress_bar(low, desc="again", unit="path"):
        row = rows[n]
        further = measure(row.function, row.number, seed=seed, truth=truth, calls=CALLS_AGAIN)
        (found,) = (each for each in further if each.quantity == row.quantity)
        rows[n] = replace(row, again=found.printed, again_covered=found.covered)
        write(output / "coverage.csv", rows)
    if cpu:
        with tempfile.TemporaryDirectory() as folder:
            earlier = unpack_commit(BASELINE, Path(folder))
            for name, number in itertools.product(functions, range(min(cpu, paths))):
                mine = [n for n, row in enumerate(rows) if (row.function, row.number) == (name, number)]
                if any(math.isnan(rows[n].cpu_ratio) for n in mine):
                    value = cpu_ratio(name, number, seed, earlier)
                    for n in mine:
                        rows[n] = replace(rows[n], cpu_ratio=value)
                    write(output / "coverage.csv", rows)
    text = table([row for row in rows if row.number < paths])
    (output / "coverage.md").write_text(text, encoding="utf-8")
    typer.echo(text)
