"""Small functions of `hopflow` for many arguments, good and bad: values and messages as recorded.

``python -m tests.hopflow.test_recorded_answers``, part of ``make generated``, writes the record after a change on purpose. What the values
should be is tested beside each module.
"""

from __future__ import annotations

import itertools
import math
import operator
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hopflow import checks, intervals, parameters, results, units
from tests.records import read_record, write_record

TEXTS = [
    *(f"{number}{unit}" for number in ("1", "2.5 ") for unit in (
        "s", "ms", "us", "µs", "ns", "min", "h", "b/s", "kb/s", "Mb/s", "gb/s", "Tbps", "Mbit/s", "MB/s", "packets/s",
        "pkt/s", "packets", "pkt", "B", "kB", "KB", "MB", "GB", "KiB", "MiB", "kb", "m", "km", "ft", "%", "",
    )),
    "0 s", "-1 ms", "nan s", "inf s", "1e999 s", "1,000 s", "1_000 s", "s", "", " ", "ms 4", "4 4 s", "1e-400 s", "٣ s", "0x10 B",
]  # fmt: skip
VALUES: list[Any] = [
    0, 1, 3, -2, 0.5, 2.0, -0.0, 1e-320, 1e300, math.inf, -math.inf, math.nan, True, None, "2", "4 ms", "x", b"1", 1j,
    [1.0, 2.0], [2.0, 1.0, 1.0], [], [[1.0], [2.0]], (1,), {"a": 1}, {1.0}, range(3), np.int64(7), np.float32(0.25), np.bool_(True),
    np.array(3.0), np.array([1, 2]), np.array([1.5, -1.0]), np.array(["a"]), np.arange(4.0).reshape(2, 2), 2**70, print, int,
]  # fmt: skip
BOUNDS: list[dict[str, Any]] = [
    {}, {"above": 0.0}, {"at_least": 1.0}, {"below": 2.0}, {"at_most": 1.0}, {"above": 0.0, "at_most": 2.0}, {"at_least": 0.5, "below": 3.0},
]  # fmt: skip
LABELLED = [pd.Series([1.0, 2.0], index=["a", "b"]), xr.DataArray([4.0, 8.0], dims="x", attrs={"units": "Mb/s"})]
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, min, max, divmod,
)  # fmt: skip


