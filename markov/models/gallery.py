"""Chains with closed forms, each a few rules: for tests, benchmarks and as examples to start from.

`markov.models.prism_suite` has chains of the PRISM benchmark suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import integer, number, one_number
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MM1K", "BirthDeath", "Courtois", "JacksonTandem"]


class BirthDeath(ChainModel):
    """Births at rate births[n] in state n, deaths at rate deaths[n - 1]; rates > 0 in 1/s.

    Exact: pi(n) is proportional to the product of births[k] / deaths[k] over k < n.

    Examples
    --------
    >>> from markov import BirthDeath, stationary
    >>> model = BirthDeath(births=(2.0, 1.0), deaths=(1.0, 1.0))
    >>> stationary(model).pi.tolist()
    [0.2, 0.4, 0.4]
    """

    class State(NamedTuple):
        """Size of the population."""

        n: int

    class Params(NamedTuple):
        """See the class."""

        births: tuple[float, ...] = (3.0, 2.0, 1.0)
        deaths: tuple[float, ...] = (1.0, 2.0, 3.0)

    def check(self) -> None:
        """Check the rates."""
        births, deaths = (number(k, getattr(self, k), above=0.0) for k in ("births", "deaths"))
        if births.ndim != 1 or births.shape != deaths.shape or not births.size:
            raise ValueError(f"births = {self.births!r}: must be rates, as many as deaths")

    def space(self) -> Mapping[str, range]:
        """Return n = 0 .. number of births."""
        return {"n": range(len(self.births) + 1)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield a birth and a death."""
        if s.n < len(q.births):
            yield s._replace(n=s.n + 1), q.births[s.n]
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.deaths[s.n - 1]

    def exact(self) -> NDArray[np.float64]:
        """Return pi in closed form."""
        ratios = np.divide(self.births, self.deaths)
        weights = np.concatenate([[1.0], np.cumprod(ratios)])
        return np.asarray(weights / weights.sum())


