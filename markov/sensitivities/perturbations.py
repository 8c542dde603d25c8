"""How rates and measures of a model change with one of its parameters.

Rates are differentiated exactly by the symbols that rules see, where the rules allow it
(`markov.generators.slopes`), and these symbols by the parameter by differences (`markov.sensitivities.differences`);
other rates, and the measures, by such differences themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.generators.slopes import Comparison, RateSlopes, flat_numbers, plain_rates, rate_slopes
from markov.models.means import Mean
from markov.models.measures import chosen
from markov.models.rules import ChainModel
from markov.models.spaces import NUMBERED
from markov.proofs.means import rows_of
from markov.selections import as_chain
from markov.sensitivities.differences import HALVES, STEPS, Side, derivative
from markov.sensitivities.model_parameters import entry_of, is_real, parameters_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["STATES_CHANGE", "Perturbation", "same_states"]

SAMPLE = 120  # states in which derivatives by symbols are compared with the rules
CHECK = 2.0**-20  # relative change of the parameter for this comparison
CONFIRMED = 1e-4  # relative: the rates may be curved
LEAK = 1e-12  # of the exit rate of a state: less is rounding
STATES_CHANGE = "the states change with it: no derivative"
SIGNS: dict[str | None, tuple[float, ...]] = {"left": (-1.0,), "right": (1.0,), None: (-1.0, 1.0)}
"""Signs of the differences to a parameter on each side of it."""


class Perturbation:
    """A model at parameters close to its own.

    Parameters
    ----------
    chain
        Of the model.
    states
        Its recurrent states, as indices.
    parameter
        A name, or one with the number of an entry: ``"arrival_rates[0]"``.
    known
        Derivatives of rates by symbols that were found before; others are added.

    Attributes
    ----------
    at
        The parameter's value.
    counted
        Whether it is a whole number, of which there are differences only.

    Raises
    ------
    ValueError
        For an unknown name; for a parameter that is no number, or zero and no whole number.
    """

    def __init__(self, chain: MarkovChain, states: NDArray[np.int64], parameter: str, known: dict[Any, Any]) -> None:
        self.parameter, self._chain, self._states, self._known = parameter, chain, states, known
        model: Any = chain.model
        self._name, self._index, self._whole = entry_of(parameters_of(model), parameter)
        at = self._whole if self._index is None else self._whole[self._index]
        number = isinstance(at, (int, float, np.number)) and not isinstance(at, (bool, complex))
        self.counted = isinstance(at, (int, np.integer)) and not is_real(model, self._name)
        if not number or not math.isfinite(at) or (at == 0 and not self.counted):
            said = "must be a number other than zero, which may change a little"
            raise ValueError(f"parameter = {parameter!r} is {at!r}: {said}")
        self.at = int(at) if self.counted else float(at)
        self._unit = 0.0 if self.at == 0 else 2.0 ** math.floor(math.log2(abs(self.at)))
        self._scales = len(STEPS)
        self._models, self._chains = {0.0: model}, {0.0: chain}
        self._rows: dict[tuple[str, float], list[Mean]] = {}

    @property
    def smallest_step(self) -> float:
        """The smallest shift by which derivatives are tried."""
        return self._unit * STEPS[self._scales - 1] * HALVES[-1]

    def model_at(self, shift: float) -> Any:
        """Return the model with the parameter changed by a shift, in its unit.

        Raises
        ------
        ValueError
            Where the model refuses it.
        """
        if shift not in self._models:
            value: Any = self.at + shift
            if self._index is not None:
                parts = [value if k == self._index else x for k, x in enumerate(self._whole)]
                value = tuple(parts) if isinstance(self._whole, tuple) else parts
            try:
                self._models[shift] = self._chain.model.replace(**{self._name: value})  # type: ignore[union-attr]
            except ValueError as error:
                said = f"the model refuses {self._name} = {value!r}: {error}"
                raise ValueError(f"parameter = {self.parameter!r}: {said}") from error
        return self._models[shift]

    def generator(self, side: Side | None = None) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return Q' between the states and an estimate of the error of its entries, shape (n, n) each.

        Raises
        ------
        Kinked, Jump, Irregular
            Where rates have no derivative (see `markov.sensitivities.differences`).
        ValueError
            Where the states change with the parameter.
        """
        found = self._by_symbols(side)
        if found is not None:
            return found
        n, last = len(self._states), np.zeros(0, dtype=np.int64)

        def values(shifts: Sequence[float]) -> list[Vector]:
            nonlocal last
            parts = [self._between_states(shift) for shift in shifts]
            last = np.unique(np.concatenate([keys for keys, _ in parts]))
            return [_aligned(last, keys, rates) for keys, rates in parts]

        change = derivative(values, self._unit, side, self._scales)
        rows, columns = np.divmod(last, n)
        made = [sp.csr_matrix((part, (rows, columns)), shape=(n, n)) for part in change]
        return made[0], made[1]

    def _between_states(self, shift: float) -> tuple[NDArray[np.int64], Vector]:
        """Return the rates between the states by the numbers of their pairs, ascending."""
        Q = self._chain_at(shift).Q[self._states].tocsr()
        inside = sp.coo_matrix(Q[:, self._states])
        if len(self._states) < Q.shape[1]:
            left = np.asarray(abs(Q).sum(axis=1) - abs(inside).sum(axis=1)).ravel()
            if (left > LEAK * np.asarray(abs(Q).sum(axis=1)).ravel()).any():
                raise ValueError(f"parameter = {self.parameter!r}: {STATES_CHANGE}")
        keys = inside.row.astype(np.int64) * inside.shape[1] + inside.col
        order = np.argsort(keys)
        return keys[order], inside.data[order]

    def _shifts(self, side: Side | None) -> list[float]:
        """Return the differences to the parameter at which others are tried first."""
        return [sign * self._unit * STEPS[0] * half for sign in SIGNS[side] for half in HALVES]

    def measure(
        self, of: str, row: int, here: Mean, ratio: float | None, side: Side | None = None
    ) -> tuple[Vector, Vector]:
        """Return (top - ratio bottom)' in each state and its error, shape (n,) each.

        ``here`` has the measure's values at the parameter; its ratio is None where it is none.
        """
        if all(_same(here, self._measured(of, shift)[row]) for shift in self._shifts(side)):
            none = np.zeros(len(self._states))
            return none, none

        def values(shifts: Sequence[float]) -> list[Vector]:
            means = [self._measured(of, shift)[row] for shift in shifts]
            return [mean.of if ratio is None else mean.of - ratio * mean.over for mean in means]

        return derivative(values, self._unit, side, self._scales)

    def _measured(self, of: str, shift: float) -> list[Mean]:
        """Return the rows of a measure at a parameter close by, which are asked for one by one."""
        if (of, shift) not in self._rows:
            model = self.model_at(shift)
            model = model if hasattr(model, "labels") else self._chain_at(shift).model  # of a file
            found = chosen(of, model, self._chain.table, self._states)
            self._rows[of, shift] = [Mean(*numbers) for numbers in rows_of(found)]
        return self._rows[of, shift]

    def _by_symbols(self, side: Side | None) -> tuple[sp.csr_matrix, sp.csr_matrix] | None:
        """Return Q' by way of the symbols that rules see, where these may be differentiated by them."""
        numbers = self._symbols_at(0.0)
        if numbers is None:
            return None
        others = [self._symbols_at(shift) for shift in self._shifts(side)]
        if any(other is None or len(other) != len(numbers) for other in others):
            return None
        needed = [k for k, x in enumerate(numbers) if any(other[k] != x for other in others)]
        numeric = all(_is_number(row[k]) for k in needed for row in (numbers, *others))
        if not numeric or self._moved_space(side):
            return None
        slopes = self._slopes(frozenset(needed), numbers)
        if slopes is None:
            return None

        def values(shifts: Sequence[float]) -> list[Vector]:
            rows = [self._symbols_at(shift) for shift in shifts]
            return [np.array([float(row[k]) for k in needed]) for row in rows]

        change, error = np.zeros(len(numbers)), np.zeros(len(numbers))
        change[needed], error[needed] = derivative(values, self._unit, side, self._scales)
        found = slopes.along(change)
        return (found, slopes.spread(error)) if self._confirmed(found, SIGNS[side]) else None

    def _confirmed(self, change: sp.csr_matrix, signs: tuple[float, ...]) -> bool:
        """Whether the rules in plain Python, in some states, change with the parameter as Q' says.

        Rules may tell the numbers that carry derivatives from others, by their type for one.
        """
        chain, places = self._chain, self._indices()
        n = len(self._states)
        some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
        here = plain_rates(chain.model, chain.space, places, some)  # type: ignore[arg-type]
        for shift in (sign * self._unit * CHECK for sign in signs):
            there = plain_rates(self.model_at(shift), chain.space, places, some)  # type: ignore[arg-type]
            if here is None or there is None:
                return False
            expected = change[some].tolil()
            expected[np.arange(len(some)), some] = 0.0
            apart = abs((there - here) / shift - expected)
            size = abs(expected) + here / abs(self.at) + there / abs(self.at)
            if (apart > CONFIRMED * size).nnz:
                return False
        return True

    def _indices(self) -> NDArray[np.int64]:
        """Return the numbers of the recurrent states in their space, shape (n,)."""
        components = self._chain.components_of(self._states)
        assert self._chain.space is not None
        assert components is not None
        return self._chain.space.numbers(np.array(list(components.values())))

    def _symbols_at(self, shift: float) -> Any:
        found = getattr(self.model_at(shift), "symbols", None)
        return None if found is None else flat_numbers(found())

    def _moved_space(self, side: Side | None) -> bool:
        """Whether a small change moves the start, or the values that components may have."""
        step = self._unit * STEPS[0]
        near = {"left": (-step,), "right": (step,), None: (step, -step)}[side]
        models = [self.model_at(shift) for shift in (0.0, *near)]
        starts = [model.start() for model in models]
        spaces = [model.space() if model.has_space else None for model in models]
        return any(start != starts[0] for start in starts) or any(s != spaces[0] for s in spaces)

    def _slopes(self, needed: frozenset[int], numbers: list[Any]) -> RateSlopes | None:
        """Return the derivatives by the symbols needed: by all at once, if rules allow that."""
        every = needed | {k for k, x in enumerate(numbers) if isinstance(x, float) and x}
        for varied in (every, needed):
            if varied not in self._known:
                self._known[varied] = self._slopes_by(varied)
            if isinstance(self._known[varied], RateSlopes):
                return self._known[varied]  # type: ignore[no-any-return]
        if self._known[needed] is Comparison.EQUAL:
            self._scales = 2  # the kink is here, and not close by
        return None

    def _slopes_by(self, varied: frozenset[int]) -> RateSlopes | Comparison | None:
        chain, states = self._chain, self._states
        components = chain.components_of(states)
        if chain.space is None or components is None or not isinstance(chain.model, ChainModel):
            return None
        if chain.space.size >= NUMBERED:
            return None
        Q = chain.Q[states][:, states]
        return rate_slopes(chain.model, chain.space, self._indices(), Q, varied)

    def _chain_at(self, shift: float) -> MarkovChain:
        if shift in self._chains:
            return self._chains[shift]
        there = as_chain(self.model_at(shift))
        if not same_states(self._chain, there):
            raise ValueError(f"parameter = {self.parameter!r}: {STATES_CHANGE}")
        self._chains[shift] = there
        return there


def same_states(one: MarkovChain, other: MarkovChain) -> bool:
    """Whether two chains of a model have the same states in the same order."""
    if one.size != other.size or (one.components is None) != (other.components is None):
        return False
    if one.components is None or other.components is None:
        return True
    pairs = zip(one.components.values(), other.components.values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _aligned(keys: NDArray[np.int64], own: NDArray[np.int64], values: Vector) -> Vector:
    """Return values by their keys, zero where there is none."""
    found = np.zeros(len(keys))
    found[np.searchsorted(keys, own)] = values
    return found


def _is_number(value: Any) -> bool:
    numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return numeric and math.isfinite(value)


def _same(mean: Mean, other: Mean) -> bool:
    over = mean.over is other.over is None or np.array_equal(mean.over, other.over)
    return over and np.array_equal(mean.of, other.of)
