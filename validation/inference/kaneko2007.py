"""kaneko2007: the 49 cells of the slide of pairs, and what they say about the other slides (K03, K05, K06)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation import evidence
from validation.checks import subjects
from validation.claims import find
from validation.inference.designs import PARAMETERS, SEEDS
from validation.inference.emulator import fit
from validation.inference.likelihoods import Posterior, evidence_of, held_out, infer, joined
from validation.inference.parameters import Open, Value, points, sobol
from validation.inference.results import Inference, Weight, marginals
from validation.inference.rule_pairs import LONG_RTTS, NAMES, PAIRS
from validation.records import rows

PAPER, CASE = "kaneko2007", "kaneko2007/unstated-parameters"
CANDIDATES = 8192
"""Settings that are weighted, by interpolation between those that were run."""
COMMON = ("later", "warm", "measured", "slow_start", "delayed", "recovery")
BESIDES = {"pairs": ("rtt",), "small": ("small_buffer",)}
"""Further parameters of an experiment; those on round-trip times have ``line_buffer``."""
OF_RULE = {
    "Reno": (), "Fusion": ("fusion_delay",), "ARENO": ("areno_inclusive", "areno_memory"),
    "CTCP": ("ctcp_gamma",), "HSTCP": ("hstcp_table",), "BIC": ("bic_b", "bic_largest"),
    "CUBIC": ("cubic_beta", "cubic_fast"),
}  # fmt: skip
"""Parameters of each rule."""
FRIENDLY, GREEDY = NAMES[:4], NAMES[4:]
Values = NDArray[np.float64]
Truth = NDArray[np.bool_]
Experiment = tuple[str, str, str]


def printed() -> tuple[Values, Values]:
    """Return the log ratio and the log sum of the throughputs in Mb/s of each of `PAIRS`, as on the slide.

    Of a rule beside itself one number is printed: the ratio is 0, the sum twice the number.
    """
    cells = {(row["rule"], row["against"]): float(row["throughput_mbit_per_s"]) for row in rows("kaneko2007_pairs.csv")}
    both = np.array([(cells[one, other], cells[other, one]) for one, other in PAIRS])
    return np.log(both[:, 0] / both[:, 1]), np.log(both.sum(axis=1))


@functools.cache
def simulated() -> tuple[tuple[Mapping[str, Value], ...], dict[Experiment, Values]]:
    """Return the settings that were run, and by experiment and pair the goodputs in Mb/s; (settings, 2)."""
    chosen = evidence.frame(CASE, "settings").drop(columns="setting").to_dict("records")
    table = evidence.frame(CASE, "pairs").sort_values("setting")
    of = tuple({str(name): value for name, value in each.items()} for each in chosen)
    columns = ["goodput_first", "goodput_second"]
    groups: Any = table.groupby(["experiment", "first", "second"])
    return of, {key: group[columns].to_numpy() for key, group in groups}


def free(experiment: Experiment) -> tuple[Open, ...]:
    """Return the parameters that an experiment depends on."""
    name, one, other = experiment
    names = {*COMMON, *BESIDES.get(name, ("line_buffer",)), *OF_RULE[one], *OF_RULE[other]}
    return tuple(each for each in PARAMETERS[PAPER] if each.name in names)


@dataclass(frozen=True)
class Candidates:
    """Settings to be weighted, with the interpolated log ratio and log sum of each experiment.

    Attributes
    ----------
    settings
        By parameter.
    cells
        By experiment, shape (settings, 2).
    error
        Of the interpolation, shape (2,).
    """

    settings: Sequence[Mapping[str, Value]]
    cells: Mapping[Experiment, Values]
    error: Mapping[Experiment, Values]

    def share(self, experiment: Experiment) -> Values:
        """Return the part of the first flow in what both get, with the error of the interpolation; (settings,).

        One error is drawn for each setting.
        """
        ratio = self.cells[experiment][:, 0]
        rng = np.random.default_rng([SEEDS[PAPER], list(self.cells).index(experiment)])
        found: Values = 1.0 / (1.0 + np.exp(-ratio - rng.normal(0.0, self.error[experiment][0], len(ratio))))
        return found


@functools.cache
def candidates() -> Candidates:
    """Return settings all over the ranges, with what is interpolated between the runs."""
    runs, goodputs = simulated()
    settings = sobol(PARAMETERS[PAPER], CANDIDATES, SEEDS[PAPER] + 1)
    known, wanted = (points(PARAMETERS[PAPER], each) for each in (runs, settings))
    cells, error = {}, {}
    for experiment, both in goodputs.items():
        of = [PARAMETERS[PAPER].index(each) for each in free(experiment)]
        values = np.column_stack([np.log(both[:, 0] / both[:, 1]), np.log(both.sum(axis=1))])
        emulator = fit(known[:, of], values)
        cells[experiment] = emulator.at(wanted[:, of])
        error[experiment] = emulator.error
    return Candidates(settings, cells, error)


def residuals() -> tuple[Values, Values, Values]:
    """Return simulated less printed log ratios and log sums, (settings, 28) each, and both errors, (2, 28)."""
    found, (ratios, sums) = candidates(), printed()
    cells = np.stack([found.cells["pairs", *pair] for pair in PAIRS], axis=2)
    payload = np.log([float(each["payload"]) for each in found.settings])
    error = np.array([found.error["pairs", *pair] for pair in PAIRS]).T
    return cells[:, 0] - ratios, cells[:, 1] + payload[:, None] - sums, error


def weighted(ratios: Truth, sums: Truth) -> Posterior:
    """Return the weights of the candidates by some of the ratios and of the sums, each with errors of its own."""
    by_ratio, by_sum, error = residuals()
    posterior = infer(by_ratio[:, ratios], error[0, ratios])
    return joined(posterior, evidence_of(infer(by_sum[:, sums], error[1, sums], ["sums"] * int(sums.sum()))))


def inferred() -> Inference:
    """Return what the slide of pairs says about the settings, and the claims on this and other slides."""
    found = candidates()
    by_ratio, _, error = residuals()
    apart = np.array([one != other for one, other in PAIRS])
    aside = np.zeros(len(PAIRS), dtype=bool)
    aside[np.flatnonzero(apart)[held_out(int(apart.sum()), SEEDS[PAPER])]] = True
    checked = weighted(apart & ~aside, ~aside)
    posterior = weighted(apart, np.ones(len(PAIRS), dtype=bool))
    runs, goodputs = simulated()
    own = np.array([np.log(both[:, 0] / both[:, 1]) for both in (goodputs["pairs", *p] for p in PAIRS)])
    gaps = (own.T - printed()[0])[:, apart]
    return Inference(
        PAPER, len(runs), len(found.settings), int((apart & ~aside).sum() + (~aside).sum()),
        int(aside.sum()), checked.covered(by_ratio[:, aside], error[0, aside]),
        posterior.effective, (posterior.model_errors[0], 0.0),
        float(np.sqrt((gaps**2).mean(axis=1)).min()), float(np.sqrt((error[0, apart] ** 2).mean())),
        marginals(PARAMETERS[PAPER], found.settings, posterior.weights),
        tuple(
            _claim(id, statements, posterior.weights)
            for id, statements in statements_of(found).items()
        ),
    )  # fmt: skip


def _claim(id: str, kept: Mapping[str, Truth], weights: Values) -> Weight:
    every: Truth = np.logical_and.reduce(list(kept.values()))
    each = {name: float(weights @ own) for name, own in kept.items()}
    return Weight(id, each, float(weights @ every), float(every.mean()))


def statements_of(found: Candidates) -> dict[str, dict[str, Truth]]:
    """Return which settings keep each statement, by claim, as the claims judge them but without intervals.

    Rates are compared as in the claims, by their difference over their sum, with the margin of each claim.
    """

    def equal(id: str, one: Values, other: Values) -> Truth:
        return np.asarray(abs(one - other) <= margin_of(id) * (one + other))

    def fair(id: str, experiment: Experiment) -> Truth:
        share = found.share(experiment)
        return equal(id, share, 1.0 - share)

    def every(checks: Sequence[Truth]) -> Truth:
        whole: Truth = np.logical_and.reduce(checks)
        return whole

    friendly = list(itertools.combinations(FRIENDLY, 2))
    greedy = list(itertools.product(FRIENDLY, GREEDY))
    long = {
        (name, rtt): 1.0 - found.share((f"rtt {1e3 * rtt:g} ms", name, name))
        for name in NAMES for rtt in LONG_RTTS
    }  # fmt: skip
    others = [(name, rtt) for name in NAMES for rtt in LONG_RTTS]
    return {
        "K03": {
            "equal": every([fair("K03", ("pairs", *pair)) for pair in friendly]),
            "take": every([found.share(("pairs", *pair)) < 0.5 for pair in greedy]),
        },
        "K05": {
            "fairest": every([long["CUBIC", rtt] > long[n, rtt] for n, rtt in others if n != "CUBIC"]),
            "least": every([long["HSTCP", rtt] < long[n, rtt] for n, rtt in others if n != "HSTCP"]),
            "same ratio": every([
                equal("K05", 1.0 / long[n, rtt] - 1.0, 1.0 / long["Reno", rtt] - 1.0)
                for n in FRIENDLY for rtt in LONG_RTTS
            ]),
        },
        "K06": {name: fair("K06", ("small", name, "Reno")) for name in NAMES[1:]},
    }  # fmt: skip


def margin_of(id: str) -> float:
    """Return the margin by which a claim judges that rates are equal."""
    find(id)
    return subjects()[id].check.thresholds()["margin"]