def questions() -> dict[str, Iterator[Callable[[], Any]]]:
    """Return, by name, functions without arguments whose outcomes are recorded."""
    dimensions = units.FORMS
    in_packets = [units.mbps(12.0), units.mbps(5.0, 500), units.in_units("buffer", "9 kB", "amount"), 2.0, 3]
    statuses = list(results.Status)
    several = [list(some) for n in (1, 2, 3) for some in itertools.product(statuses, repeat=n)][:60]
    compared = [
        *VALUES,
        np.array([1.0, 2.0]),
        [1.0, math.nan],
        np.array([math.nan]),
        {"a": [1]},
        {"b": 1},
        "2",
        *LABELLED,
    ]
    samples = [
        np.array(some, float) for some in ([1, 2, 4], [[1, 2], [3, 5], [4, 4]], [5.0], [[1.0, 2.0]], [1, math.nan, 2])
    ]
    return {
        "quantity": (
            lambda t=text, d=dimension, b=bare: units.quantity("it", t, d, 1000.0, bare=b)
            for text in TEXTS for dimension in dimensions for bare in (False, True)
        ),
        "in_units": (lambda v=v, d=d: units.in_units("it", v, d, 800.0) for v in VALUES for d in dimensions),
        "products": (
            lambda v=v: units.bandwidth_delay_products("it", v)
            for v in (*VALUES, "1BDP", "0.5 bdp", "2 BDPs", "-1BDP", "BDP", "1 x", "infBDP", "0BDP")
        ),
        "conversions": (
            lambda f=f, v=v, more=more: f(v, *more)
            for f, more in ((units.mbps, ()), (units.mbps, (500,)), (units.mbps, ("9 kB",)), (units.mbps, (0,)), (units.gbps, ()),
                            (units.to_mbps, ()), (units.to_mbps, (1000,)), (units.ms, ()), (units.us, ()))
            for v in (*VALUES, *in_packets, *LABELLED)
        ),
        "packets": (lambda f=f, a=a, b=b: f(a, b) for f in OPERATORS for a in in_packets for b in in_packets),
        "sizes": (
            lambda f=f, a=a: f(a)
            for f in (units.whole_packets, units.distinction, repr, hash, operator.neg, abs, round, lambda a: a.in_packets_of(750.0))
            for a in in_packets[:3]
        ),
        "readable": (
            lambda f=f, u=u, x=x: f(u, x)
            for f in (units.readable, lambda u, x: units.readable_text(x, u))
            for u in ("s", "bit/s", "bytes", "byte", "packets", "1")
            for x in (0.0, 1.0, 999.0, 1e3, 999.9996, 1.5e6, 2e9, 4e-4, 1e-12, -5.0, math.inf, math.nan)
        ),
        "number": (lambda v=v, b=b: checks.number("it", v, **b) for v in VALUES for b in BOUNDS),
        "one number": (lambda v=v, b=b: checks.one_number("it", v, **b) for v in (*VALUES, *LABELLED) for b in BOUNDS),
        "checks": (
            lambda f=f, v=v: f(v)
            for f in (
                lambda v: checks.seconds("it", v), lambda v: checks.seconds("it", v, longest=1.0),
                lambda v: checks.ascending("it", v), lambda v: checks.integer("it", v, 1, 5),
                lambda v: checks.integer("it", v, 0, 10**9, why="it counts"), checks.is_endless, checks.unwrap_scalar,
                checks.plain_number, checks.dimensions, lambda v: checks.choice("it", v, ("one", "two", 3)),
                lambda v: checks.format_choices(v, ("one", "two", "three")), lambda v: checks.flag("it", v),
                lambda v: checks.instance("it", v, int), lambda v: checks.instance("it", v, (str, list), "like this"),
                lambda v: checks.instances("it", v, float), lambda v: checks.instances("it", v, int, "like that"),
                lambda v: type(checks.random_generator("it", v)).__name__, lambda v: checks.seed_number("it", v),
                lambda v: checks.seed_number("it", v, minimum=2, maximum=3), lambda v: checks.check_limit("it", v),
                lambda v: checks.check_limit("it", v, "try less"), lambda v: str(checks.file_path("it", v)), checks.format_value,
                lambda v: checks.count_of(v, "flow"), lambda v: checks.count_of(v, "loss", "losses"), parameters.canonical_text,
            )
            for v in VALUES
        ),
        "statuses": (lambda f=f, s=s: f(s) for f in (results.worst, results.of_several) for s in (*several, [])),
        "equality": (lambda a=a, b=b: results.same(a, b) for a in compared for b in compared),
        "labels": (
            lambda n=n, r=r: results.distinct_labels(n, r)
            for n in (["a", "b"], ["a", "a"], ["a", "a", "a_2"], [], ["x", "y", "x"]) for r in ({}, {"a": 1}, {"x": 0, "a": 2})
        ),
        "tables": (
            lambda f=f, rows=rows: f(rows)
            for f in (
                lambda rows: results.table_html("A <b>", rows), lambda rows: results.table_html("A", rows, ("one",)),
                lambda rows: results.table_text("A", rows),
                lambda rows: results.grid_html("A & B", list(rows), [list(rows.values()), [1] * len(rows)]),
            )
            for rows in ({}, {"one": 1.0}, {"one": "<2>", "a longer one": None, "n": 12345678.9})
        ),
        "intervals": (
            lambda name=name, s=s: getattr(intervals, name)(s)
            for name in intervals.__all__ if name != "clopper_pearson"  # which takes counts
            for s in samples
        ),
    }  # fmt: skip


def shown(value: Any) -> str:
    """Return a text with the digits that all machines share."""
    if isinstance(value, (float, np.floating)):
        return f"{type(value).__name__} {value:.9g}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    if isinstance(value, np.ndarray):
        return f"{type(value).__name__} {value.shape} [{', '.join(map(shown, value.ravel().tolist()))}]"
    if isinstance(value, (pd.Series, xr.DataArray)):
        return f"{type(value).__name__} {getattr(value, 'attrs', {})} {shown(np.asarray(value))}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return str(value)


def outcome(question: Callable[[], Any]) -> str:
    """Return what a question answers, with its warnings, or how it is refused; of other packages' errors the type."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            found = shown(question())
        except Exception as error:  # noqa: BLE001
            folders = Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts[-4:]
            ours = "hopflow" in folders or "responsefn" in folders
            found = f"{type(error).__name__}: {error if ours else ''}"
    return " | ".join((found, *(str(warning.message) for warning in caught)))


@pytest.mark.parametrize("name", questions())
def test_outcomes_are_as_recorded(name: str) -> None:
    found = [outcome(question) for question in questions()[name]]
    assert found == read_record(__file__)[name]


if __name__ == "__main__":
    record = {name: [outcome(question) for question in several] for name, several in questions().items()}
    write_record(__file__, record)
