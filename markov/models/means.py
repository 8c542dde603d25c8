"""A measure of a chain: numbers over its states whose mean, or ratio of means, is the answer."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Mean", "as_mean", "at_states", "first_difference", "number_of", "stack", "text_of"]


class Mean(NamedTuple):
    """A measure that is a mean of numbers over the states, or a ratio of two such means.

    Attributes
    ----------
    of
        The numbers, shape (..., states).
    over
        Numbers of the mean to divide by, of the same shape; None: the mean itself.
    dims, units
        Names of the leading dimensions; units of the measure.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import Mean
    >>> waiting = Mean(np.array([0.0, 1.0, 2.0]), over=np.array([1.0, 1.0, 0.0]), units="s")
    >>> float(waiting.value(np.array([0.5, 0.25, 0.25])))
    1.0
    """

    of: Any
    over: Any = None
    dims: tuple[str, ...] = ()
    units: str = ""

    def value(self, pi: NDArray[np.float64]) -> Any:
        """Return the measure under a distribution, shape (states,); NaN where it is 0 / 0."""
        above = self.sum_of(pi)
        if self.over is None:
            return above
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.divide(above, self._replace(of=self.over).sum_of(pi))

    def sum_of(self, pi: NDArray[np.float64]) -> Any:
        """Return the sum of the numbers weighted by a distribution or by part of one."""
        total = np.einsum("...x,x->...", self.of, pi)
        return total if total.ndim else float(total)

    def parts(self) -> tuple[Any, ...]:
        """Return the numbers, and the numbers of the divisor if there is one."""
        return (self.of,) if self.over is None else (self.of, self.over)


def number_of(value: Any) -> float:
    """Return a number or a truth value of one state as a float.

    Raises
    ------
    TypeError
        For any other object: a string, None, a set, a state.
    """
    if isinstance(value, (bool, int, float, np.bool_, np.number, numbers.Real, Decimal)) and not (
        isinstance(value, np.complexfloating)
    ):
        return float(value)
    if getattr(value, "ndim", None) == 0 and getattr(value.dtype, "kind", "") in "biuf":
        return float(value)  # an array of NumPy or of JAX
    raise TypeError(f"{value!r} is no number and no truth value")


def as_mean(value: Any, count: int) -> Mean:
    """Return a label, a reward or a `Mean` as a `Mean` of arrays over this many states.

    Raises
    ------
    TypeError
        Unless it consists of numbers and truth values.
    """
    mean = value if isinstance(value, Mean) else Mean(value)

    def spread(part: Any) -> NDArray[np.float64]:
        array = np.asarray(part)
        if array.dtype.kind not in "biuf":
            if array.ndim:
                array = np.array([number_of(item) for item in array.ravel()]).reshape(array.shape)
            else:
                array = np.asarray(number_of(part))
        if array.ndim == len(mean.dims):  # the same in all states, or one state
            array = array[..., None]
        if array.ndim != len(mean.dims) + 1 or array.shape[-1] not in (1, count):
            raise TypeError(f"{part!r} has shape {array.shape}: one number per state is expected")
        return np.broadcast_to(array.astype(float), (*array.shape[:-1], count))

    return mean._replace(of=spread(mean.of), over=None if mean.over is None else spread(mean.over))


def stack(means: list[Mean]) -> Mean:
    """Return one `Mean` over the states of several, in order.

    Raises
    ------
    TypeError
        When ratios and means are mixed, or their shapes or dimensions differ.
    """
    first = means[0]
    shape = first.of.shape[:-1]
    for mean in means:
        same = (mean.over is None) == (first.over is None) and mean.dims == first.dims
        if not same or mean.of.shape[:-1] != shape:
            raise TypeError("a ratio, or another shape, in some states only")
    over = None if first.over is None else np.concatenate([m.over for m in means], axis=-1)
    return first._replace(of=np.concatenate([m.of for m in means], axis=-1), over=over)


def at_states(mean: Mean, indices: Any) -> Mean:
    """Return the values in the states with these indices."""
    over = None if mean.over is None else mean.over[..., indices]
    return mean._replace(of=mean.of[..., indices], over=over)


def first_difference(one: Mean, other: Mean, rounding: float) -> int | None:
    """Return the index of the first state in which two measures differ, or None."""
    if (one.over is None) != (other.over is None) or one.dims != other.dims:
        return 0
    for a, b in zip(one.parts(), other.parts(), strict=True):
        if a.shape != b.shape:
            return 0
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= rounding * np.abs(b)
        same = (a == b) | near | (np.isnan(a) & np.isnan(b))
        wrong = ~same.reshape(-1, a.shape[-1]).all(axis=0)
        if wrong.any():
            return int(np.argmax(wrong))
    return None


def text_of(mean: Mean, x: int) -> str:
    """Return the values in one state for a message."""
    if mean.of.shape[-1] <= x:
        return "other names"
    return ", ".join(f"{value:.17g}" for value in np.ravel(mean.of[..., x]))
