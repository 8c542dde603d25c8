"""What a run records of flows at nodes: columns of the flows that cross each node, an array of all pairs on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["AtNodes", "Deferred", "columns_of", "in_columns", "on_first_read", "value_of"]

T = TypeVar("T")


class AtNodes(NamedTuple):
    """Values of some flows at some nodes; 0 of all others.

    Attributes
    ----------
    flow, node
        Whose values they are, and at which sending node, each pair once, (N,).
    values
        Shape (N,), or (N, T) where they are sampled.
    shape
        Of the array of all flows and nodes, (F, L) or (F, L, T).
    """

    flow: NDArray[Any]
    node: NDArray[Any]
    values: NDArray[np.float64]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[np.float64]) -> AtNodes:
        """Return the entries of an array of all flows and nodes that are not 0."""
        flow, node = np.nonzero(array.any(axis=2) if array.ndim == 3 else array)
        return cls(flow, node, array[flow, node], array.shape)

    def merged(self) -> AtNodes:
        """Return the same with the sum of the values of each pair that occurs several times: routes may return to a node.

        Examples
        --------
        >>> some = AtNodes(np.array([0, 0]), np.array([1, 1]), np.array([3.0, 4.0]), (1, 2))
        >>> some.merged().array().tolist()
        [[0.0, 7.0]]
        """
        keys = self.flow.astype(np.int64) * self.shape[1] + self.node
        pairs, own = np.unique(keys, return_inverse=True)
        if len(pairs) == len(keys):
            return self
        values = np.zeros((len(pairs), *self.values.shape[1:]))
        np.add.at(values, own.reshape(-1), self.values)
        flow, node = np.divmod(pairs, self.shape[1])
        return AtNodes(flow, node, values, self.shape)

    def array(self) -> NDArray[np.float64]:
        """Return the array of all flows and nodes."""
        found = np.zeros(self.shape)
        found[self.flow, self.node] = self.values
        return found

    def by_flow(self) -> NDArray[np.float64]:
        """Return the sum over nodes and samples, shape (F,).

        Examples
        --------
        >>> some = AtNodes(np.array([0, 2]), np.array([1, 1]), np.array([3.0, 4.0]), (3, 2))
        >>> some.by_flow().tolist(), some.array()[2].tolist()
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
        return _same, (self.value(),)


def _same(value: Any) -> Any:
    return value


def value_of(given: Any) -> Any:
    """Return the value of what may be `Deferred`."""
    return given.value() if isinstance(given, Deferred) else given


class OnFirstRead:
    """An attribute that may be set to `Deferred`, and is its value when it is read."""

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self.default  # as a dataclass asks for it
        given = vars(run)[self.name]
        if isinstance(given, Deferred):
            given = vars(run)[self.name] = given.value()
        return given

    def __set__(self, run: Any, value: Any) -> None:
        vars(run)[self.name] = value


class PerFlowAndNode:
    """An attribute with an array of all flows and nodes, which stays `AtNodes`, or `Deferred`, until it is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self
        given = value_of(vars(run)[self.name])
        if isinstance(given, AtNodes):
            vars(run)[f"_{self.name}_columns"] = given
            given = vars(run)[self.name] = given.array()
        return given

    def __set__(self, run: Any, value: NDArray[np.float64] | AtNodes | Deferred) -> None:
        vars(run)[self.name] = value


def on_first_read(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: some attributes may be set to `Deferred`."""

    def changed(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, OnFirstRead(name, getattr(kind, name, None)))
        return kind

    return changed


def in_columns(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: some attributes may be set to `AtNodes`, also `Deferred`, and are arrays when they are read."""

    def changed(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, PerFlowAndNode(name))
        return kind

    return changed


def columns_of(run: object, name: str) -> AtNodes:
    """Return the columns of an attribute named by `in_columns`, without making its array."""
    given = vars(run)[name] = value_of(vars(run)[name])
    if isinstance(given, AtNodes):
        return given
    kept: AtNodes | None = vars(run).get(f"_{name}_columns")
    return kept if kept is not None and kept.shape == given.shape else AtNodes.of(given)
