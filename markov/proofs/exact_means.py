"""Means under a stationary distribution in integers: with an interval far narrower than float64 resolves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from markov.computing.matrices import inner
from markov.proofs.bounded import ExactBounded
from markov.proofs.certificate_files import Listing, integer_proof, integer_values, with_poisson_solution
from markov.proofs.checker import Function, prove_mean, prove_rest
from markov.proofs.means import rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markov.models.functions import Mean
    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Interval

    Vector = NDArray[np.float64]

__all__ = ["ExactMeans"]


class ExactMeans:
    """Means under the exact stationary distribution, computed in integers: intervals with rational ends.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.

    Raises
    ------
    ValueError
        Without a proof.

    Notes
    -----
    The vector is corrected by its exact residual first. `markov.proofs.checker` has the theorem: the half width
    is about the product of two residuals, that of the vector and that of Poisson's equation for the function.
    """

    def __init__(self, proof: Certificate) -> None:
        self.proof = proof
        self.contents = contents = integer_proof(proof, Listing({}))
        self.rest = prove_rest(contents.rows, contents.Y, contents.H, contents.reference)
        self.mass = sum(contents.Y)

    def bound_measure(self, mean: Mean) -> ExactBounded | list[ExactBounded]:
        """Return the interval of a measure under the exact distribution, or a list with the interval of each row.

        Raises
        ------
        ValueError
            For a ratio whose denominator may be zero.
        """
        means = [self._mean(f) if over is None else self._ratio(f, over) for f, over in rows_of(mean)]
        return means if mean.of.ndim > 1 else means[0]

    def _mean(self, f: Vector) -> ExactBounded:
        """Return the interval of the mean of a function f of the state, shape (n,)."""
        return ExactBounded.between(*self._interval(Function("mean", *integer_values(f)), f))

    def _ratio(self, top: Vector, bottom: Vector) -> ExactBounded:
        """Return the interval of the mean of ``top`` over the mean of ``bottom``, functions of shape (n,).

        It is the ratio v under pi, plus the mean of (top - v bottom) over the mean of bottom.
        """
        numerator, denominator = (
            Function("top", *integer_values(top)),
            Function("bottom", *integer_values(bottom)),
        )
        denominator_interval = self._interval(denominator, bottom)
        if denominator_interval[0] <= 0 <= denominator_interval[1]:
            raise ValueError("measure: the mean to divide by may be zero")
        pi = self.proof.pi
        value = inner(pi, top) / inner(pi, bottom)
        if not math.isfinite(value):
            raise ValueError(f"measure: the ratio is {value} under pi: must be finite")
        v = Fraction(value)
        scale = math.lcm(numerator.scales[0], denominator.scales[0] * v.denominator)
        a, b = scale // numerator.scales[0], scale // (denominator.scales[0] * v.denominator) * v.numerator
        F = [a * x - b * y for x, y in zip(numerator.F, denominator.F, strict=True)]
        difference = Function("difference", (scale, 1), numerator.claimed, F)
        difference_interval = self._interval(difference, top - value * bottom)
        quotients = [v + end / bound for end in difference_interval for bound in denominator_interval]
        return ExactBounded.between(min(quotients), max(quotients))

    def _interval(self, function: Function, f: Vector) -> Interval:
        """Return the proved interval of the mean of a function, in integers and in float64."""
        function = with_poisson_solution(self.proof, self.contents, function, f)
        return prove_mean(self.contents, function, self.rest, self.mass)
