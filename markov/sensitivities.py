"""How a stationary measure changes with a parameter, by one solution of Poisson's equation.

With Q g = pi f - f, d(pi f) = pi (f' + Q' g), the prime being the derivative by the parameter
(P. J. Schweitzer, Perturbation theory and finite Markov chains, Journal of Applied Probability 5,
1968). The same g serves all parameters. f + Q g is differentiated at fixed g by central differences of
the model's own rates, extrapolated twice.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.models.measures import chosen
from markov.proofs.deviations import deviation
from markov.proofs.means import bounded_mean
from markov.selections import as_chain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["Sensitivity", "parameters_of", "sensitivity_of"]

STEP = 2.0**-8  # of the first difference, relative to the parameter
TOLERANCE = 1e-13
UNIT = 2.0**-53


@dataclass(frozen=True)
class Sensitivity:
    """The derivative of a measure by a parameter.

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        The measure, in its unit.
    derivative
        In the measure's unit over the parameter's.
    error
        Of the derivative: a bound on what the solutions leave, and an estimate of what the differences
        of rates do (zero but for rounding where rates are polynomials in the parameter up to the sixth
        degree).
    elasticity
        Relative change of the measure for one of the parameter: parameter / measure * derivative.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> def rules(up, q):
    ...     yield not up, q.fails if up else q.repair
    >>> model = explore(
    ...     rules, start=True, params={"fails": 0.25, "repair": 1.0}, labels=lambda up: {"up": up}
    ... )
    >>> found = stationary(model).sensitivity("repair", of="up")
    >>> round(found.value, 12), round(found.derivative, 12)  # 0.25 / 1.25^2
    (0.8, 0.16)
    """

    parameter: str
    of: str
    value: float
    derivative: float
    error: float
    elasticity: float


def sensitivity_of(
    chain: MarkovChain,
    proof: Any,
    states: NDArray[np.int64],
    parameter: str,
    of: str,
    known: dict[Any, Any] | None = None,
) -> Sensitivity | list[Sensitivity]:
    """Return the sensitivity of a measure, or a list for one of each queue.

    Parameters
    ----------
    chain
        With a model.
    proof
        The `Certificate` of its stationary vector on its recurrent states.
    states
        These, as indices.
    parameter, of
        Names of a parameter, or of an entry of it (``"arrival_rates[0]"``), and of a label or reward.
    known
        Solutions of Poisson's equation that were found before; others are added.
    """
    known = {} if known is None else known
    if chain.model is None:
        raise ValueError("parameter: the chain is given by its matrix and has no parameters")
    near = _Nearby(chain, states, parameter)
    mean = chosen(of, chain.model, chain.states, states)
    tops = mean.of.reshape(-1, len(states))
    bottoms = None if mean.over is None else mean.over.reshape(tops.shape)
    found = [
        _one(proof, near, of, row, tops[row], None if bottoms is None else bottoms[row], known)
        for row in range(len(tops))
    ]
    return found if mean.of.ndim > 1 else found[0]


class _Nearby:
    """The chain at parameters close to its own."""

    def __init__(self, chain: MarkovChain, states: NDArray[np.int64], parameter: str) -> None:
        self.parameter, self._states = parameter, states
        model: Any = chain.model
        known = parameters_of(model)
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", parameter)
        name, index = (match[1], match[2]) if match else (parameter, None)
        if name not in known:
            names = ", ".join(known) or "none"
            raise ValueError(f"parameter = {parameter!r}: must be one of {names}")
        whole = known[name]
        if isinstance(whole, (tuple, list)) and (index is None or int(index) >= len(whole)):
            entries = ", ".join(f"{name}[{k}]" for k in range(len(whole)))
            raise ValueError(f"parameter = {parameter!r}: must be one of {entries}")
        at = whole if index is None else whole[int(index)]
        if isinstance(at, bool) or not isinstance(at, (int, float, np.number)) or at == 0:
            said = "must be a number other than zero, which may change a little"
            raise ValueError(f"parameter = {parameter!r} is {at!r}: {said}")
        self.at = float(at)
        self._points: dict[float, Any] = {}
        for level in range(3):
            for sign in (1.0, -1.0):
                shift = sign * STEP / 2**level
                value: Any = self.at * (1.0 + shift)
                if index is not None:
                    value = [value if k == int(index) else x for k, x in enumerate(whole)]
                    value = tuple(value) if isinstance(whole, tuple) else value
                self._points[shift] = self._chain_at(model, chain, states, name, value)

    def _chain_at(
        self, model: Any, chain: MarkovChain, states: NDArray[np.int64], name: str, value: Any
    ) -> Any:
        said = f"parameter = {self.parameter!r}: "
        try:
            there = as_chain(model.replace(**{name: value}))
        except ValueError as error:
            raise ValueError(f"{said}the model refuses {name} = {value!r}: {error}") from error
        same = there.size == chain.size and (there.components is None) == (chain.components is None)
        if same and chain.components is not None and there.components is not None:
            pairs = zip(chain.components.values(), there.components.values(), strict=True)
            same = all(np.array_equal(a, b) for a, b in pairs)
        if not same:
            raise ValueError(f"{said}the states change with it: no derivative")
        return there.model, there.states, there.Q[states][:, states]

    def derivative(
        self, of: str, row: int, g: Vector, ratio: float | None
    ) -> tuple[Vector, Vector]:
        """Return (f + Q g)' in each state, shape (n,), and an estimate of its error."""
        at = {shift: self._drift(place, of, row, g, ratio) for shift, place in self._points.items()}
        levels = [STEP / 2**k for k in range(3)]
        D = [(at[h][0] - at[-h][0]) / (2.0 * h * self.at) for h in levels]
        once = [(4.0 * D[k + 1] - D[k]) / 3.0 for k in range(2)]
        twice = (16.0 * once[1] - once[0]) / 15.0
        rounding = 16.0 * UNIT * at[levels[0]][1] / (levels[2] * abs(self.at))
        return twice, np.abs(twice - once[1]) + rounding

    def _drift(
        self, place: Any, of: str, row: int, g: Vector, ratio: float | None
    ) -> tuple[Vector, Vector]:
        model, states, Q = place
        mean = chosen(of, model, states, self._states)
        f = mean.of.reshape(-1, mean.of.shape[-1])[row]
        if ratio is not None:
            assert mean.over is not None
            f = f - ratio * mean.over.reshape(-1, mean.of.shape[-1])[row]
        return f + Q @ g, np.abs(f) + abs(Q) @ np.abs(g)

    def slack(self, error: Vector, pi: Vector) -> float:
        """Return the effect of the error of g: sum of pi |Q'| (its error here + there)."""
        change = abs(self._points[STEP][2] - self._points[-STEP][2]) / (2.0 * STEP * abs(self.at))
        change.setdiag(0.0)
        rows = np.asarray(change @ error).ravel() + np.asarray(change.sum(axis=1)).ravel() * error
        return float(pi @ rows) * 1.01


