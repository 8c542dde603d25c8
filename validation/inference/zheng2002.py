"""zheng2002: the full product of what it leaves open, and the numbers and words of its figures (Z03, Z04, Z06 to Z10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation import evidence
from validation.claims.effect_statements import EQUAL
from validation.claims.zheng2002.one_kind import SHOWN, VISIBLE
from validation.claims.zheng2002.pairs import EACH, GENTLE, HALF, QUARTER, SAME, TCP, TFRC
from validation.inference.designs import PARAMETERS, settings
from validation.inference.likelihoods import Posterior, held_out, infer, joined, of_words
from validation.inference.results import Inference, Weight, marginals

PAPER, CASE = "zheng2002", "zheng2002/unstated-parameters"
SEED = 2002
"""Of the choice of the quotes set aside."""
NOISE = 0.03
"""Standard deviation of the logarithm of a ratio of rates of a run: .022 to .039 over ten seeds of ``pairs-8x8``."""
ALMOST_NONE = 1e-5
"""Loss rate that a figure cannot show."""
Values = NDArray[np.float64]
FLOWS = ("one flow", "TCP flows")


@dataclass(frozen=True)
class Quote:
    """Something that the paper says of a figure, at every setting.

    Attributes
    ----------
    claim, name
        Claim whose statement it is, and a name.
    printed
        The number; None: a sentence.
    values
        The simulated number of each setting, or whether it keeps the sentence; shape (settings,).
    """

    claim: str
    name: str
    printed: float | None
    values: Values

    @property
    def residuals(self) -> Values:
        """Logarithm of simulated over printed, shape (settings,)."""
        found: Values = np.log(self.values / float(self.printed or 1.0))
        return found

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each setting keeps it: a number within the margin of equality of the claims."""
        if self.printed is None:
            return self.values > 0.0
        return np.asarray(abs(self.values / self.printed - 1.0) <= EQUAL)


class _Runs:
    """The runs of a setting, looked up by experiment."""

    def __init__(self) -> None:
        names = [each.name for each in PARAMETERS[PAPER]]
        self._names = names
        self._kinds = evidence.frame(CASE, "kinds").set_index(["experiment", "number", *names, "kind"])
        self._link = evidence.frame(CASE, "link").set_index(["experiment", "number", *names])

    def _key(self, setting: Mapping[str, object], experiment: str) -> tuple[object, ...]:
        free = experiment in FLOWS or experiment.startswith(TFRC)
        changed = {"decrease": "1-b"} if free else {}
        return tuple({**setting, **changed}[name] for name in self._names)

    def link(self, setting: Mapping[str, object], experiment: str, number: int) -> pd.Series[float]:
        """Return utilisation and loss."""
        key: Any = (experiment, number, *self._key(setting, experiment))
        row: pd.Series[float] = self._link.loc[key]
        return row

    def kind(self, setting: Mapping[str, object], pair: tuple[str, str], n: int) -> pd.Series[float]:
        """Return rate and variation of one of two kinds."""
        name = f"{pair[0]} with {pair[1]}"
        key: Any = (name, EACH, *self._key(setting, name), pair[n])
        row: pd.Series[float] = self._kinds.loc[key]
        return row


PAIRS = {
    "Z06": ((GENTLE, TCP), HALF, 1),
    "Z07": ((QUARTER, TCP), HALF, 1),
    "Z08": ((GENTLE, TFRC), HALF, -1),
    "Z09": ((QUARTER, TFRC), HALF, -1),
    "Z10": ((TFRC, TCP), SAME, 1),
}
"""Pair, ratio of the rates that the paper prints, and which of both is smoother, by claim."""


def quotes() -> list[Quote]:
    """Return what the paper says of its figures 3, 4 and 6 to 9, with the runs of every setting."""
    every, runs = settings(PAPER), _Runs()
    found = []
    ratios = {}
    for claim, (pair, printed, sign) in PAIRS.items():
        both = [[runs.kind(setting, pair, n) for setting in every] for n in (0, 1)]
        rates, rough = (np.array([[row[c] for row in rows] for rows in both]) for c in ("rate", "rate_cov"))
        ratios[claim] = rates[0] / rates[1]
        found.append(Quote(claim, "share", printed, ratios[claim]))
        found.append(Quote(claim, "smooth", None, sign * (rough[1] - rough[0])))
    found.append(Quote("Z07", "more", None, ratios["Z07"] - ratios["Z06"]))
    return found + _one_flow(every, runs) + _many_flows(every, runs)