class MM1K(ChainModel):
    """M/M/1/K: Poisson arrivals, one exponential server, at most ``capacity`` customers.

    Exact: pi(n) is proportional to (arrival_rate / service_rate)^n.

    Examples
    --------
    >>> from markov import MM1K, stationary
    >>> model = MM1K(arrival_rate=1.0, service_rate=2.0, capacity=2)
    >>> stationary(model).pi.round(4).tolist()
    [0.5714, 0.2857, 0.1429]
    """

    class State(NamedTuple):
        """Customers."""

        n: int

    class Params(NamedTuple):
        """Rates in 1/s."""

        arrival_rate: float = 7.0
        service_rate: float = 10.0
        capacity: int = 30

    def check(self) -> None:
        """Check rates and capacity."""
        one_number("arrival_rate", self.arrival_rate, above=0.0)
        one_number("service_rate", self.service_rate, above=0.0)
        integer("capacity", self.capacity, 1, 10**9)

    def space(self) -> Mapping[str, range]:
        """Return n = 0 .. capacity."""
        return {"n": range(int(self.capacity) + 1)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield an arrival and a departure."""
        if s.n < q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.service_rate

    def exact(self) -> NDArray[np.float64]:
        """Return pi in closed form."""
        weights = (self.arrival_rate / self.service_rate) ** np.arange(self.capacity + 1.0)
        return np.asarray(weights / weights.sum())


class JacksonTandem(ChainModel):
    """Two exponential servers in series; arrivals are lost when ``capacity`` customers are inside.

    Exact: pi(n, m) is proportional to (lambda/mu_1)^n (lambda/mu_2)^m on n + m <= capacity, since the
    source is a third station of a closed network (Gordon and Newell, Operations Research 15, 1967).

    Examples
    --------
    >>> from markov import JacksonTandem, stationary
    >>> model = JacksonTandem()
    >>> bool(abs(stationary(model).pi - model.exact()).max() < 1e-12)
    True
    """

    class State(NamedTuple):
        """Customers at the first and at the second server."""

        n: int
        m: int

    class Params(NamedTuple):
        """Rates in 1/s."""

        arrival_rate: float = 4.0
        service_rates: tuple[float, float] = (7.0, 5.0)
        capacity: int = 12

    def check(self) -> None:
        """Check rates and capacity."""
        one_number("arrival_rate", self.arrival_rate, above=0.0)
        if number("service_rates", self.service_rates, above=0.0).shape != (2,):
            raise ValueError(f"service_rates = {self.service_rates!r}: must be two rates")
        integer("capacity", self.capacity, 1, 10**9)

    def space(self) -> Mapping[str, range]:
        """Return n, m = 0 .. capacity; states with n + m above it are transient."""
        return dict.fromkeys("nm", range(int(self.capacity) + 1))

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield an arrival and the two services."""
        if s.n + s.m < q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > 0 and s.m < q.capacity:
            yield s._replace(n=s.n - 1, m=s.m + 1), q.service_rates[0]
        if s.m > 0:
            yield s._replace(m=s.m - 1), q.service_rates[1]

    def exact(self) -> NDArray[np.float64]:
        """Return pi in closed form over the product space."""
        s = self.states()
        first, second = (self.arrival_rate / rate for rate in self.service_rates)
        weights = np.where(s.n + s.m <= self.capacity, first**s.n * second**s.m, 0.0)
        return np.asarray(weights / weights.sum())


class Courtois(ChainModel):
    """The nearly decomposable chain of 8 states of P. J. Courtois, Decomposability, 1977.

    Its groups (0, 1, 2), (3, 4), (5, 6, 7) exchange at most a thousandth per step. The published
    transition probabilities are taken as rates; ``coupling`` scales the rates between the groups.

    Examples
    --------
    >>> from markov import Courtois, stationary
    >>> round(float(stationary(Courtois()).pi[0]), 6)
    0.089283
    """

    class State(NamedTuple):
        """The state's number."""

        x: int

    class Params(NamedTuple):
        """Scale of the transitions between groups."""

        coupling: float = 1.0

    class Symbols(NamedTuple):
        """Rates from x to y in 1/s."""

        rates: tuple[tuple[float, ...], ...]

    def check(self) -> None:
        """Check the coupling."""
        one_number("coupling", self.coupling, above=0.0)

    def symbols(self) -> Symbols:
        """Return the rates."""
        group = np.array([0, 0, 0, 1, 1, 2, 2, 2])
        scale = np.where(group[:, None] == group, 1.0, float(self.coupling))
        return self.Symbols(tuple(map(tuple, (np.array(_COURTOIS) * scale).tolist())))

    def space(self) -> Mapping[str, range]:
        """Return x = 0 .. 7."""
        return {"x": range(8)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield a transition to every other state."""
        for y in range(8):
            yield s._replace(x=y), q.rates[s.x][y]


_COURTOIS = (
    (0.85, 0.0, 0.149, 0.0009, 0.0, 0.00005, 0.0, 0.00005),
    (0.1, 0.65, 0.249, 0.0, 0.0009, 0.00005, 0.0, 0.00005),
    (0.1, 0.8, 0.0996, 0.0003, 0.0, 0.0, 0.0001, 0.0),
    (0.0, 0.0004, 0.0, 0.7, 0.2995, 0.0, 0.0001, 0.0),
    (0.0005, 0.0, 0.0004, 0.399, 0.6, 0.0001, 0.0, 0.0),
    (0.0, 0.00005, 0.0, 0.0, 0.00005, 0.6, 0.2499, 0.15),
    (0.00003, 0.0, 0.00003, 0.00004, 0.0, 0.1, 0.8, 0.0999),
    (0.0, 0.00005, 0.0, 0.0, 0.00005, 0.1999, 0.25, 0.55),
)
