"""Three models of loss, kept apart: every 1/p packets, independent, and in bursts.

What `p` means is theirs too: for deterministic and independent loss it is the rate of loss events,
one per draw; for Gilbert's it is the part of packets that are lost, and how many loss events that
makes depends on the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import integer, number, one_number, random_generator
from hopflow.parameters import Parametrized, param
from responsefn.inputs import plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Deterministic", "Gilbert", "Independent", "Losses", "independent_constant"]


class Losses(Parametrized):
    """Base of loss models: `gaps` says how many packets lie between losses."""

    def gaps(self, p: float, count: int, seed: int | np.random.Generator) -> NDArray[np.int64]:
        """Return the packets from one loss to the next, the lost one included, shape (count,)."""
        raise NotImplementedError


class Deterministic(Losses):
    """One packet in 1/p is lost, periodically: gaps whose mean is 1/p within 1/count.

    Examples
    --------
    >>> from responsefn import Deterministic
    >>> Deterministic().gaps(0.3, 4, None)
    array([3, 4, 3, 3])
    """

    def gaps(self, p: float, count: int, seed: int | np.random.Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """Return 1/p rounded to whole packets so that their sum is."""
        return np.diff(np.rint(np.arange(count + 1) / p)).astype(np.int64)


class Independent(Losses):
    """Every packet begins a loss event with probability p: geometric gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import Independent
    >>> int(Independent().gaps(0.01, 10_000, np.random.default_rng(1)).mean())
    100
    """

    def gaps(self, p: float, count: int, seed: int | np.random.Generator) -> NDArray[np.int64]:
        """Return geometric gaps."""
        random = random_generator("seed", seed)
        return random.geometric(p, count)


class Gilbert(Losses):
    """Bursts: a two-state chain that loses every packet in its bad state (Gilbert 1960, h = 0).

    A burst has ``burst`` packets on average, the packets between bursts burst (1-p)/p, so that the
    fraction p of packets is lost. A loss less than a window after the first loss of a loss event
    belongs to it.

    Parameters
    ----------
    burst
        Mean number of packets lost in a row, >= 1; independent loss has 1/(1-p).

    Examples
    --------
    >>> import numpy as np
    >>> from responsefn import Gilbert
    >>> gaps = Gilbert(burst=4.0).gaps(0.01, 10_000, np.random.default_rng(1))
    >>> round(float((gaps == 1).mean()), 2)
    0.74
    """

    class Params(NamedTuple):
        """Mean length of a burst in packets."""

        burst: float = param(3.0, at_least=1.0, source="own choice: mean length of a burst")

    def gaps(self, p: float, count: int, seed: int | np.random.Generator) -> NDArray[np.int64]:
        """Return gaps of 1 within a burst, and geometric gaps between bursts."""
        p = one_number("p", p, above=0.0, at_most=1.0)
        count = integer("count", count, 0, 10**9)
        random = random_generator("seed", seed)
        good = self.params.burst * (1 - p) / p
        if good < 1:
            raise ValueError(f"p = {p:g}: bursts of {self.params.burst:g} would not end; p is less")
        between = 1 + random.geometric(1 / good, count)
        return np.where(random.random(count) < 1 / self.params.burst, between, 1).astype(np.int64)


def independent_constant(b: ArrayLike) -> float | NDArray[np.float64]:
    r"""Return the ratio of AIMD's rate under independent loss to its square-root law as p -> 0.

    Derived here. Per packet sent the window W grows by a/W, so that Y = p W^2 / (2a) grows by p
    per packet; with p -> 0 losses are a Poisson process of rate 1 in the time n p and map Y to
    (1-b)^2 Y. Hence Y is in equilibrium sum_k (1-b)^(2k) E_k with independent exponential E_k of
    mean 1, also as seen per packet. The rate is 1 / (R E[1/W]), and E[Y^(-1/2)] follows from Y's
    Laplace transform, 1 / prod_k (1 + (1-b)^(2k) s), by Ramanujan's beta integral::

        E[Y^(-1/2)] = sqrt(pi) prod_{k>=0} (1 - (1-b)^(2k+1)) / (1 - (1-b)^(2k+2))

    Divided by sqrt(a(2-b) / (2bp)) / R the parameter a drops out.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss, 1e-6 <= b < 1, any shape.

    Examples
    --------
    >>> round(independent_constant(0.5), 4)
    1.0695
    """
    b = number("b", b, at_least=1e-6, below=1.0)

    def lift(b: float) -> float:
        factor = 1 - b
        power = 2 * np.arange(int(np.ceil(20 / b)))  # kept^(2k) < 1e-17 at the end
        product = np.prod((1 - factor ** (power + 2)) / (1 - factor ** (power + 1)))
        return float(2 * np.sqrt(b / (2 - b) / np.pi) * product)

    return plain(np.array([lift(float(x)) for x in b.flat]).reshape(b.shape))
