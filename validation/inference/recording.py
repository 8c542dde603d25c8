"""The recorded weights of ``published/inferred.csv``, and their computation for a paper."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import import_module

from hopflow.checks import choice
from validation.inference.results import Inference, Weight, percent
from validation.records import PUBLISHED, rows

__all__ = ["FILE", "PAPERS", "differences", "infer_paper", "record", "recorded", "sentence"]

FILE = "inferred.csv"
EVERY = "all"
"""The name of the row in which all statements of a claim hold."""
PAPERS = ("zheng2002", "kaneko2007")
DIGITS = 3
ROUNDED = 0.02
"""Largest difference from the recorded weight: what other versions of the linear algebra may change."""


def infer_paper(paper: str) -> Inference:
    """Return what the printed numbers of a paper say about what it leaves open, from the bundled runs.

    Parameters
    ----------
    paper
        One of ``PAPERS``.

    Examples
    --------
    >>> from validation.inference.recording import infer_paper
    >>> infer_paper("zheng2002").runs
    162
    """
    choice("paper", paper, PAPERS)
    found: Inference = import_module(f"validation.inference.{paper}").inferred()
    return found


def recorded() -> dict[str, Weight]:
    """Return the recorded weights by claim."""
    if not (PUBLISHED / FILE).exists():
        return {}
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in rows(FILE):
        own = found.setdefault(row["claim"], {})
        own[row["statement"]] = float(row["weight"]), float(row["before"] or "nan")
    return {
        id: Weight(id, {n: w for n, (w, _) in own.items() if n != EVERY}, *own[EVERY])
        for id, own in found.items()
    }


def sentence(claim: str) -> str:
    """Return what holds in the settings compatible with a paper's numbers, "" for a claim without that.

    Examples
    --------
    >>> from validation.inference.recording import sentence
    >>> sentence("M01")
    ''
    """
    weight = recorded().get(claim)
    if weight is None:
        return ""
    whole = f"the claim holds in {percent(weight.every)} of the settings compatible with them"
    parts = "; ".join(f"{name} {percent(part)}" for name, part in weight.statements.items())
    before = f"in {percent(weight.before)} of all settings without them"
    return f"{whole}, {before}" + (
        f" (by statement: {parts})" if len(weight.statements) > 1 else ""
    )


def record(inferences: Iterable[Inference]) -> None:
    """Write the weights of all papers to ``published``."""
    with (PUBLISHED / FILE).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("paper", "claim", "statement", "weight", "before"))
        for found in inferences:
            for each in found.claims:
                for name, weight in each.statements.items():
                    writer.writerow((found.paper, each.claim, name, f"{weight:.{DIGITS}f}", ""))
                last = (f"{value:.{DIGITS}f}" for value in (each.every, each.before))
                writer.writerow((found.paper, each.claim, EVERY, *last))


def differences(found: Inference) -> list[str]:
    """Return the claims whose weights differ from the recorded ones."""
    known = recorded()

    def differs(weight: Weight) -> bool:
        before = known.get(weight.claim)
        if before is None or before.statements.keys() != weight.statements.keys():
            return True
        pairs = [(weight.statements[n], before.statements[n]) for n in weight.statements]
        return any(abs(a - b) > ROUNDED for a, b in [*pairs, (weight.every, before.every)])

    return [weight.claim for weight in found.claims if differs(weight)]
