"""The recorded weights and parameters of ``published/inferred*.csv``, and their computation for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module

from hopflow.checks import choice
from hopflow.text_files import write_rows
from validation.inference.results import Inference, Marginal, Weight, percent
from validation.records import PUBLISHED, rows

FILE = "inferred.csv"
OF_PARAMETERS = "inferred_parameters.csv"
EVERY = "all"
"""The name of the row in which all statements of a claim hold."""
PAPERS = ("zheng2002", "yang2001", "kaneko2007")
CASES = {paper: (f"{paper}/unstated-parameters",) for paper in PAPERS} | {
    "yang2001": ("yang2001/unstated-parameters", "yang2001/regulated-sources")
}
"""The bundled runs of the settings, by paper."""
SAME_NUMBERS = (
    "the settings are inferred from numbers that the claim is about: it checks the fit, and is not independent of it"
)
OF_THE_SAME_RULES = "the settings are inferred from the shares of the same rules on another slide: the weight is not independent of the paper's measurements"
CIRCULAR = {
    "K03": SAME_NUMBERS, "Y05": SAME_NUMBERS, "Y06": SAME_NUMBERS, "Y07": SAME_NUMBERS, "Y11": SAME_NUMBERS,
    "Y12": SAME_NUMBERS, "K05": OF_THE_SAME_RULES, "K06": OF_THE_SAME_RULES,
}  # fmt: skip
"""Claims that are not independent of the numbers that the settings are inferred from. zheng2002 leaves these out."""
DIGITS = 3
ROUNDED = 0.1
"""Largest difference from the recorded weight: what settings drawn with other round-off may change, at 512 settings."""


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
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in rows(FILE):
        own = found.setdefault(row["claim"], {})
        own[row["statement"]] = float(row["weight"]), float(row["before"] or "nan")
    return {id: Weight(id, {n: w for n, (w, _) in own.items() if n != EVERY}, *own[EVERY]) for id, own in found.items()}


def recorded_parameters(paper: str) -> tuple[Marginal, ...]:
    """Return what is recorded of the open parameters of a paper; none for other papers.

    Examples
    --------
    >>> from validation.inference.recording import recorded_parameters
    >>> [each.name for each in recorded_parameters("zheng2002")]
    ['decrease', 'size', 'low', 'rto', 'window']
    """
    return tuple(
        Marginal(**{name: text for name, text in row.items() if name != "paper"})
        for row in rows(OF_PARAMETERS)
        if row["paper"] == paper
    )


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
    parts = parts.replace("_", " ")
    before = f"in {percent(weight.before)} of all settings without them"
    by_statement = f" (by statement: {parts})" if len(weight.statements) > 1 else ""
    circular = f"; {CIRCULAR[claim]}" if claim in CIRCULAR else ""
    return f"{whole}, {before}{by_statement}{circular}"


def record(inferences: Sequence[Inference]) -> None:
    """Write the weights and the parameters of all papers to ``published``."""
    weights = [
        (found.paper, each.claim, name, f"{weight:.{DIGITS}f}", before)
        for found in inferences
        for each in found.claims
        for name, weight, before in (
            *((name, weight, "") for name, weight in each.statements.items()),
            (EVERY, each.every, f"{each.before:.{DIGITS}f}"),
        )
    ]
    write_rows(PUBLISHED / FILE, ("paper", "claim", "statement", "weight", "before"), weights)
    parameters = [(found.paper, *vars(each).values()) for found in inferences for each in found.parameters]
    write_rows(PUBLISHED / OF_PARAMETERS, ("paper", *(each.name for each in fields(Marginal))), parameters)


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
