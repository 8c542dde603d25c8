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

from markov.generators.slopes import Comparison, RateSlopes, flatten_symbols, plain_rates, rate_slopes
from markov.models.functions import Mean
from markov.models.measures import resolve_measure
from markov.models.rules import ChainModel
from markov.models.spaces import NUMBERED
from markov.proofs.means import rows_of
from markov.selections import as_chain
from markov.sensitivities.differences import FIRST_STEPS, STEP_FACTORS, Side, derivative
from markov.sensitivities.model_parameters import entry_of, is_real, parameters_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["STATES_CHANGE", "Perturbation", "same_states"]

MAX_CHECKED_STATES = 120  # states in which derivatives by symbols are compared with the rules
RELATIVE_CHECK_STEP = 2.0**-20  # relative change of the parameter for this comparison
CHECK_TOLERANCE = 1e-4  # relative: the rates may be curved
MIN_LEAVING_SHARE = 1e-12  # of the exit rate of a state: smaller shares are rounding
STATES_CHANGE = "the states change with it: no derivative"
SIGNS: dict[str | None, tuple[float, ...]] = {"left": (-1.0,), "right": (1.0,), None: (-1.0, 1.0)}
"""Signs of the differences to a parameter on each side."""


class Perturbation:
    """A model with one parameter changed slightly: models, rates and measures at shifts, and their derivatives.

    Parameters
    ----------
    chain
        Chain of the model.
    states
        Its recurrent states, as indices.
    parameter
        A name, or a name with the number of an entry: ``"arrival_rates[0]"``.
    cache
        Derivatives of rates by symbols, shared by all parameters of the model; filled on use.

    Attributes
    ----------
    at
        The parameter's value.
    counted
        Whether it is a whole number, which has differences only.

    Raises
    ------
    ValueError
        For an unknown name; for a parameter that is no number, or zero and no whole number.
    """

    def __init__(self, chain: MarkovChain, states: NDArray[np.int64], parameter: str, cache: dict[Any, Any]) -> None:
        self.parameter, self._chain, self._states, self._cache = parameter, chain, states, cache
        model: Any = chain.model
        self._name, self._index, self._value = entry_of(parameters_of(model), parameter)
        current = self._value if self._index is None else self._value[self._index]
        number = isinstance(current, (int, float, np.number)) and not isinstance(current, (bool, complex))
        self.counted = isinstance(current, (int, np.integer)) and not is_real(model, self._name)
        if not number or not math.isfinite(current) or (current == 0 and not self.counted):
            requirement = "must be a number other than zero, which may change a little"
            raise ValueError(f"parameter = {parameter!r} is {current!r}: {requirement}")
        self.at = int(current) if self.counted else float(current)
        self._unit = 0.0 if self.at == 0 else 2.0 ** math.floor(math.log2(abs(self.at)))
        self._scales = len(FIRST_STEPS)
        self._models, self._chains = {0.0: model}, {0.0: chain}
        self._rows: dict[tuple[str, float], list[Mean]] = {}

    @property
    def smallest_step(self) -> float:
        """The smallest shift of the parameter that differences use."""
        return self._unit * FIRST_STEPS[self._scales - 1] * STEP_FACTORS[-1]

    def model_at(self, shift: float) -> Any:
        """Return the model with the parameter changed by ``shift``, in its unit.

        Raises
        ------
        ValueError
            Where the model refuses it.
        """
        if shift not in self._models:
            value: Any = self.at + shift
            if self._index is not None:
                entries = [value if k == self._index else x for k, x in enumerate(self._value)]
                value = tuple(entries) if isinstance(self._value, tuple) else entries
            try:
                self._models[shift] = self._chain.model.replace(**{self._name: value})  # type: ignore[union-attr]
            except ValueError as error:
                reason = f"the model refuses {self._name} = {value!r}: {error}"
                raise ValueError(f"parameter = {self.parameter!r}: {reason}") from error
        return self._models[shift]

    def generator(self, side: Side | None = None) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return the derivative Q' on the recurrent states, and error estimates of its entries, shape (n, n) each.

        Raises
        ------
        Kinked, Jump, Irregular
            Where rates have no derivative (see `markov.sensitivities.differences`).
        ValueError
            Where the states change with the parameter.
        """
        by_symbols = self._by_symbols(side)
        if by_symbols is not None:
            return by_symbols
        n, keys_of_all = len(self._states), np.zeros(0, dtype=np.int64)

        def values(shifts: Sequence[float]) -> list[Vector]:
            """Return the rates at each shift as arrays over all pairs of states that have a rate."""
            nonlocal keys_of_all
            parts = [self._between_states(shift) for shift in shifts]
            keys_of_all = np.unique(np.concatenate([keys for keys, _ in parts]))
            return [_align(keys_of_all, keys, rates) for keys, rates in parts]

        change = derivative(values, self._unit, side, self._scales)
        rows, columns = np.divmod(keys_of_all, n)
        matrices = [sp.csr_matrix((part, (rows, columns)), shape=(n, n)) for part in change]
        return matrices[0], matrices[1]

    def _between_states(self, shift: float) -> tuple[NDArray[np.int64], Vector]:
        """Return pair numbers (ascending) and rates of the transitions between recurrent states, at ``shift``."""
        Q = self._chain_at(shift).Q[self._states].tocsr()
        inside = sp.coo_matrix(Q[:, self._states])
        if len(self._states) < Q.shape[1]:
            leaving = np.asarray(abs(Q).sum(axis=1) - abs(inside).sum(axis=1)).ravel()
            if (leaving > MIN_LEAVING_SHARE * np.asarray(abs(Q).sum(axis=1)).ravel()).any():
                raise ValueError(f"parameter = {self.parameter!r}: {STATES_CHANGE}")
        keys = inside.row.astype(np.int64) * inside.shape[1] + inside.col
        order = np.argsort(keys)
        return keys[order], inside.data[order]

    def _shifts(self, side: Side | None) -> list[float]:
        """Return the shifts of the first differences on a side, or on both for None."""
        return [sign * self._unit * FIRST_STEPS[0] * factor for sign in SIGNS[side] for factor in STEP_FACTORS]

    def measure(
        self, of: str, row: int, mean: Mean, ratio: float | None, side: Side | None = None
    ) -> tuple[Vector, Vector]:
        """Return the derivative of a measure's values, less ``ratio`` times its divisor, and its error estimate.

        ``mean`` has the measure's values at the parameter; ``ratio`` is None for a mean.
        """
        if all(_equal_means(mean, self._measure_rows(of, shift)[row]) for shift in self._shifts(side)):
            zeros = np.zeros(len(self._states))
            return zeros, zeros

        def values(shifts: Sequence[float]) -> list[Vector]:
            """Return the measure's values, less ``ratio`` times its divisor, at each shift, shape (n,) each."""
            means = [self._measure_rows(of, shift)[row] for shift in shifts]
            return [shifted.of if ratio is None else shifted.of - ratio * shifted.over for shifted in means]

        return derivative(values, self._unit, side, self._scales)

    def _measure_rows(self, of: str, shift: float) -> list[Mean]:
        """Return the entries of a measure at a shifted parameter, one `Mean` each; cached."""
        if (of, shift) not in self._rows:
            model = self.model_at(shift)
            model = model if hasattr(model, "labels") else self._chain_at(shift).model  # of a file
            measure = resolve_measure(of, model, self._chain.table, self._states)
            self._rows[of, shift] = [Mean(*numbers) for numbers in rows_of(measure)]
        return self._rows[of, shift]

    def _by_symbols(self, side: Side | None) -> tuple[sp.csr_matrix, sp.csr_matrix] | None:
        """Return Q' and its error by exact derivatives of the rules; None if the rules do not allow them."""
        numbers = self._symbols_at(0.0)
        if numbers is None:
            return None
        others = [self._symbols_at(shift) for shift in self._shifts(side)]
        if any(other is None or len(other) != len(numbers) for other in others):
            return None
        needed = [k for k, x in enumerate(numbers) if any(other[k] != x for other in others)]
        numeric = all(_is_finite_number(row[k]) for k in needed for row in (numbers, *others))
        if not numeric or self._space_changes(side):
            return None
        slopes = self._slopes(frozenset(needed), numbers)
        if slopes is None:
            return None

        def values(shifts: Sequence[float]) -> list[Vector]:
            """Return the symbols that change with the parameter, at each shift."""
            rows = [self._symbols_at(shift) for shift in shifts]
            return [np.array([float(row[k]) for k in needed]) for row in rows]

        change, error = np.zeros(len(numbers)), np.zeros(len(numbers))
        change[needed], error[needed] = derivative(values, self._unit, side, self._scales)
        slope = slopes.generator_slope(change)
        return (slope, slopes.slope_error(error)) if self._agrees_with_rules(slope, SIGNS[side]) else None

    def _agrees_with_rules(self, change: sp.csr_matrix, signs: tuple[float, ...]) -> bool:
        """Return whether differences of the rates in a sample of states agree with the derivative ``change``.

        Rules may treat numbers that carry derivatives differently, for example by their type.
        """
        chain, numbers = self._chain, self._space_numbers()
        n = len(self._states)
        checked = np.unique(np.linspace(0, n - 1, min(n, MAX_CHECKED_STATES)).astype(np.int64))
        rates = plain_rates(chain.model, chain.space, numbers, checked)  # type: ignore[arg-type]
        for shift in (sign * self._unit * RELATIVE_CHECK_STEP for sign in signs):
            shifted = plain_rates(self.model_at(shift), chain.space, numbers, checked)  # type: ignore[arg-type]
            if rates is None or shifted is None:
                return False
            expected = change[checked].tolil()
            expected[np.arange(len(checked)), checked] = 0.0
            deviation = abs((shifted - rates) / shift - expected)
            magnitude = abs(expected) + rates / abs(self.at) + shifted / abs(self.at)
            if (deviation > CHECK_TOLERANCE * magnitude).nnz:
                return False
        return True

    def _space_numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the recurrent states in the model's state space, shape (n,)."""
        components = self._chain.components_of(self._states)
        assert self._chain.space is not None
        assert components is not None
        return self._chain.space.numbers(np.array(list(components.values())))

    def _symbols_at(self, shift: float) -> Any:
        """Return the values that rules get as ``q`` at ``shift`` as a flat list.

        None for a model without ``symbols``, and if ``q`` has an object that `flatten_symbols` does not take apart.
        """
        symbols = getattr(self.model_at(shift), "symbols", None)
        return None if symbols is None else flatten_symbols(symbols())

    def _space_changes(self, side: Side | None) -> bool:
        """Return whether a small change of the parameter moves the start or changes the state space."""
        step = self._unit * FIRST_STEPS[0]
        shifts_ = {"left": (-step,), "right": (step,), None: (step, -step)}[side]
        models = [self.model_at(shift) for shift in (0.0, *shifts_)]
        starts = [model.start() for model in models]
        spaces = [model.space() if model.has_space else None for model in models]
        return any(start != starts[0] for start in starts) or any(s != spaces[0] for s in spaces)

    def _slopes(self, needed: frozenset[int], numbers: list[Any]) -> RateSlopes | None:
        """Return the derivatives of the rates by symbols, all at once if the rules allow that; None if impossible."""
        all_symbols = needed | {k for k, x in enumerate(numbers) if isinstance(x, float) and x}
        for varied in (all_symbols, needed):
            if varied not in self._cache:
                self._cache[varied] = self._slopes_by(varied)
            if isinstance(self._cache[varied], RateSlopes):
                return self._cache[varied]  # type: ignore[no-any-return]
        if self._cache[needed] is Comparison.EQUAL:
            self._scales = 2  # the kink is at this value, and not beside it
        return None

    def _slopes_by(self, varied: frozenset[int]) -> RateSlopes | Comparison | None:
        """Return the derivatives of the rates by the symbols ``varied``, or the reason why there are none."""
        chain, states = self._chain, self._states
        components = chain.components_of(states)
        if chain.space is None or components is None or not isinstance(chain.model, ChainModel):
            return None
        if chain.space.size >= NUMBERED:
            return None
        Q = chain.Q[states][:, states]
        return rate_slopes(chain.model, chain.space, self._space_numbers(), Q, varied)

    def _chain_at(self, shift: float) -> MarkovChain:
        """Return the chain at a shifted parameter, cached; ValueError if its states change."""
        if shift in self._chains:
            return self._chains[shift]
        chain = as_chain(self.model_at(shift))
        if not same_states(self._chain, chain):
            raise ValueError(f"parameter = {self.parameter!r}: {STATES_CHANGE}")
        self._chains[shift] = chain
        return chain


