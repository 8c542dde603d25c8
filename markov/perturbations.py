"""How rates and measures of a model change with one of its parameters.

Rates are differentiated exactly by the symbols that rules see, where the rules allow it
(`markov.generators.slopes`), and these symbols by the parameter by central differences, extrapolated
twice; other rates, and the measures, by such differences themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.closures import NUMBERED
from markov.generators.slopes import RateSlopes, flat_numbers, rate_slopes
from markov.models.measures import Mean, chosen
from markov.models.rules import ChainModel
from markov.proofs.means import rows_of
from markov.selections import as_chain

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["Perturbation", "parameters_of"]

STEP = 2.0**-8  # of the first difference, relative to the parameter
UNIT = 2.0**-53
LEVELS = tuple(STEP / 2**level for level in range(3))


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

    Raises
    ------
    ValueError
        For an unknown name; for a parameter that is no number, is zero, or changes the states.
    """

    def __init__(
        self, chain: MarkovChain, states: NDArray[np.int64], parameter: str, known: dict[Any, Any]
    ) -> None:
        self.parameter, self._chain, self._states, self._known = parameter, chain, states, known
        model: Any = chain.model
        name, index, whole = _entry(parameters_of(model), parameter)
        at = whole if index is None else whole[index]
        if isinstance(at, bool) or not isinstance(at, (int, float, np.number)) or at == 0:
            said = "must be a number other than zero, which may change a little"
            raise ValueError(f"parameter = {parameter!r} is {at!r}: {said}")
        self.at = float(at)
        self._models, self._chains = {0.0: model}, {0.0: chain}
        self._rows: dict[tuple[str, float], list[Mean]] = {}
        for shift in (sign * step for step in LEVELS for sign in (1.0, -1.0)):
            value: Any = self.at * (1.0 + shift)
            if index is not None:
                parts = [value if k == index else x for k, x in enumerate(whole)]
                value = tuple(parts) if isinstance(whole, tuple) else parts
            try:
                self._models[shift] = model.replace(**{name: value})
            except ValueError as error:
                said = f"the model refuses {name} = {value!r}: {error}"
                raise ValueError(f"parameter = {parameter!r}: {said}") from error

    @cached_property
    def generator(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Q' between the states and an estimate of the error of its entries, shape (n, n) each."""
        return self._by_symbols() or self._difference(
            lambda shift: self._chain_at(shift).Q[self._states][:, self._states]
        )

    def measure(self, of: str, row: int, here: Mean, ratio: float | None) -> tuple[Vector, Vector]:
        """Return (top - ratio bottom)' in each state and its error, shape (n,) each.

        ``here`` has the measure's values at the parameter; its ratio is None where it is none.
        """
        near = {shift: self._measured(of, shift)[row] for shift in (STEP, -STEP)}
        if all(_same(here, mean) for mean in near.values()):
            none = np.zeros(len(self._states))
            return none, none

        def at(shift: float) -> Vector:
            mean = self._measured(of, shift)[row]
            found: Vector = mean.of if ratio is None else mean.of - ratio * mean.over
            return found

        return self._difference(at)

    def _measured(self, of: str, shift: float) -> list[Mean]:
        """Return the rows of a measure at a parameter close by, which are asked for one by one."""
        if (of, shift) not in self._rows:
            model = self._models[shift]
            model = model if hasattr(model, "labels") else self._chain_at(shift).model  # of a file
            found = chosen(of, model, self._chain.table, self._states)
            self._rows[of, shift] = [Mean(*numbers) for numbers in rows_of(found)]
        return self._rows[of, shift]

    def _difference(self, of: Callable[[float], Any]) -> tuple[Any, Any]:
        """Return the derivative of an array or matrix, and an estimate of its error."""
        pairs = [(of(step), of(-step)) for step in LEVELS]
        steps = zip(pairs, LEVELS, strict=True)
        D = [(above - below) / (2.0 * step * self.at) for (above, below), step in steps]
        once = [(4.0 * D[k + 1] - D[k]) / 3.0 for k in range(2)]
        twice = (16.0 * once[1] - once[0]) / 15.0
        rounding = 16.0 * UNIT / (LEVELS[2] * abs(self.at)) * abs(pairs[0][0])
        return twice, abs(twice - once[1]) + rounding

    def _by_symbols(self) -> tuple[sp.csr_matrix, sp.csr_matrix] | None:
        """Return Q' by way of the symbols that rules see, where these may be differentiated by them."""
        symbols = {shift: self._symbols_at(shift) for shift in self._models}
        numbers = symbols[0.0]
        if numbers is None or any(
            other is None or len(other) != len(numbers) for other in symbols.values()
        ):
            return None
        changing = [any(other[k] != x for other in symbols.values()) for k, x in enumerate(numbers)]
        if (
            any(
                not _is_number(other[k])
                for k in np.flatnonzero(changing)
                for other in symbols.values()
            )
            or self._moved_space()
        ):
            return None
        needed = frozenset(np.flatnonzero(changing).tolist())
        slopes = self._slopes(needed, numbers)
        if slopes is None:
            return None
        rows = {
            shift: np.array([float(x) if k in needed else 0.0 for k, x in enumerate(values)])
            for shift, values in symbols.items()
        }
        change, error = self._difference(rows.__getitem__)
        return slopes.along(change), abs(slopes.along(error))

    def _symbols_at(self, shift: float) -> Any:
        found = getattr(self._models[shift], "symbols", None)
        return None if found is None else flat_numbers(found())

    def _moved_space(self) -> bool:
        """Whether a small change moves the start, or the values that components may have."""
        models = [self._models[shift] for shift in (0.0, STEP, -STEP)]
        starts = [model.start() for model in models]
        spaces = [model.space() if model.has_space else None for model in models]
        return any(start != starts[0] for start in starts) or any(s != spaces[0] for s in spaces)

    def _slopes(self, needed: frozenset[int], numbers: list[Any]) -> RateSlopes | None:
        """Return the derivatives by the symbols needed: by all at once, if rules allow that."""
        every = needed | {k for k, x in enumerate(numbers) if isinstance(x, float) and x}
        for varied in (every, needed):
            if varied not in self._known:
                self._known[varied] = self._slopes_by(varied)
            if self._known[varied] is not None:
                return self._known[varied]  # type: ignore[no-any-return]
        return None

    def _slopes_by(self, varied: frozenset[int]) -> RateSlopes | None:
        chain, states = self._chain, self._states
        components = chain.components_of(states)
        if chain.space is None or components is None or not isinstance(chain.model, ChainModel):
            return None
        if chain.space.size >= NUMBERED:
            return None
        places = chain.space.numbers(np.array(list(components.values())))
        Q = chain.Q[states][:, states]
        return rate_slopes(chain.model, chain.space, places, Q, varied)

    def _chain_at(self, shift: float) -> MarkovChain:
        if shift in self._chains:
            return self._chains[shift]
        chain, there = self._chain, as_chain(self._models[shift])
        same = there.size == chain.size and (there.components is None) == (chain.components is None)
        if same and chain.components is not None and there.components is not None:
            pairs = zip(chain.components.values(), there.components.values(), strict=True)
            same = all(np.array_equal(a, b) for a, b in pairs)
        if not same:
            said = "the states change with it: no derivative"
            raise ValueError(f"parameter = {self.parameter!r}: {said}")
        self._chains[shift] = there
        return there


def _entry(known: dict[str, Any], parameter: str) -> tuple[str, int | None, Any]:
    """Return the name of a parameter, the number of its entry, and its whole value."""
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", parameter)
    name, index = (match[1], match[2]) if match else (parameter, None)
    if name not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"parameter = {parameter!r}: must be one of {names}")
    whole = known[name]
    if isinstance(whole, (tuple, list)) and (index is None or int(index) >= len(whole)):
        entries = ", ".join(f"{name}[{k}]" for k in range(len(whole)))
        raise ValueError(f"parameter = {parameter!r}: must be one of {entries}")
    return name, None if index is None else int(index), whole


def _is_number(value: Any) -> bool:
    numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return numeric and math.isfinite(value)


def _same(mean: Mean, other: Mean) -> bool:
    over = mean.over is other.over is None or np.array_equal(mean.over, other.over)
    return over and np.array_equal(mean.of, other.of)


def parameters_of(model: Any) -> dict[str, Any]:
    """Return a model's parameters, or a file's constants, by name."""
    constants = getattr(model, "constants", None)
    if constants is not None:
        return dict(constants)
    fields = getattr(model.params, "_asdict", None)
    return dict(fields()) if fields is not None else {}
