"""Chains for tests, benchmarks and as examples to start from, each a few rules.

The first ones have closed forms. The others are chains of the PRISM benchmark suite (M. Kwiatkowska, G. Norman, D.
Parker, The PRISM benchmark suite, QEST 2012), which are part of the quantitative verification benchmark set as well.
Their ``rewards`` has the rewards of the suite's properties in each state; ``stationary(model)[name]`` is their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.functions import where
from hopflow.parameters import param
from markov.models.functions import elementwise
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MM1K", "BirthDeath", "Cluster", "Courtois", "CoxTandem", "JacksonTandem", "Kanban", "Polling"]


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
        """State of the chain: the size ``n`` of the population."""

        n: int

    class Params(NamedTuple):
        """Parameters of the chain: rates of births and deaths in 1/s."""

        births: tuple[float, ...] = param((3.0, 2.0, 1.0), "1/s", above=0.0)
        deaths: tuple[float, ...] = param((1.0, 2.0, 3.0), "1/s", above=0.0)

    def check(self) -> None:
        """Raise ValueError unless there are as many rates of births as of deaths."""
        if len(self.births) != len(self.deaths) or not self.births:
            raise ValueError(f"births = {self.births!r}: must be rates, as many as deaths")

    def space(self) -> Mapping[str, range]:
        """Return the values of the state: n = 0 .. number of births."""
        return {"n": range(len(self.births) + 1)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of a birth and a death."""
        if s.n < len(q.births):
            yield s._replace(n=s.n + 1), q.births[s.n]
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.deaths[s.n - 1]

    def exact(self) -> NDArray[np.float64]:
        """Return the stationary distribution in closed form, shape (states,)."""
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
        """State of the chain: the number ``n`` of customers."""

        n: int

    class Params(NamedTuple):
        """Parameters of the queue: rates in 1/s, and the largest number of customers."""

        arrival_rate: float = param(7.0, "1/s", above=0.0)
        service_rate: float = param(10.0, "1/s", above=0.0)
        capacity: int = param(30, "customers", at_least=1, at_most=10**9)

    def space(self) -> Mapping[str, range]:
        """Return the values of the state: n = 0 .. capacity."""
        return {"n": range(int(self.capacity) + 1)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of an arrival and a departure."""
        if s.n < q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.service_rate

    def exact(self) -> NDArray[np.float64]:
        """Return the stationary distribution in closed form, shape (states,)."""
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
        """State of the chain: customers at the first and at the second server."""

        n: int
        m: int

    class Params(NamedTuple):
        """Parameters of the tandem: rates in 1/s, and the largest number of customers."""

        arrival_rate: float = param(4.0, "1/s", above=0.0)
        service_rates: tuple[float, float] = param((7.0, 5.0), "1/s", above=0.0)
        capacity: int = param(12, "customers", at_least=1, at_most=10**9)

    def space(self) -> Mapping[str, range]:
        """Return the values of each component: n, m = 0 .. capacity; states with n + m > capacity are transient."""
        return dict.fromkeys("nm", range(int(self.capacity) + 1))

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of an arrival and the two services."""
        if s.n + s.m < q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > 0 and s.m < q.capacity:
            yield s._replace(n=s.n - 1, m=s.m + 1), q.service_rates[0]
        if s.m > 0:
            yield s._replace(m=s.m - 1), q.service_rates[1]

    def exact(self) -> NDArray[np.float64]:
        """Return the stationary distribution in closed form over the product space, shape (states,)."""
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
        """State of the chain: its number ``x``, 0 to 7."""

        x: int

    class Params(NamedTuple):
        """Parameter of the chain: scale of the rates between groups of states."""

        coupling: float = param(1.0, above=0.0)

    class Symbols(NamedTuple):
        """Parameters that the rules read: rates from state x to y in 1/s."""

        rates: tuple[tuple[float, ...], ...]

    def symbols(self) -> Symbols:
        """Return the parameters that the rules read: the rates between all states in 1/s."""
        group = np.array([0, 0, 0, 1, 1, 2, 2, 2])
        scale = np.where(group[:, None] == group, 1.0, float(self.coupling))
        return self.Symbols(tuple(map(tuple, (np.array(_COURTOIS_RATES) * scale).tolist())))

    def space(self) -> Mapping[str, range]:
        """Return the values of the state: x = 0 .. 7."""
        return {"x": range(8)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) for every state."""
        for y in range(8):
            yield s._replace(x=y), q.rates[s.x][y]


_COURTOIS_RATES = (
    (0.85, 0.0, 0.149, 0.0009, 0.0, 0.00005, 0.0, 0.00005),
    (0.1, 0.65, 0.249, 0.0, 0.0009, 0.00005, 0.0, 0.00005),
    (0.1, 0.8, 0.0996, 0.0003, 0.0, 0.0, 0.0001, 0.0),
    (0.0, 0.0004, 0.0, 0.7, 0.2995, 0.0, 0.0001, 0.0),
    (0.0005, 0.0, 0.0004, 0.399, 0.6, 0.0001, 0.0, 0.0),
    (0.0, 0.00005, 0.0, 0.0, 0.00005, 0.6, 0.2499, 0.15),
    (0.00003, 0.0, 0.00003, 0.00004, 0.0, 0.1, 0.8, 0.0999),
    (0.0, 0.00005, 0.0, 0.0, 0.00005, 0.1999, 0.25, 0.55),
)


# Chains of the PRISM benchmark suite


class Cluster(ChainModel):
    """Two clusters of workstations, their switches and a backbone, with one repair unit.

    B. R. Haverkort, H. Hermanns, J.-P. Katoen, On the use of model checking techniques for
    dependability evaluation, SRDS 2000; rates per hour as in the PRISM benchmark suite. Task of the
    repair unit (``busy``): 0 none, 1 and 2 a workstation on the left and right, 3 and 4 a
    switch, 5 the backbone.

    Examples
    --------
    >>> from markov import Cluster, generator
    >>> generator(Cluster(workstations=2)).shape
    (276, 276)
    """

    class State(NamedTuple):
        """State of the chain: working workstations, switches and backbone (1 works), the repair unit's task."""

        left: int
        right: int
        left_switch: int
        right_switch: int
        backbone: int
        busy: int

    class Params(NamedTuple):
        """Parameter of the chain: number of workstations on each side."""

        workstations: int = param(4, at_least=1, at_most=10**6)

    def space(self) -> Mapping[str, range]:
        """Return the values of each component of the state."""
        sides = dict.fromkeys(("left", "right"), range(int(self.workstations) + 1))
        parts = dict.fromkeys(("left_switch", "right_switch", "backbone"), range(2))
        return {**sides, **parts, "busy": range(6)}

    def start(self) -> State:
        """Return the initial state: everything works."""
        return self.State(int(self.workstations), int(self.workstations), 1, 1, 1, 0)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of each part's failure, start of repair (10 per hour) and end of repair."""
        working = (s.left, s.right, s.left_switch, s.right_switch, s.backbone)
        installed = (q.workstations, q.workstations, 1, 1, 1)
        for n in range(5):
            if working[n] > 0:
                yield _change_part(s, n, -1, s.busy), working[n] * _FAILURE_RATES[n]
            if working[n] < installed[n] and s.busy == 0:
                yield s._replace(busy=n + 1), 10.0
            if working[n] < installed[n] and s.busy == n + 1:
                yield _change_part(s, n, 1, 0), _REPAIR_RATES[n]

    @elementwise
    def rewards(self, s: Any) -> dict[str, NDArray[np.float64]]:
        """Return the reward ``premium_steady`` of states ``s``: whether enough working workstations are connected."""
        left, right = s.left * s.left_switch, s.right * s.right_switch
        joined = (s.left + s.right) * s.left_switch * s.backbone * s.right_switch
        enough = np.maximum(np.maximum(left, right), joined) >= self.workstations
        return {"premium_steady": np.asarray(enough, dtype=float)}


_FAILURE_RATES = (1 / 500, 1 / 500, 1 / 4000, 1 / 4000, 1 / 5000)
_REPAIR_RATES = (2.0, 2.0, 0.25, 0.25, 0.125)


def _change_part(s: Any, n: int, change: int, busy: int) -> Any:
    """Return state ``s`` of `Cluster` after a unit of part n is repaired (``change`` 1) or fails (-1)."""
    return s._replace(
        left=s.left + change * (n == 0),
        right=s.right + change * (n == 1),
        left_switch=s.left_switch + change * (n == 2),
        right_switch=s.right_switch + change * (n == 3),
        backbone=s.backbone + change * (n == 4),
        busy=busy,
    )


class Kanban(ChainModel):
    """Four production cells with ``tickets`` Kanban tickets each; cells 2 and 3 work in parallel.

    G. Ciardo, M. Tilgner, On the use of Kronecker operators for the solution of generalized
    stochastic Petri nets, ICASE 96-35, 1996; rates as in the PRISM benchmark suite. Components of each cell:
    parts in the machine (m), to be done again (b), and done (d). Few states of the product space can be
    reached.

    Examples
    --------
    >>> from markov import Kanban, generator
    >>> generator(Kanban(tickets=1)).shape
    (160, 160)
    """

    class State(NamedTuple):
        """State of the chain: parts in the machine (m), to be done again (b) and done (d) in cells 1 to 4."""

        m1: int
        b1: int
        d1: int
        m2: int
        b2: int
        d2: int
        m3: int
        b3: int
        d3: int
        m4: int
        b4: int
        d4: int

    class Params(NamedTuple):
        """Parameter of the chain: number of tickets of each cell."""

        tickets: int = param(1, at_least=1, at_most=30)

    def space(self) -> Mapping[str, range]:
        """Return the values of each component: 0 .. tickets."""
        return dict.fromkeys(self.State._fields, range(int(self.tickets) + 1))

    def start(self) -> State:
        """Return the initial state: an empty system."""
        return self.State(*(0,) * 12)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of the work of each machine and of the moves of parts between cells."""
        machine, back = (s.m1, s.m2, s.m3, s.m4), (s.b1, s.b2, s.b3, s.b4)
        done = (s.d1, s.d2, s.d3, s.d4)
        for n in range(4):
            if machine[n] > 0 and back[n] < q.tickets:
                yield _change_cell(s, n, -1, 1, 0), _REWORK_RATES[n]
            if machine[n] > 0 and done[n] < q.tickets:
                yield _change_cell(s, n, -1, 0, 1), _COMPLETION_RATES[n]
            if back[n] > 0 and machine[n] < q.tickets:
                yield _change_cell(s, n, 1, -1, 0), 0.3
        if s.m1 + s.b1 + s.d1 < q.tickets:
            yield s._replace(m1=s.m1 + 1), 1.0
        if s.d1 > 0 and s.m2 + s.b2 + s.d2 < q.tickets and s.m3 + s.b3 + s.d3 < q.tickets:
            yield s._replace(d1=s.d1 - 1, m2=s.m2 + 1, m3=s.m3 + 1), 0.4
        if s.d2 > 0 and s.d3 > 0 and s.m4 + s.b4 + s.d4 < q.tickets:
            yield s._replace(d2=s.d2 - 1, d3=s.d3 - 1, m4=s.m4 + 1), 0.5
        if s.d4 > 0:
            yield s._replace(d4=s.d4 - 1), 0.9

    @elementwise
    def rewards(self, s: Any) -> dict[str, NDArray[np.float64]]:
        """Return the reward ``throughput`` of states ``s``: the rate of new parts."""
        return {"throughput": np.asarray(s.m1 + s.b1 + s.d1 < self.tickets, dtype=float)}


_REWORK_RATES = (0.36, 0.42, 0.39, 0.33)
_COMPLETION_RATES = (0.84, 0.98, 0.91, 0.77)


def _change_cell(s: Any, n: int, m: int, b: int, d: int) -> Any:
    """Return state ``s`` of `Kanban` after the parts m, b and d of cell n have changed by these numbers."""
    return s._replace(
        m1=s.m1 + m * (n == 0),
        b1=s.b1 + b * (n == 0),
        d1=s.d1 + d * (n == 0),
        m2=s.m2 + m * (n == 1),
        b2=s.b2 + b * (n == 1),
        d2=s.d2 + d * (n == 1),
        m3=s.m3 + m * (n == 2),
        b3=s.b3 + b * (n == 2),
        d3=s.d3 + d * (n == 2),
        m4=s.m4 + m * (n == 3),
        b4=s.b4 + b * (n == 3),
        d4=s.d4 + d * (n == 3),
    )


class CoxTandem(ChainModel):
    """A queue with a two-phase (Cox) server, and one with an exponential server that may block it.

    H. Hermanns, J. Meyer-Kayser, M. Siegle, Multi terminal binary decision diagrams to represent and
    analyse continuous time Markov chains, NSMC 1999; rates as in the PRISM benchmark suite (tandem).

    Examples
    --------
    >>> from markov import CoxTandem, generator
    >>> generator(CoxTandem(capacity=7)).shape
    (120, 120)
    """

    class State(NamedTuple):
        """State of the chain: customers at the first server, its phase, customers at the second server."""

        first: int
        phase: int
        second: int

    class Params(NamedTuple):
        """Parameter of the chain: capacity of each queue."""

        capacity: int = param(15, "customers", at_least=1, at_most=10**6)

    def space(self) -> Mapping[str, range]:
        """Return the values of each component: 0 .. capacity for the queues, 1 and 2 for the phase."""
        queue = range(int(self.capacity) + 1)
        return {"first": queue, "phase": range(1, 3), "second": queue}

    def start(self) -> State:
        """Return the initial state: an empty system."""
        return self.State(0, 1, 0)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of an arrival, the phases of the first server and the second service."""
        if s.first < q.capacity:
            yield s._replace(first=s.first + 1), 4.0 * q.capacity
        if s.first > 0 and s.phase == 1:
            yield s._replace(phase=2), 0.2
        if s.first > 0 and s.second < q.capacity:
            served = where(s.phase == 1, 1.8, 2.0)
            yield s._replace(first=s.first - 1, phase=1, second=s.second + 1), served
        if s.second > 0:
            yield s._replace(second=s.second - 1), 4.0

    @elementwise
    def rewards(self, s: Any) -> dict[str, NDArray[np.float64]]:
        """Return the reward ``customers`` of states ``s``: their number in both queues."""
        return {"customers": np.asarray(s.first + s.second, dtype=float)}


class Polling(ChainModel):
    """One server goes round N stations, each with room for one customer; rates in 1/s.

    O. C. Ibe, K. S. Trivedi, Stochastic Petri net models of polling systems, IEEE Journal on Selected
    Areas in Communications 8(9), 1990; rates as in the PRISM benchmark suite.

    Examples
    --------
    >>> from markov import Polling, generator
    >>> generator(Polling(stations=4)).shape
    (96, 96)
    """

    class State(NamedTuple):
        """State of the chain: station of the server, whether it serves (1), bit n of ``full``: station n waits."""

        at: int
        serving: int
        full: int

    class Params(NamedTuple):
        """Parameter of the chain: number of stations."""

        stations: int = param(5, at_least=1, at_most=30)

    def space(self) -> Mapping[str, range]:
        """Return the values of each component: all stations, 0 and 1, and all sets of stations."""
        n = int(self.stations)
        return {"at": range(n), "serving": range(2), "full": range(2**n)}

    def start(self) -> State:
        """Return the initial state: an empty system."""
        return self.State(0, 0, 0)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (target state, rate) of arrivals at empty stations and of the server's transitions."""
        customer = 1 << s.at
        for n in range(q.stations):
            if (s.full >> n) % 2 == 0:
                yield s._replace(full=s.full + (1 << n)), 1.0 / q.stations
        if s.serving == 1:
            yield s._replace(at=(s.at + 1) % q.stations, serving=0, full=s.full - customer), 1.0
        elif (s.full >> s.at) % 2 == 1:
            yield s._replace(serving=1), 200.0
        else:
            yield s._replace(at=(s.at + 1) % q.stations), 200.0

    @elementwise
    def rewards(self, s: Any) -> dict[str, NDArray[np.float64]]:
        """Return the reward ``s1`` of states ``s``: whether the first station waits for the server."""
        waits = (s.full % 2 == 1) & ((s.at != 0) | (s.serving != 1))
        return {"s1": np.asarray(waits, dtype=float)}