def same_states(first: MarkovChain, second: MarkovChain) -> bool:
    """Return whether two chains of one model have the same states in the same order."""
    if first.size != second.size or (first.components is None) != (second.components is None):
        return False
    if first.components is None or second.components is None:
        return True
    pairs = zip(first.components.values(), second.components.values(), strict=True)
    if not all(np.array_equal(a, b) for a, b in pairs):
        return False
    # codes count the values of a component in the order of their discovery, which may be another one
    values, others = ([c.values for c in chain.table.space.components] for chain in (first, second))
    same_values = all(a == b or isinstance(a, range) for a, b in zip(values, others, strict=True))
    return same_values or list(first.table.plain()) == list(second.table.plain())


def _align(keys: NDArray[np.int64], entry_keys: NDArray[np.int64], values: Vector) -> Vector:
    """Return an array over ``keys`` with ``values`` at ``entry_keys``, and 0 elsewhere."""
    aligned = np.zeros(len(keys))
    aligned[np.searchsorted(keys, entry_keys)] = values
    return aligned


def _is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite real number, and no boolean."""
    numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return numeric and math.isfinite(value)


def _equal_means(first: Mean, second: Mean) -> bool:
    """Return whether two measures have equal values, and equal denominators, in all states."""
    same_denominator = first.over is second.over is None or np.array_equal(first.over, second.over)
    return same_denominator and np.array_equal(first.of, second.of)