def _one_flow(every: Sequence[Mapping[str, object]], runs: _Runs) -> list[Quote]:
    """Return the sentences on Fig. 3: one flow by its largest window."""
    windows = (60, 90, 120, 150)
    rows = {w: [runs.link({**s, "window": w}, "one flow", 1) for s in every] for w in windows}
    used, lost = ({w: np.array([row[c] for row in own]) for w, own in rows.items()} for c in ("utilisation", "loss"))
    return [
        Quote("Z03", "high", None, used[90] - used[60] - VISIBLE),
        Quote("Z03", "lossless at 90", None, ALMOST_NONE - lost[90]),
        Quote("Z03", "lossless at 120", None, ALMOST_NONE - lost[120]),
        Quote("Z03", "losses", None, lost[150] - ALMOST_NONE),
        Quote("Z03", "lower", None, used[120] - used[150] - VISIBLE),
    ]


def _many_flows(every: Sequence[Mapping[str, object]], runs: _Runs) -> list[Quote]:
    """Return the sentences on Fig. 4: TCP flows by their number."""
    rows = {n: [runs.link(s, "TCP flows", n) for s in every] for n in (10, 20, 30, 50, 70)}
    used, lost = ({n: np.array([row[c] for row in own]) for n, own in rows.items()} for c in ("utilisation", "loss"))
    return [
        Quote("Z04", "lossless to 20", None, SHOWN - np.maximum(lost[10], lost[20])),
        Quote("Z04", "rises", None, used[20] - used[10] - VISIBLE),
        Quote("Z04", "falls", None, used[20] - used[70] - VISIBLE),
        Quote("Z04", "loss", None, np.minimum(lost[50] - lost[30], lost[70] - lost[50])),
    ]


def weighted(of: Sequence[Quote]) -> Posterior:
    """Return the weights of the settings by some quotes."""
    numbers = [each for each in of if each.printed is not None]
    words = [each for each in of if each.printed is None]
    residuals = np.column_stack([each.residuals for each in numbers])
    posterior = infer(residuals, np.full(len(numbers), NOISE))
    kept = np.column_stack([each.kept for each in words])
    return joined(posterior, of_words(kept))


def inferred() -> Inference:
    """Return what the quotes say about the settings, and the claims by the quotes of the other ones."""
    every, said = settings(PAPER), quotes()
    aside = held_out(len(said), SEED)
    posterior = weighted([q for q, out in zip(said, aside, strict=True) if not out])
    checked = [q for q, out in zip(said, aside, strict=True) if out]
    covered = sum(
        posterior.covered(q.residuals[:, None], np.array([NOISE]))
        if q.printed is not None
        else int(posterior.weights @ q.kept > 0.5)
        for q in checked
    )
    whole = weighted(said)
    residuals = np.column_stack([q.residuals for q in said if q.printed is not None])
    return Inference(
        PAPER, len(every), len(every), int((~aside).sum()), int(aside.sum()), covered,
        whole.effective, (whole.model_errors[0], 0.0),
        float(np.sqrt((residuals**2).mean(axis=1)).min()), NOISE,
        marginals(PARAMETERS[PAPER], every, whole.weights),
        tuple(_claim(id, said) for id in dict.fromkeys(q.claim for q in said)),
    )  # fmt: skip


def _claim(id: str, said: Sequence[Quote]) -> Weight:
    """Return the weight of the settings in which the statements of a claim hold, by the quotes of others."""
    weights = weighted([q for q in said if q.claim != id]).weights
    own = {q.name: q.kept for q in said if q.claim == id}
    every = np.logical_and.reduce(list(own.values()))
    return Weight(
        id,
        {name: float(weights @ kept) for name, kept in own.items()},
        float(weights @ every),
        float(every.mean()),
    )
