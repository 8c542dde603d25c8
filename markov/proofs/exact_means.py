"""Means under a stationary distribution in integers: with an interval far narrower than float64 can tell apart."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from markov.computing.matrices import inner
from markov.proofs.bounded import ExactBounded
from markov.proofs.certificate_files import whole_proof, with_gain
from markov.proofs.certificate_writing import whole_values
from markov.proofs.checker import Function, proved_mean, proved_rest
from markov.proofs.listings import Listing
from markov.proofs.means import rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markov.models.means import Mean
    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Interval

    Vector = NDArray[np.float64]

__all__ = ["ExactMeans"]


class ExactMeans:
    """What a certificate file would prove about means, with the rates of Q taken as exact.

    Parameters
    ----------
    proof
        Of the distribution; its solver is used again.

    Raises
    ------
    ValueError
        Where nothing was proved.

    Notes
    -----
    The vector is corrected by its exact residual first. `markov.proofs.checker` has the theorem: the half width
    is about the product of two residuals, that of the vector and that of Poisson's equation for the function.
    """

    def __init__(self, proof: Certificate) -> None:
        self.proof = proof
        self.found = found = whole_proof(proof, Listing({}))
        self.rest = proved_rest(found.rows, found.Y, found.H, found.reference)
        self.mass = sum(found.Y)

    def of(self, mean: Mean) -> ExactBounded | list[ExactBounded]:
        """Return a measure under the exact distribution, or a list of one for each row.

        Raises
        ------
        ValueError
            For a ratio whose denominator may be zero.
        """
        found = [self._mean(f) if over is None else self._ratio(f, over) for f, over in rows_of(mean)]
        return found if mean.of.ndim > 1 else found[0]

    def _mean(self, f: Vector) -> ExactBounded:
        return ExactBounded.between(*self._interval(Function("mean", *whole_values(f)), f))

    def _ratio(self, top: Vector, bottom: Vector) -> ExactBounded:
        """Return a ratio of means: that under pi, v, plus the mean of (top - v bottom) over that of bottom."""
        above, below = (
            Function("top", *whole_values(top)),
            Function("bottom", *whole_values(bottom)),
        )
        size = self._interval(below, bottom)
        if size[0] <= 0 <= size[1]:
            raise ValueError("measure: the mean to divide by may be zero")
        pi = self.proof.pi
        value = inner(pi, top) / inner(pi, bottom)
        if not math.isfinite(value):
            raise ValueError(f"measure: the ratio is {value} under pi: must be finite")
        v = Fraction(value)
        scale = math.lcm(above.scales[0], below.scales[0] * v.denominator)
        a, b = scale // above.scales[0], scale // (below.scales[0] * v.denominator) * v.numerator
        F = [a * x - b * y for x, y in zip(above.F, below.F, strict=True)]
        difference = Function("difference", (scale, 1), above.claimed, F)
        ends = self._interval(difference, top - value * bottom)
        quotients = [v + end / each for end in ends for each in size]
        return ExactBounded.between(min(quotients), max(quotients))

    def _interval(self, each: Function, f: Vector) -> Interval:
        each = with_gain(self.proof, self.found, each, f)
        return proved_mean(self.found, each, self.rest, self.mass)
