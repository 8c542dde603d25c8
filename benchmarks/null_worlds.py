"""``python -m benchmarks.null_worlds [CLAIM ...]``: how often statements hold where they are not so.

Bundled tables of simulators are changed before any statistic, a claim is measured and judged again, and the benchmark counts how often each
statement holds by each simulator. In a null world a statement may hold in 5 % of the draws.

edge
    The seeds of each case are drawn again, with replacement, and the threshold that bounds what the statement allows is moved to where the
    data are: at level 1/2 the verdict turns there, because levels are one-sided. For statements of equality and bounds, and of an order by at least so much.
shuffled
    In each seed the rows of a table are permuted among its labels (rule, discipline, number of flows ...), over all cases with the same
    labels: no order, trend or difference is left but by chance. For other statements of order, trend and existence, and on most runs.
    Also for an equality of runs without noise, whose seeds differ by rounding alone: equal rates are then no longer at equal labels.
event
    Each seed has an event with probability one half: counts of drops, losses and timeouts are one or zero. For statements of absence.
as run
    The seeds are drawn again and nothing else is changed: how often the statement has the verdict of the data. Where it is inconclusive, or
    comes again in fewer than 80 % of the draws, ``runs`` says how many times today's seeds decide it, or give its verdict, in 80 %, if means and spreads are those of the data.

Where no statement of a claim holds in the first 60 of 200 draws of its null worlds, or none twice in the first 100, these suffice.

The kinds of statements, their thresholds and worlds are those of ``validation/published/allowed_sets.csv``. Some have no world: that there are exceptions
is so where labels are shuffled. Rows are written claim by claim; the same call after an
interruption measures the missing claims.
"""

from __future__ import annotations

import csv
import functools
import itertools
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hopflow.progress import progress_bar
from hopflow.text_files import write_rows
from validation import evidence, ledger, records
from validation.checks import Subject, subjects
from validation.claims import find
from validation.evidence import Change
from validation.judgements.judging import FACTORS, narrowed
from validation.judgements.verdicts import Finding, Verdict

if TYPE_CHECKING:
    import pandas as pd

RESULTS = records.PUBLISHED / "null_worlds.csv"
PAPERS = ("takano2006", "malhotra2005", "kaneko2007", "zheng2002", "yang2001")
POSITIONS = frozenset({"time", "sequence", "report", "event", "begin", "end", "bin", "node", "queue", "run"})
"""Index columns that are positions within a run, not labels."""
EVENT_COLUMNS = re.compile(r"^(?!first_|last_)(\w+_)?(drop|lost|loss(es)?$|timeouts|resent|overflow)")
"""Counts of events, not the times of the first and the last one."""
DECIDED = (Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE)
HALF = 0.499
"""A level at which a verdict turns where its estimates do."""
MAX_RATE = 0.05
ENOUGH = {60: 0, 100: 1}
"""Draws that suffice, if no statement holds more often in them: at a rate of 5 % they show so few in one of 20 cases."""
POWER = 0.8
MORE_SEEDS = (2, 4)
"""Multiples of today's seeds with which an inconclusive statement is judged again."""
FEW_DRAWS = 10
"""Draws with more seeds."""

Key = tuple[str, str]
"""Statement and simulator."""


@dataclass(frozen=True)
class Row:
    """What a statement does in a world."""

    claim: str
    statement: str
    source: str
    kind: str
    world: str
    threshold: str
    """The threshold that is moved to the data, with its value there; empty in other worlds."""
    verdict: str
    """By the data."""
    draws: int
    holds: int
    contradicted: int
    failed: int
    """Draws whose tables the claim refuses."""
    runs: str = ""
    """Multiples of today's seeds that decide an inconclusive statement, or give the verdict in 80 % of the draws; ``> 4``: not even these."""


# Worlds: functions of case, file and table


