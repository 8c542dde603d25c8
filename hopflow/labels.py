"""Labels of arrays of pandas and xarray are aligned with names or refused, masked entries refused: never ignored."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hopflow.checks import format_value, refuse_masked

__all__ = ["aligned", "label_order", "labels_of", "refuse_labels", "refuse_other_orders", "square"]

UNUSED = "without labels: .to_numpy()"


def labels_of(value: Any, axis: int = 0) -> tuple[Hashable, ...] | None:
    """Return the labels along an axis of an array of pandas or xarray; None for others, and for 0, 1, 2, ... in order.

    >>> import pandas as pd
    >>> labels_of(pd.Series([1.0, 2.0], index=["a", "b"])), labels_of(pd.Series([1.0, 2.0])), labels_of([1.0])
    (('a', 'b'), None, None)
    """
    names = _index_of(value, axis)
    if names is None:
        return None
    in_order = names == tuple(range(len(names))) and all(type(name) is int for name in names)
    return None if in_order else names


def _index_of(value: Any, axis: int) -> tuple[Hashable, ...] | None:
    """Return the index along an axis of an array of pandas or xarray, 0, 1, 2, ... too; None for others."""
    library = type(value).__module__.partition(".")[0]
    index: Any = None
    if library == "pandas" and hasattr(value, "axes"):
        index = value.axes[axis]
    elif library == "xarray" and hasattr(value, "dims") and np.ndim(value):
        index = value.indexes.get(value.dims[axis])
    return None if index is None else tuple(index.tolist())


def aligned(name: str, value: Any, names: Iterable[Hashable], axis: int = -1) -> Any:
    """Return an array in the order of names along an axis; a value without labels is returned unchanged.

    Raises
    ------
    ValueError
        For labels that are not these names, each once, and for masked entries.

    >>> import pandas as pd
    >>> aligned("f", pd.Series([1.0, 2.0], index=["b", "a"]), ["a", "b"]).tolist()
    [2.0, 1.0]
    """
    refuse_masked(name, value)
    labels = labels_of(value, axis)
    return value if labels is None else np.take(np.asarray(value), label_order(name, labels, tuple(names)), axis=axis)


def square(name: str, value: Any) -> tuple[Any, tuple[Hashable, ...] | None]:
    """Return a square matrix with columns in the order of its rows, and the labels of the rows; None without labels.

    Raises
    ------
    ValueError
        For rows and columns with other labels, a label that occurs twice, and for masked entries.

    >>> import pandas as pd
    >>> matrix, names = square("P", pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"]))
    >>> matrix.tolist(), names
    ([[2, 1], [4, 3]], ('a', 'b'))
    """
    refuse_masked(name, value)
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return value, None
    rows, columns = labels_of(value, 0), labels_of(value, 1)
    if rows is None and columns is None:
        return value, None
    rows = tuple(range(shape[0])) if rows is None else rows
    columns = tuple(range(shape[1])) if columns is None else columns
    return np.asarray(value)[:, label_order(f"columns of {name}", columns, rows)], rows


def refuse_labels(name: str, value: Any) -> None:
    """Raise ValueError for an array with labels, where entries have no names, or with masked entries.

    >>> import pandas as pd
    >>> refuse_labels("births", pd.Series([1.0, 2.0], index=[1, 0]))
    Traceback (most recent call last):
    ...
    ValueError: births has labels 1, 0: must be in order 0, 1, ..., or without labels: .to_numpy()
    """
    refuse_masked(name, value)
    for axis in range(np.ndim(value) if hasattr(value, "__array__") else 0):
        if (labels := labels_of(value, axis)) is not None:
            raise ValueError(f"{name} has labels {_listed(labels)}: must be in order 0, 1, ..., or {UNUSED}")


def refuse_other_orders(values: Mapping[str, Any]) -> None:
    """Raise ValueError for two arrays, by name, with the same labels in different orders: their entries are no pairs.

    Other labels are no statement on the order: those of a selection of rows beside 0, 1, 2, ... of a copy.

    >>> import pandas as pd
    >>> times, states = pd.Series([0.0, 1.0], index=[4, 9]), pd.Series(["up", "down"], index=[9, 4])
    >>> refuse_other_orders({"times": times, "states": states})
    Traceback (most recent call last):
    ...
    ValueError: states has the labels of times in another order: 9, 4: must be 4, 9, or without labels: .to_numpy()
    """
    indexed = [
        (name, labels, getattr(value, "dims", (None,))[0])  # arrays of xarray along different dimensions are no pairs
        for name, value in values.items()
        if (labels := _index_of(value, 0)) is not None
    ]
    for k, (name, labels, dimension) in enumerate(indexed):
        for first, expected, other_dimension in indexed[:k]:
            if dimension != other_dimension or labels == expected or len(labels) != len(expected):
                continue
            if set(labels) == set(expected):
                order = f"{_listed(labels)}: must be {_listed(expected)}, or {UNUSED}"
                raise ValueError(f"{name} has the labels of {first} in another order: {order}")


def label_order(name: str, labels: Sequence[Hashable], names: Sequence[Hashable]) -> list[int]:
    """Return the position of each name among the labels.

    Raises
    ------
    ValueError
        For labels that are not these names, each once.

    >>> label_order("Q", ["a", "b"], ["b", "a"])
    [1, 0]
    """
    position = {label: n for n, label in enumerate(labels)}
    if len(position) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{name}: the label {format_value(twice)} occurs twice")
    if len(labels) != len(names) or any(label not in position for label in names):
        raise ValueError(f"{name}: labels {_listed(labels)}: must be {_listed(names)} in any order, or {UNUSED}")
    return [position[label] for label in names]


def _listed(labels: Sequence[Hashable]) -> str:
    """Return the first labels for a message."""
    return ", ".join(map(format_value, labels[:4])) + (", ..." if len(labels) > 4 else "")
