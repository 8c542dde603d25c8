"""Runs of hopflow's packet level over seeds, bundled in the cases `CASE` and `LATER`.

A function of one seed, decorated with `over_seeds`, becomes a function that returns what it measures for all of them. When a claim is
checked, the first seed is run: where it gives what is bundled, the other runs are taken from there. Where it differs, all seeds are run.

``python -m validation.networks.further_seeds FUNCTION FIRST LAST ARGUMENTS ...`` prints what the seeds from FIRST to LAST measure, of each
of several arguments.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np

from validation import evidence
from validation.judgements.keeping import kept

__all__ = ["CASE", "LATER", "OverSeeds", "lines", "named", "over_seeds", "plain"]

CASE = "packets/seeds"
"""The bundled runs."""
LATER = "packets/later-seeds"
"""Those of the windows and sizes with which statements on fabrics were corrected."""
CLAIMS = "validation.claims."
"""Where the functions are; their names are relative to it."""


class OverSeeds(Protocol):
    """A function that measures something for each of its seeds, and for those that are bundled."""

    seeds: tuple[int, ...]
    measure: Callable[..., Any]

    def __call__(self, *arguments: Any, base: Sequence[int] = ()) -> list[Any]:
        """Return what the function measures, a list over the seeds; ``base``: those to run where none are bundled."""


def over_seeds(seeds: Sequence[int]) -> Callable[[Callable[..., Any]], OverSeeds]:
    """Make a function of a seed, and of literals, one that measures all seeds.

    The function below returns a number, or nested lists or tuples of numbers, whose shape follows from how many numbers there are. Its
    first parameter is the seed; the others are numbers, strings and tuples of these; named tuples become plain ones.

    Parameters
    ----------
    seeds
        Those that are run where none are bundled. Each run is kept (`validation.judgements.keeping.kept`).

    Examples
    --------
    >>> from validation.networks.further_seeds import over_seeds
    >>> @over_seeds((1, 2))
    ... def doubled(seed, plus=0):
    ...     return 2 * seed + plus
    >>> doubled(5), doubled.measure(7)
    ([7, 9], 14)
    """

    def decorate(measure: Callable[..., Any]) -> OverSeeds:
        signature, one = inspect.signature(measure), kept(measure)

        @functools.wraps(measure)
        def call(*given: Any, base: Sequence[int] = ()) -> list[Any]:
            bound = signature.bind(seeds[0], *given)
            bound.apply_defaults()
            arguments: tuple[Any, ...] = plain(bound.args[1:])
            bundled = _bundled(_name(measure), repr(arguments))
            first = one(seeds[0], *arguments)
            if _equal(list(_flat(first)), bundled.get(seeds[0], [])):
                return [_shaped(first, iter(numbers)) for numbers in bundled.values()]
            return [one(seed, *arguments) for seed in bundled or base or seeds]

        vars(call).update(seeds=tuple(seeds), measure=measure)
        return call  # type: ignore[return-value]

    return decorate


def named(function: str) -> OverSeeds:
    """Return a function by its name, ``paper.module.function``.

    Raises
    ------
    ValueError
        When it is not decorated with `over_seeds`.
    """
    module, _, name = function.rpartition(".")
    found = getattr(importlib.import_module(f"{CLAIMS}{module}"), name, None)
    if not hasattr(found, "measure"):
        raise ValueError(f"function = {function!r}: must be one that measures seeds")
    return cast("OverSeeds", found)


def lines(function: str, arguments: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield seed, number and value of what a function measures, separated by commas."""
    measure = named(function).measure
    for seed in seeds:
        for number, value in enumerate(_flat(measure(seed, *ast.literal_eval(arguments)))):
            yield f"{seed},{number},{value!r}"


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__.removeprefix(CLAIMS)}.{function.__qualname__}"


def _bundled(function: str, arguments: str) -> dict[int, list[float]]:
    """Return the numbers of the bundled seeds of a function, in the order of the seeds."""
    tables = (_runs_of(case, evidence.current_change()) for case in (CASE, LATER) if case in evidence.cases())
    return next((runs[function, arguments] for runs in tables if (function, arguments) in runs), {})


@functools.lru_cache(4)
def _runs_of(case: str, change: evidence.Change | None) -> dict[tuple[str, str], dict[int, list[float]]]:  # noqa: ARG001 - a part of the key
    """Return the numbers of each seed of a case by function and arguments, read once for all settings."""
    table = evidence.frame(case).sort_values(["seed", "number"])
    runs: dict[tuple[str, str], dict[int, list[float]]] = {}
    columns = (table[name].tolist() for name in ("function", "arguments", "seed", "value"))
    for function, arguments, seed, value in zip(*columns, strict=True):
        runs.setdefault((function, arguments), {}).setdefault(seed, []).append(value)
    return runs


def _equal(one: list[float], other: list[float]) -> bool:
    """Return whether the numbers of a run are those of another to nine digits."""
    return len(one) == len(other) and bool(np.allclose(one, other, 1e-9, 0.0, equal_nan=True))


def plain(value: Any) -> Any:
    """Return named tuples within a value as tuples."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def _flat(found: Any) -> Iterator[float]:
    """Yield the numbers of nested sequences."""
    if isinstance(found, (list, tuple)):
        for each in found:
            yield from _flat(each)
    else:
        yield float(found)


def _shaped(like: Any, numbers: Iterator[float]) -> Any:
    """Return numbers nested as another result."""
    if isinstance(like, (list, tuple)):
        parts = [_shaped(each, numbers) for each in like]
        return type(like)(*parts) if hasattr(like, "_fields") else parts
    return next(numbers)


if __name__ == "__main__":
    function, *words = sys.argv[1:]
    for place, (first, last, arguments) in enumerate(zip(words[::3], words[1::3], words[2::3], strict=True)):
        for line in lines(function, arguments, range(int(first), int(last) + 1)):
            sys.stdout.write(f"{place},{line}\n")
