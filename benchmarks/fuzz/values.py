"""Values for a fuzz: hostile ones, and equivalents of a valid one."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

HOSTILE: dict[str, Callable[[], Any]] = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "-1": lambda: -1,
    "-0.5": lambda: -0.5,
    "0": lambda: 0,
    "0.5": lambda: 0.5,
    "7.25": lambda: 7.25,
    "3": lambda: 3,
    "1e300": lambda: 1e300,
    "1e-300": lambda: 1e-300,
    "10**12": lambda: 10**12,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "True": lambda: True,
    "None": lambda: None,
    "text": lambda: "text",
    "''": lambda: "",
    "'5 parsecs'": lambda: "5 parsecs",
    "'40ms'": lambda: "40ms",
    "'1Gbps'": lambda: "1Gbps",
    "b'x'": lambda: b"x",
    "[]": list,
    "()": lambda: (),
    "{}": dict,
    "ragged": lambda: [1.0, [2.0, 3.0]],
    "[nan]": lambda: [float("nan")],
    "[1, -1]": lambda: [1.0, -1.0],
    "range(3)": lambda: range(3),
    "generator": lambda: (n for n in (1.0, 2.0)),
    "set": lambda: {1.0, 2.0},
    "empty array": lambda: np.array([]),
    "array of nan": lambda: np.full(3, np.nan),
    "array of inf": lambda: np.full((2, 2), np.inf),
    "zeros (2, 3, 4)": lambda: np.zeros((2, 3, 4)),
    "array of texts": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([object(), None]),
    "array of booleans": lambda: np.array([True, False]),
    "complex": lambda: 1j,
    "complex array": lambda: np.array([1.0, 2j]),
    "date": lambda: dt.date(2020, 1, 1),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "Decimal": lambda: decimal.Decimal("0.5"),
    "Decimal nan": lambda: decimal.Decimal("nan"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "object": object,
    "type": lambda: int,
    "function": lambda: abs,
    "lambda": lambda: lambda *_: None,
    "module": lambda: np,
    "DataFrame": lambda: pd.DataFrame({"a": [1.0, np.nan]}),
    "NaT": lambda: pd.NaT,
    "pandas NA": lambda: pd.NA,
}
"""Makers of values that most parameters must refuse, by name."""

LABELLED = "labelled Series"
"""An equivalent that may also be refused for its labels, see `hopflow.labels`."""
NEVER = {
    "nan", "[nan]", "array of nan", "b'x'", "ragged", "array of objects", "complex", "complex array",
    "date", "datetime64", "Decimal nan", "object", "module", "NaT", "pandas NA", "array of texts",
}  # fmt: skip
"""Values that no parameter with a number, or numbers, may take."""


def equivalents(value: Any) -> dict[str, Any]:
    """Return the same value in other types and containers, by name."""
    if isinstance(value, bool):
        return {"np.bool_": np.bool_(value)}
    if isinstance(value, (int, float)):
        same: dict[str, Any] = {
            "np.float64": np.float64(value),
            "array of shape ()": np.array(value),
        }
        if isinstance(value, int) and abs(value) < 2**31:
            same |= {"np.int64": np.int64(value), "np.int32": np.int32(value)}
            same |= {"float": float(value)}
        if float(np.float32(value)) == value:
            same |= {"np.float32": np.float32(value), "jax": _jax(value)}
        return same
    if isinstance(value, (list, tuple, np.ndarray)) and _numbers(value):
        array = np.array(value, dtype=float)
        frozen = array.copy()
        frozen.flags.writeable = False
        same = {
            "list": array.tolist(),
            "tuple": _tuples(array.tolist()),
            "array": array,
            "read-only": frozen,
            "Fortran": np.asfortranarray(array),
            "strided": np.repeat(array, 2, axis=-1)[..., ::2],
            "big-endian": array.astype(">f8"),
        }
        if np.array_equal(array.astype(np.float32), array):
            same |= {"float32": array.astype(np.float32), "jax": _jax(array)}
        if array.ndim == 1:
            same |= {"Series": pd.Series(array), LABELLED: pd.Series(array, index=range(5, 5 + len(array)))}
        if array.ndim == 2:
            same |= {"DataFrame": pd.DataFrame(array)}
        return same
    return {}


def _jax(value: Any) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(value, dtype=jnp.float32)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _numbers(value: Any) -> bool:
    try:
        array = np.array(value)
    except ValueError:
        return False
    return array.dtype.kind in "iuf" and array.size > 0
