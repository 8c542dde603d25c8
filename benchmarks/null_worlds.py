"""``python -m benchmarks.null_worlds [CLAIM ...]``: how often statements hold in worlds in which they are not so.

Bundled tables of simulators are changed before anything is computed from them, a claim is measured and judged again, and it is
counted how often each statement holds by each simulator. A statement may hold in 5 % of the draws at most.

shuffled
    In each seed the labels of the runs (rule, discipline, environment, threshold ...) are permuted: no order, no trend and no
    difference is left but by chance. For statements of order, trend and existence.
event
    Each seed has an event or none, with probability one half: all counts of drops, losses and timeouts are one or zero. For statements of
    absence.

Statements of equality and bounds have no world here: the values would have to be moved to the edge of what the statement allows, which needs
the quantity of each statement as a function of single cells.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer
from tqdm import tqdm

from hopflow.text_files import write_rows
from validation import evidence, ledger, records
from validation.checks import subjects
from validation.claims import find
from validation.evidence import Change
from validation.judgements.verdicts import Finding, Verdict

if TYPE_CHECKING:
    import pandas as pd

RESULTS = Path(__file__).resolve().parent / "results" / "null_worlds.csv"
HEAD = ("claim", "statement", "kind", "world", "source", "verdict", "draws", "holds", "contradicted", "failed")
PAPERS = ("takano2006", "malhotra2005", "kaneko2007", "zheng2002", "yang2001")
POSITIONS = frozenset({"time", "sequence", "report", "event", "begin", "end", "bin", "node", "queue", "run"})
"""Index columns that are no labels: places within a run."""
EVENTS = re.compile(r"^(queue_)?(drop|lost|loss(es)?$|timeouts|resent|overflow)")
WORLDS = {"order": "shuffled", "trend": "shuffled", "existence": "shuffled", "absence": "event"}
"""The null world of statements by their kind (`kind_of`)."""
MAX_RATE = 0.05


class Tally(NamedTuple):
    """Of one statement, source and world: what it is in the data, and how often it holds and is contradicted."""

    kind: str
    verdict: Verdict
    counts: Counter[str]


def kind_of(statistic: str) -> str:
    """Return the kind of a statement by the words of its statistic in ``published/statements.csv``.

    One that is taken for an order by mistake shows here: it holds too often.
    """
    if "within the" in statistic or "within `margin`" in statistic:
        return "equality"
    if "none in all runs" in statistic or "absent" in statistic:
        return "absence"
    if "more than none" in statistic:
        return "existence"
    if re.search("(below|above) the threshold|below `least`", statistic):
        return "bound"
    if re.search("(every|each) step", statistic):
        return "trend"
    return "order" if re.search("(t|rank|sign) tests?|above zero", statistic) else "exact"


def shuffled(random: np.random.Generator) -> Change:
    """Return the world in which labels are permuted within each seed, the same way in all tables of a case that have the same labels."""
    orders: dict[object, np.ndarray] = {}

    tables: dict[tuple[str, str], pd.DataFrame] = {}

    def change(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        if (case, file) not in tables:
            tables[case, file] = moved(case, file, whole)
        return tables[case, file]

    def moved(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        index = evidence.provenance(case)["files"][file]["index"]
        labels = [column for column in index if column != "seed" and column not in POSITIONS]
        if "seed" not in index or not labels or case.startswith("packets/"):
            return whole
        values = [column for column in whole.columns if column not in labels]
        frame = whole.reset_index(drop=True)
        parts = []
        for seed, rows in frame.groupby("seed", sort=False):
            combos = [group.index.to_numpy() for _, group in rows.groupby(labels, sort=False)]
            by_size: dict[int, list[np.ndarray]] = {}
            for combo in combos:
                by_size.setdefault(len(combo), []).append(combo)
            for size, same in by_size.items():
                key = case, seed, size, len(same)
                if key not in orders:
                    orders[key] = random.permutation(len(same))
                sources = np.concatenate([same[n] for n in orders[key]])
                table = frame.loc[np.concatenate(same), labels].reset_index(drop=True)
                table[values] = frame.loc[sources, values].reset_index(drop=True)
                parts.append(table)
        import pandas as pd

        return pd.concat(parts, ignore_index=True)[list(whole.columns)]

    return change


def with_events(random: np.random.Generator) -> Change:
    """Return the world in which an event occurs in each seed with probability one half."""
    occurs: dict[object, bool] = {}

    def change(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        index = evidence.provenance(case)["files"][file]["index"]
        counts = [column for column in whole.columns if column not in index and EVENTS.match(column)]
        if "seed" not in index or not counts or case.startswith("packets/"):
            return whole
        for seed in whole["seed"].unique().tolist():
            occurs.setdefault((case, seed), bool(random.random() < 0.5))
        frame = whole.copy()
        flags = frame["seed"].map(lambda seed: float(occurs[case, seed]))
        for column in counts:
            frame[column] = flags
        return frame

    return change


MAKERS: dict[str, Callable[[np.random.Generator], Change]] = {"shuffled": shuffled, "event": with_events}


def keyed(finding: Finding) -> Iterator[tuple[str, str, Verdict]]:
    """Yield key, simulator and verdict of the statements of a finding whose statements are their keys."""
    for part in finding.parts:
        for name, verdict in part.simulators.items():
            yield part.statement, name, verdict


def draw(
    claim: str, draws: int, seed: int = 0, worlds: Sequence[str] = tuple(MAKERS)
) -> dict[tuple[str, str, str], Tally]:
    """Return the tallies of a claim by world, statement and simulator, of the statements for which the world is made."""
    find(claim)
    subject = subjects()[claim]
    kinds = {key: kind_of(each.statistic) for key, each in records.statements_of_papers()[claim].items()}
    data = {(key, name): v for key, name, v in keyed(subject.in_all_readings(subject.measured(), {}))}
    found: dict[tuple[str, str, str], Tally] = {}
    for world in worlds:
        wanted = {
            (key, name): v
            for (key, name), v in data.items()
            if v in (Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE)
            and WORLDS.get(kinds.get(key, "")) == world
        }
        if not wanted:
            continue
        for (key, name), verdict in wanted.items():
            found[world, key, name] = Tally(kinds[key], verdict, Counter())
        for child in np.random.SeedSequence([seed, sum(map(ord, claim))]).spawn(draws):
            with evidence.changed(MAKERS[world](np.random.default_rng(child))):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        finding = subject.in_all_readings(subject.check.measure(*subject.arguments), {})
                except (ValueError, KeyError, ArithmeticError, IndexError, StopIteration):
                    judged = {}  # a table that a claim refuses shows nothing
                else:
                    judged = {(key, name): v for key, name, v in keyed(finding)}
            for key, name in wanted:
                found[world, key, name].counts[str(judged.get((key, name), "failed"))] += 1
    return found


def largest_allowed(draws: int) -> int:
    """Return how many of the draws may hold: `MAX_RATE` of 200, for fewer draws what 99 % of such would not exceed."""
    from scipy.stats import binom

    return math.floor(MAX_RATE * draws) if draws >= 200 else int(binom.ppf(0.99, draws, MAX_RATE))


def main(
    claims: Annotated[list[str] | None, typer.Argument(help="Ids; none: all of the five papers.")] = None,
    draws: Annotated[int, typer.Option(help="Worlds of each kind.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
) -> None:
    """Draw null worlds, write ``results/null_worlds.csv`` and print the statements that hold too often."""
    chosen = claims or [claim.id for claim in ledger().values() if claim.paper in PAPERS]
    rows, worst = [], []
    for claim in tqdm(chosen, unit="claim"):
        for (world, key, name), tally in draw(claim, draws, seed).items():
            counts = tally.counts
            row = (claim, key, tally.kind, world, name, str(tally.verdict), draws,
                   counts["holds"], counts["contradicted"], counts["failed"])  # fmt: skip
            rows.append(row)
            if counts["holds"] > largest_allowed(draws):
                worst.append(row)
        if not claims:
            write_rows(RESULTS, HEAD, rows)
    for row in worst or rows:
        print(*row)
    print(
        f"{len(rows)} statements and sources, {len(worst)} hold in more than {largest_allowed(draws)} of {draws} worlds"
    )
    raise typer.Exit(bool(worst))


if __name__ == "__main__":
    typer.run(main)
