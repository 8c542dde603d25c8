"""The discrete stochastic models test suite: SBML, means and standard deviations at 51 times."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.outside.rows import Question
from markov import transient
from markov.files import read_sbml

DEVIATIONS, SPARE = 25.0, 20
"""A limit is so many standard deviations above the largest mean, and so many molecules."""


def questions(suites: Path) -> Iterator[Question]:
    """Yield a question for each mean and standard deviation: how far are all its values from ours?

    The value asked for is the largest difference beyond a unit of the last digit that the suite prints.
    """
    for folder in sorted((suites / "dsmts" / "cases" / "stochastic").iterdir()):
        results = folder / f"{folder.name}-results.csv"
        if not any(folder.glob("dsmts-*.mod")):  # cases of other origin, with random parameters
            continue
        for column in pd.read_csv(results, nrows=0).columns[1:]:
            yield _question(folder, results, column)


def _question(folder: Path, results: Path, column: str) -> Question:
    def ask() -> tuple[Any, float]:
        wanted, digits = _wanted(results)
        names = tuple(name for name in (c.rpartition("-")[0] for c in wanted.columns) if name and name != "time")
        species, _, quantity = column.rpartition("-")
        if quantity not in ("mean", "sd"):
            raise ValueError(f"{column}: neither a mean nor a standard deviation")
        limits = tuple((name, _limit(wanted, name)) for name in dict.fromkeys(names))
        found, bound = _answers(folder, limits, tuple(wanted["time"]))
        mean, variance, largest = found[species]
        ours = mean if quantity == "mean" else np.sqrt(variance)
        beyond = np.abs(ours - wanted[column].to_numpy()) - digits[column].to_numpy()
        error = bound * (largest if quantity == "mean" else math.sqrt(largest))
        return float(max(beyond.max(), 0.0)), error

    query = f"{column}, all times"
    return Question("dsmts", folder.name, "", query, Fraction(0), Fraction(0), None, ask, exact=True)


def _limit(wanted: pd.DataFrame, name: str) -> int:
    mean, sd = wanted.get(f"{name}-mean"), wanted.get(f"{name}-sd")
    if mean is None or sd is None:
        raise ValueError(f"{name}: without a mean or a standard deviation")
    return math.ceil(float((mean + DEVIATIONS * sd).max())) + SPARE


@lru_cache(maxsize=2)
def _wanted(results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the suite's values, and the unit of the last digit that each is printed with.

    By the most decimals and the most significant digits of any value in its column, without zeros at
    the end: some files leave them out, others add them. Before an event and from it on apart: 00028 has
    values of 7 digits before it and of 12 after.
    """
    frame, texts = pd.read_csv(results), pd.read_csv(results, dtype=str)
    ends = [0, *np.searchsorted(frame["time"], _event_times(results)).tolist(), len(frame)]
    parts = itertools.pairwise(ends)
    units = [_units(frame[low:high], texts[low:high]) for low, high in parts if low < high]
    return frame, pd.concat(units)


def _event_times(results: Path) -> list[float]:
    """Return the times of a model's events, as its shorthand file (``@events``) has them."""
    shorthand = next(results.parent.glob("dsmts-*.mod")).read_text(encoding="utf-8")
    return sorted(float(time) for time in re.findall(r"=\s*t>=([0-9.]+)\s*:", shorthand))


def _units(frame: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    digits = {}
    for name in frame.columns[1:]:
        words = [w.rstrip("0") if "." in w else w for w in texts[name].str.strip()]
        decimals = max(len(word.partition(".")[2]) for word in words)
        significant = max(len(word.replace(".", "").lstrip("0")) for word in words)
        sizes = np.floor(np.log10(np.maximum(frame[name].abs(), 1e-300))) + 1.0
        digits[name] = 10.0 ** np.maximum(sizes - significant, -decimals)
        if name.endswith("-sd"):
            digits[name] = np.maximum(digits[name], _of_rounded_variance(frame[name].to_numpy()))
    return pd.DataFrame(digits)


def _of_rounded_variance(sd: Any) -> Any:
    """Return what a unit of the sixth digit of a variance is of its root.

    Standard deviations of ten digits in the suite are roots of variances of six or seven: in 00021 at t = 1
    the exact variance is 9.516258 (Poisson), and the suite's 3.084843594 is the root of 9.51626.
    """
    variance = np.maximum(sd**2, 1e-300)
    unit = 10.0 ** (np.floor(np.log10(variance)) + 1.0 - 6.0)
    return np.where(sd > 0.0, unit / (2.0 * np.maximum(sd, 1e-150)), 0.0)


@lru_cache(maxsize=2)
def _answers(
    folder: Path, limits: tuple[tuple[str, int], ...], times: tuple[float, ...]
) -> tuple[dict[str, tuple[Any, Any, float]], float]:
    """Return mean and variance of each species with its largest value, and a bound in TV."""
    path = folder / f"{folder.name}-sbml-l3v1.xml"
    if not path.exists():
        raise ValueError("no file of level 3 version 1")
    model = _read(path, dict(limits))
    found = transient(model, np.array(times))
    states = found.chain.states
    outside = found.pi @ np.asarray(states.outside, dtype=float)
    moments: dict[str, tuple[Any, Any, float]] = {}
    for name, _ in limits:
        values = np.asarray(_values(found, states, name), dtype=float)
        most = float(np.abs(values).max())
        mean = found.pi @ values
        variance = [p @ (values - m) ** 2 for p, m in zip(found.pi, mean, strict=True)]
        moments[name] = mean, np.array(variance), most
    return moments, float(found.error_bound.max() + outside.max())


def _read(path: Path, limits: dict[str, int]) -> Any:
    """Read with the limits of those species that reactions change: others are refused by name."""
    while True:
        try:
            return read_sbml(path, limits=limits)
        except ValueError as error:
            name = next((n for n in limits if f"limits: {n!r} is no species" in str(error)), None)
            if name is None:
                raise
            limits = {n: limit for n, limit in limits.items() if n != name}


def _values(found: Any, states: Any, name: str) -> Any:
    """Return the number of a species in each state, of a rule's variable its value, or a constant."""
    if name in states._fields:
        return getattr(states, name)
    model = found.chain.model
    rewards = model.rewards(states)
    if name in rewards:
        return rewards[name]
    return np.full(found.chain.size, model.source.program.constants[name].value.value)
