"""Records of flows at nodes: columns of the pairs that occur, and an array of all pairs on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["AtNodes", "Deferred", "columns_of", "in_columns", "on_first_read", "value_of"]

T = TypeVar("T")


class AtNodes(NamedTuple):
    """Sparse values of flows at nodes, 0 for all other pairs.

    Attributes
    ----------
    flow, node
        Indices of the flow and the sending node of each value, (N,); pairs are distinct.
    values
        Shape (N,), or (N, T) for samples.
    shape
        Shape of the array of all flows and nodes, (F, L) or (F, L, T).
    """

    flow: NDArray[Any]
    node: NDArray[Any]
    values: NDArray[np.float64]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[np.float64]) -> AtNodes:
        """Return the non-zero entries of an array of all flows and nodes."""
        flow, node = np.nonzero(array.any(axis=2) if array.ndim == 3 else array)
        return cls(flow, node, array[flow, node], array.shape)

    def merge(self) -> AtNodes:
        """Sum the values of repeated pairs, since routes may return to a node; return distinct pairs.

        Examples
        --------
        >>> columns = AtNodes(np.array([0, 0]), np.array([1, 1]), np.array([3.0, 4.0]), (1, 2))
        >>> columns.merge().array().tolist()
        [[0.0, 7.0]]
        """
        keys = self.flow.astype(np.int64) * self.shape[1] + self.node
        pairs, inverse = np.unique(keys, return_inverse=True)
        if len(pairs) == len(keys):
            return self
        values = np.zeros((len(pairs), *self.values.shape[1:]))
        np.add.at(values, inverse.reshape(-1), self.values)
        flow, node = np.divmod(pairs, self.shape[1])
        return AtNodes(flow, node, values, self.shape)

    def array(self) -> NDArray[np.float64]:
        """Return the array of all flows and nodes."""
        dense = np.zeros(self.shape)
        dense[self.flow, self.node] = self.values
        return dense

    def by_flow(self) -> NDArray[np.float64]:
        """Return the sum over nodes and samples, shape (F,).

        Examples
        --------
        >>> columns = AtNodes(np.array([0, 2]), np.array([1, 1]), np.array([3.0, 4.0]), (3, 2))
        >>> columns.by_flow().tolist(), columns.array()[2].tolist()
        ([3.0, 0.0, 4.0], [0.0, 4.0])
        """
        sums = self.values.sum(axis=1) if self.values.ndim == 2 else self.values
        return np.bincount(self.flow, sums, minlength=self.shape[0]).astype(np.float64)

    def by_node(self) -> NDArray[np.float64]:
        """Return the sum over flows and samples, shape (L,)."""
        sums = self.values.sum(axis=1) if self.values.ndim == 2 else self.values
        return np.bincount(self.node, sums, minlength=self.shape[1]).astype(np.float64)


class Deferred:
    """A value that is computed when it is first read, or pickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def value(self) -> Any:
        """Return the value."""
        return self.function(*self.arguments)

    def __reduce__(self) -> Any:
        return _identity, (self.value(),)


def _identity(value: Any) -> Any:
    """Return the value: `Deferred` is unpickled as its value."""
    return value


def value_of(value: Any) -> Any:
    """Return the value of a `Deferred`, and any other value unchanged."""
    return value.value() if isinstance(value, Deferred) else value


class OnFirstRead:
    """Descriptor of an attribute that may be set to `Deferred`; reading it returns the value."""

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self.default  # dataclass reads the default from the class
        value = vars(run)[self.name]
        if isinstance(value, Deferred):
            value = vars(run)[self.name] = value.value()
        return value

    def __set__(self, run: Any, value: Any) -> None:
        vars(run)[self.name] = value


class PerFlowAndNode:
    """Descriptor of an array of all flows and nodes, stored as `AtNodes` or `Deferred` until it is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self
        value = value_of(vars(run)[self.name])
        if isinstance(value, AtNodes):
            vars(run)[f"_{self.name}_columns"] = value
            value = vars(run)[self.name] = value.array()
        return value

    def __set__(self, run: Any, value: NDArray[np.float64] | AtNodes | Deferred) -> None:
        vars(run)[self.name] = value


def on_first_read(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that allows the named attributes to be set to `Deferred`."""

    def decorate(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, OnFirstRead(name, getattr(kind, name, None)))
        return kind

    return decorate


def in_columns(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that stores the named attributes as `AtNodes` or `Deferred` and reads them as arrays."""

    def decorate(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, PerFlowAndNode(name))
        return kind

    return decorate


def columns_of(run: object, name: str) -> AtNodes:
    """Return the columns of an attribute of `in_columns` without building its array."""
    value = vars(run)[name] = value_of(vars(run)[name])
    if isinstance(value, AtNodes):
        return value
    cached: AtNodes | None = vars(run).get(f"_{name}_columns")
    return cached if cached is not None and cached.shape == value.shape else AtNodes.of(value)
