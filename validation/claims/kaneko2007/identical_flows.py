"""Three flows of one rule, and the panels of the slides without names (K04)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from validation.claims.effect_claims import by, effects
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.claims.kaneko2007.runs import NAMES, RULES, of_cases
from validation.judgements.verdicts import Verdict
from validation.records import rows
from validation.statistics import LEVEL, Values, combine

if TYPE_CHECKING:
    from numpy.typing import NDArray

THREE = ("kaneko2007/three-flows-ns3", "kaneko2007/three-flows-ns2")


@effects("K04", cases=THREE)
def three_flows() -> Effects:
    """Measure how three flows of a rule share a link."""
    curves = {}
    for case, name in zip(THREE, ("ns-3", "ns-2"), strict=True):
        frame = of_cases(case)
        for rule in frame["rule"].unique():
            if rule in NAMES:
                found = by(frame[frame["rule"] == rule], "flow", "goodput_bits")
                millions = [combine((e,), (1e-6,)) for e in found.values()]
                curves[f"{NAMES[rule]}, {name}"] = Curve(list(found), millions)
    splits = {name: _splits(case) for case, name in zip(THREE, ("ns-3", "ns-2"), strict=True)}

    def attributable(tool: str) -> Callable[[Mapping[str, float]], Verdict]:
        return lambda thresholds: judge_panels(printed_splits(), splits[tool], thresholds["level"])

    return Effects(
        {"splits": Statement({tool: attributable(tool) for tool in ("ns-2", "ns-3")})},
        curves,
        ("flow, in the order of the starts", "throughput (Mb/s)"),
        values={
            "panels": len(printed_splits()), "rules": len(RULES),
            "assigned": {tool: assigned(printed_splits(), runs, LEVEL) for tool, runs in splits.items()},
            "needed": {tool: needed(printed_splits(), runs) for tool, runs in splits.items()},
            "fits": {
                tool: [int(row.sum()) for row in fits(printed_splits(), runs, LEVEL)]
                for tool, runs in splits.items()
            },
            "equal": {
                tool: assigned(np.full_like(printed_splits(), 1.0 / 3.0), runs, LEVEL)
                for tool, runs in splits.items()
            },
            "reversed": {
                tool: assigned(printed_splits()[:, ::-1], runs, LEVEL) for tool, runs in splits.items()
            },
        },
    )  # fmt: skip


def printed_splits() -> Values:
    """Return the shares of three flows in the panels of the slides, shape (6, 3)."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows("kaneko2007_three_flows.csv"):
        panel = found.setdefault((row["slide"], row["panel"]), [])
        panel.append(float(row["throughput_mbit_per_s"]))
    rates = np.array(list(found.values()))
    shares: Values = rates / rates.sum(axis=1, keepdims=True)
    return shares


def _splits(case: str) -> dict[str, Values]:
    """Return the shares of three flows of a rule by rule of the slides, a row per run."""
    frame = of_cases(case)
    runs = frame.groupby(["rule", "seed", "flow"])["goodput_bits"].sum().unstack()
    part = runs.div(runs.sum(axis=1), axis=0)
    return {rule: part.loc[rule].to_numpy() for rule in RULES if rule in set(runs.index.get_level_values(0))}


def judge_panels(panels: Values, splits: Mapping[str, Values], level: float) -> Verdict:
    """Return whether runs of the rules split a link as the panels do.

    CONTRADICTED when no assignment of the panels to different rules fits. Otherwise UNDECIDABLE for any number of
    runs: an assignment that fits is chosen after the fact, since no panel names its rule, and panels that are
    reversed, equal or random fit as well.

    Parameters
    ----------
    panels
        Shares of three flows, shape (panels, 3).
    splits
        The same of the runs, shape (runs, 3), by rule.
    level
        Probability that a panel of one of the rules fits no rule.
    """
    fitting = assigned(panels, splits, level) >= needed(panels, splits)
    return Verdict.UNDECIDABLE if fitting else Verdict.CONTRADICTED


def needed(panels: Values, splits: Mapping[str, Values]) -> int:
    """Return how many panels belong to rules that the simulator has, if no two are of one rule."""
    return len(panels) - len(set(RULES) - set(splits))


def fits(panels: Values, splits: Mapping[str, Values], level: float) -> NDArray[np.bool_]:
    """Return which panels may be a run of which rule, shape (panels, rules).

    All three shares lie within the prediction interval of a further run. Its standard deviation is
    that of the runs within their rules, pooled over rules and flows; ``level`` is shared by all
    printed shares.
    """
    from scipy import stats

    spread = float(np.sqrt(np.mean([runs.var(axis=0, ddof=1) for runs in splits.values()])))
    dof = sum(len(runs) - 1 for runs in splits.values())
    reach = spread * float(stats.t.isf(level / (2 * panels.size), dof))
    means = np.array([runs.mean(axis=0) for runs in splits.values()])
    widths = np.array([reach * math.sqrt(1.0 + 1.0 / len(runs)) for runs in splits.values()])
    near = np.abs(panels[:, None, :] - means[None]) <= widths[None, :, None]
    inside: NDArray[np.bool_] = near.all(axis=2)
    return inside


def assigned(panels: Values, splits: Mapping[str, Values], level: float) -> int:
    """Return the largest number of panels that can be runs of different rules."""
    graph = csr_array(fits(panels, splits, level).astype(np.int8))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())