def _one(
    proof: Any,
    near: _Nearby,
    of: str,
    row: int,
    top: Vector,
    bottom: Vector | None,
    known: dict[Any, Any],
) -> Sensitivity:
    below = None if bottom is None else bounded_mean(proof, bottom, TOLERANCE)
    ratio = None if below is None else float(proof.pi @ top) / below.value
    f = top if ratio is None or bottom is None else top - ratio * bottom
    if (of, row) not in known:
        known[of, row] = deviation(proof, f, TOLERANCE)
    found = known[of, row]
    rates, estimate = near.derivative(of, row, found.values, ratio)
    mean = bounded_mean(proof, rates, TOLERANCE)
    error = mean.error + near.slack(found.error, proof.pi) + float(proof.pi @ estimate)
    scale = 1.0 if below is None else below.value
    value = found.mean.value if ratio is None else ratio
    derivative = mean.value / scale
    elasticity = derivative * near.at / value if value else math.nan
    return Sensitivity(near.parameter, of, value, derivative, error / abs(scale), elasticity)


def parameters_of(model: Any) -> dict[str, Any]:
    """Return a model's parameters, or a file's constants, by name."""
    constants = getattr(model, "constants", None)
    if constants is not None:
        return dict(constants)
    fields = getattr(model.params, "_asdict", None)
    return dict(fields()) if fields is not None else {}