def resampled(random: np.random.Generator, factor: int = 1) -> Change:
    """Return the world whose seeds are drawn with replacement from those of each case, ``factor`` times as many."""
    choices: dict[str, list[tuple[int, int]]] = {}

    def change(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        if "seed" not in whole or case.startswith("packets/"):
            return whole
        if case not in choices:
            seeds = evidence.provenance(case)["seeds"]
            new = [seed + 100_000 * copy for copy in range(factor) for seed in seeds]
            choices[case] = list(zip(new, random.choice(seeds, len(new)).tolist(), strict=True))
        if (case, file) not in _seed_rows:
            _seed_rows[case, file] = {
                int(seed): np.flatnonzero(whole["seed"] == seed) for seed in whole["seed"].unique()
            }
        rows = _seed_rows[case, file]
        parts = [(seed, rows[source]) for seed, source in choices[case] if source in rows]
        frame = whole.iloc[np.concatenate([index for _, index in parts])].reset_index(drop=True)
        frame["seed"] = np.concatenate([np.full(len(index), seed) for seed, index in parts])
        return frame

    return change


_seed_rows: dict[tuple[str, str], Mapping[int, np.ndarray]] = {}
"""Rows by seed of the tables of a case, which are the same in all draws."""


@dataclass(frozen=True)
class Pool:
    """The tables of cases with the same labels: rows of one seed and size of a combination of labels, which are exchanged.

    Attributes
    ----------
    table
        The tables below one another.
    ranges
        The rows of each case.
    blocks
        Row numbers, shape (combinations, rows of each), by seed and size.
    columns
        Columns that are exchanged.
    """

    table: pd.DataFrame
    ranges: Mapping[str, slice]
    blocks: Mapping[tuple[int, int], np.ndarray]
    columns: Sequence[str]


@functools.lru_cache(maxsize=16)
def _pool(cases: tuple[str, ...], stem: str) -> Pool | None:
    """Return the pool of the tables of some cases; None: they have no labels or no seeds."""
    import pandas as pd

    index = _index(cases[0], stem)
    labels = [column for column in index if column != "seed" and column not in POSITIONS]
    if "seed" not in index or not labels:
        return None
    tables = [evidence.table(case, stem) for case in cases]
    ends = np.cumsum([0, *map(len, tables)])
    ranges = {case: slice(*ends[n : n + 2]) for n, case in enumerate(cases)}
    table = pd.concat(tables, ignore_index=True)
    table.attrs = {}
    codes = np.repeat(np.arange(len(cases)), np.diff(ends))
    groups: dict[tuple[int, int], list[np.ndarray]] = {}
    keys = [table["seed"], pd.Series(codes, name="case"), *(table[label] for label in labels)]
    indices: dict[Any, Any] = table.groupby(keys, sort=False).indices
    for (seed, *_), rows in indices.items():
        groups.setdefault((int(seed), len(rows)), []).append(rows)
    by_labels = table.groupby([keys[1], *keys[2:]], sort=False)
    columns = [
        column
        for column in table.columns
        if column not in (*labels, "seed") and by_labels[column].nunique().max() > 1  # others are settings
    ]
    return Pool(table, ranges, {key: np.array(rows) for key, rows in groups.items()}, columns)


@functools.cache
def _index(case: str, stem: str) -> tuple[str, ...]:
    files = evidence.provenance(case)["files"]
    return next((tuple(about["index"]) for file, about in files.items() if file.split(".")[0] == stem), ())


def shuffled(random: np.random.Generator, cases: Sequence[str]) -> Change:
    """Return the world in which rows are permuted among labels within each seed, the same way in tables with the same labels."""
    pools: dict[tuple[str, str], Pool] = {}
    for case in cases:
        for file in evidence.provenance(case)["files"]:
            stem = file.split(".")[0]
            like = tuple(one for one in cases if _index(one, stem) == _index(case, stem))
            if not case.startswith("packets/") and (pool := _pool(like, stem)) is not None:
                pools[case, stem] = pool
    orders: dict[object, np.ndarray] = {}
    tables: dict[int, pd.DataFrame] = {}

    def permuted(pool: Pool) -> pd.DataFrame:
        sources = np.arange(len(pool.table))
        for (seed, _), rows in pool.blocks.items():
            key = tuple(pool.ranges), seed, rows.shape
            if key not in orders:
                orders[key] = random.permutation(len(rows))
            sources[rows.ravel()] = rows[orders[key]].ravel()
        return pool.table.assign(**{column: pool.table[column].to_numpy()[sources] for column in pool.columns})

    def change(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        pool = pools.get((case, file.split(".")[0]))
        if pool is None:
            return whole
        if id(pool) not in tables:
            tables[id(pool)] = permuted(pool)
        return tables[id(pool)].iloc[pool.ranges[case]].reset_index(drop=True)

    return change


def with_events(random: np.random.Generator) -> Change:
    """Return the world in which an event occurs in each seed with probability one half."""
    occurs: dict[tuple[str, int], float] = {}

    def change(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        index = _index(case, file.split(".")[0])
        counts = [column for column in whole.columns if column not in index and EVENT_COLUMNS.match(column)]
        if "seed" not in index or not counts or case.startswith("packets/"):
            return whole
        for seed in whole["seed"].unique().tolist():
            occurs.setdefault((case, seed), float(random.random() < 0.5))
        flags = whole["seed"].map(lambda seed: occurs[case, seed])
        return whole.assign(**dict.fromkeys(counts, flags))

    return change


# Edges: thresholds at which a statement is neither so nor not so


def verdicts(finding: Finding) -> dict[Key, Verdict]:
    """Return the verdicts of simulators in the default reading."""
    return {(part.statement, name): verdict for part in finding.parts for name, verdict in part.simulators.items()}


def edges(subject: Subject[Any], measured: object, bounds: Mapping[str, str]) -> dict[Key, tuple[str, float]]:
    """Return the threshold that bounds a statement, for each simulator with its value where the estimates are on the edge of what it allows.

    ``bounds`` has the names of thresholds by statement, separated by spaces. Of several it is the first one that turns the verdict. Where it turns
    at several values, it is the one nearest to the value used.
    """
    thresholds = subject.check.thresholds()
    at_half = {"level": HALF} if "level" in thresholds else {}

    @functools.cache
    def at(name: str, value: float) -> dict[Key, Verdict] | None:
        try:
            return verdicts(subject.in_all_readings(measured, {name: value} | at_half))
        except (ValueError, ArithmeticError, LookupError):
            return None  # a time or a number of runs beyond the data

    def holds(name: str, value: float, key: Key) -> bool | None:
        judged = at(name, value)
        return None if judged is None else judged.get(key) is Verdict.HOLDS

    def upheld(name: str, key: Key, value: float) -> bool:
        return holds(name, value, key) is True

    nearest: dict[Key, tuple[str, float]] = {}
    for key in verdicts(subject.in_all_readings(measured, {})):
        for name in bounds.get(key[0], "").split():
            used = thresholds.get(name, 0.0)
            grid = sorted({used * factor**sign for factor in FACTORS for sign in (-1, 1)} | {used})
            steps = [
                (low, high)
                for low, high in itertools.pairwise(grid)
                if {holds(name, low, key), holds(name, high, key)} == {True, False}
            ]
            if used and steps:
                low, high = min(steps, key=lambda step: abs(math.log(step[0] * step[1]) - 2.0 * math.log(used)))
                stays, value = (low, high) if holds(name, low, key) else (high, low)
                nearest[key] = (
                    name,
                    narrowed(functools.partial(upheld, name, key), stays, value)[1],
                )
                break
    return nearest


# The draws of a claim


def draw(claim: str, draws: int, seed: int = 0, powers: bool = True) -> list[Row]:
    """Return the rows of a claim; ``powers``: with those of the world as run, and the seeds that statements need."""
    find(claim)
    subject = subjects()[claim]
    sets = {row["statement"]: row for row in records.rows("allowed_sets.csv") if row["claim"] == claim}
    kinds = {key: row["kind"] for key, row in sets.items()}
    measured = subject.measured()
    data = {key: v for key, v in verdicts(subject.in_all_readings(measured, {})).items() if v in DECIDED}
    if not data:
        return []
    bounds = edges(subject, measured, {key: row["bound"] for key, row in sets.items()})
    worlds = {key: _world(sets[key[0]], key in bounds) for key in data}
    counts: dict[tuple[str, Key], Counter[str]] = {(world, key): Counter() for key, world in worlds.items()}
    if powers:
        counts |= {("as run", key): Counter() for key in data}

    def judged(change: Change, thresholds: Sequence[Mapping[str, float]] = ({},)) -> list[dict[Key, Verdict]]:
        try:
            with evidence.changed(change), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = subject.check.measure(*subject.arguments)
                return [verdicts(subject.in_all_readings(found, some)) for some in thresholds]
        except (ValueError, KeyError, ArithmeticError, IndexError, StopIteration, TypeError):
            return [{}] * len(thresholds)  # a table that a claim refuses shows nothing

    moved = list(dict.fromkeys(bounds[key] for key in data if worlds[key] == "edge"))
    streams = [
        np.random.default_rng(child) for child in np.random.SeedSequence([seed, sum(map(ord, claim))]).spawn(draws)
    ]
    for number, random in enumerate(streams):
        most = max((tally["holds"] for (world, _), tally in counts.items() if world != "as run"), default=0)
        if most <= ENOUGH.get(number, -1):
            break
        thresholds = [*([{}] if powers else []), *({name: value} for name, value in moved)]
        results = judged(resampled(random), thresholds) if thresholds else []
        at_edges = results[powers:]
        for key in data:
            if powers:
                counts["as run", key][str(results[0].get(key, "failed"))] += 1
            if worlds[key] == "edge":
                counts["edge", key][str(at_edges[moved.index(bounds[key])].get(key, "failed"))] += 1
        for world, change in (("shuffled", shuffled), ("event", lambda stream, _: with_events(stream))):
            if world in worlds.values():
                (result,) = judged(change(random, subject.cases))
                for key in data:
                    if worlds[key] == world:
                        counts[world, key][str(result.get(key, "failed"))] += 1
    factors = {}
    if powers:
        sought = {
            key: {Verdict.HOLDS, Verdict.CONTRADICTED}
            for key, verdict in data.items()
            if verdict is Verdict.INCONCLUSIVE
        }
        sought |= {
            key: {verdict}
            for key, verdict in data.items()
            if key not in sought and counts["as run", key][str(verdict)] < POWER * counts["as run", key].total()
        }
        factors = _deciding_factors(sought, judged, seed)
    rows = []
    for (world, key), tally in counts.items():
        if world == "none":
            continue
        threshold = "{} = {:.4g}".format(*bounds[key]) if world == "edge" else ""
        rows.append(
            Row(claim, *key, kinds[key[0]], world, threshold, str(data[key]), tally.total(), tally["holds"],
                tally["contradicted"], tally["failed"], factors.get(key, "") if world == "as run" else "")
        )  # fmt: skip
    return sorted(rows, key=lambda row: (row.statement, row.source, row.world))


def _world(row: Mapping[str, str], bounded: bool) -> str:
    """Return the null world of a statement that a threshold turns or not: an order by at least so much may be too large for any threshold."""
    if row["null_world"] != "edge" or bounded:
        return row["null_world"]
    return "shuffled" if row["kind"] in ("order", "trend", "existence") else "none"


def _deciding_factors(
    sought: Mapping[Key, set[Verdict]], judged: Callable[[Change], list[dict[Key, Verdict]]], seed: int
) -> dict[Key, str]:
    """Return how many times today's seeds give each statement one of the verdicts in four of five draws."""
    factors: dict[Key, str] = dict.fromkeys(sought, f"> {MORE_SEEDS[-1]}")
    for factor in MORE_SEEDS:
        remaining = [key for key in sought if factors[key].startswith(">")]
        if not remaining:
            break
        tally: Counter[Key] = Counter()
        for child in np.random.SeedSequence([seed, factor]).spawn(FEW_DRAWS):
            (result,) = judged(resampled(np.random.default_rng(child), factor))
            tally.update(key for key in remaining if result.get(key) in sought[key])
        for key in remaining:
            if tally[key] >= POWER * FEW_DRAWS:
                factors[key] = str(factor)
    return factors


@functools.cache
def largest_allowed(draws: int) -> int:
    """Return in how many draws a statement may hold: `MAX_RATE` of 200; of fewer, what 99 % of statements of that rate do not exceed."""
    from scipy.stats import binom

    return math.floor(MAX_RATE * draws) if draws >= 200 else int(binom.ppf(0.99, draws, MAX_RATE))


# The table


def read(path: Path, draws: int) -> list[Row]:
    """Return the rows of a file that were measured with so many draws, or with those that suffice."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    types = {field.name: {"int": int, "str": str}[str(field.type)] for field in fields(Row)}
    rows = [Row(**{name: types[name](value) for name, value in line.items()}) for line in lines]
    return [row for row in rows if row.draws in (*ENOUGH, draws)]


def too_often(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of null worlds in which a statement holds more often than it may."""
    return [row for row in rows if row.world != "as run" and row.holds > largest_allowed(row.draws)]


def main(
    claims: Annotated[list[str] | None, typer.Argument(help="Ids; none: all of the five papers.")] = None,
    draws: Annotated[int, typer.Option(help="Draws of each world.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Of the draws.", min=0)] = 0,
    processes: Annotated[int, typer.Option(help="Claims that are measured at once.", min=1)] = 1,
    output: Annotated[Path, typer.Option(help="The table.")] = RESULTS,
) -> None:
    """Draw null worlds, write ``validation/published/null_worlds.csv`` and print the statements that hold too often."""
    every = [claim.id for claim in ledger().values() if claim.paper in PAPERS]
    rows = [] if claims else read(output, draws)
    measured = {row.claim for row in rows}
    missing = claims or [
        claim for claim in reversed(every) if claim not in measured
    ]  # those of takano2006 take longest
    with ProcessPoolExecutor(processes) as pool:
        futures = [pool.submit(draw, claim, draws, seed) for claim in missing]
        for future in progress_bar(as_completed(futures), desc="null worlds", unit="claim", total=len(futures)):
            rows += future.result()
            if not claims:
                rows.sort(key=lambda row: every.index(row.claim))
                write_rows(output, [field.name for field in fields(Row)], map(astuple, rows))
    worst = too_often(rows)
    for row in rows if claims else worst:
        typer.echo(" ".join(map(str, astuple(row))))
    limit = largest_allowed(draws)
    typer.echo(f"{len(rows)} rows, {len(worst)} statements hold in more than {limit} of {draws} draws of a null world")
    raise typer.Exit(bool(worst))


if __name__ == "__main__":
    typer.run(main)
