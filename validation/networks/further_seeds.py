"""Runs of hopflow's packet level over seeds, bundled in the cases `CASE` and `LATER`.

A function of one seed, decorated with `over_seeds`, becomes a function that returns what it measures for all of them. When a claim is
checked, the first seed of every `STEP`-th bundled setting of the function is run: where all give what is bundled, the other runs are taken
from there. Otherwise the first seed of the setting itself is run, and all of its seeds where that differs. A slow test runs a seed of each setting.

``python -m validation.networks.further_seeds FUNCTION FIRST LAST ARGUMENTS ...`` prints what the seeds from FIRST to LAST measure, of each
of several arguments.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from validation import evidence
from validation.judgements.keeping import kept

__all__ = ["CASE", "LATER", "OverSeeds", "lines", "named", "over_seeds", "plain"]

CASE = "packets/seeds"
"""The bundled runs."""
LATER = "packets/later-seeds"
"""Those of the windows and sizes with which statements on fabrics were corrected."""
STEP = 8
"""Settings of a function of which one is run again: those of all functions would take a sixth of the time of all claims."""
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
            templates = _templates(_name(measure), evidence.current_change())
            if bundled and (template := templates.get(len(bundled.get(seeds[0], [])))) is not None:
                return [_shaped(template, iter(numbers)) for numbers in bundled.values()]
            first = one(seeds[0], *arguments)
            if _equal(list(_flat(first)), bundled.get(seeds[0], [])):
                return [_shaped(first, iter(numbers)) for numbers in bundled.values()]
            return [one(seed, *arguments) for seed in bundled or base or seeds]

        vars(call).update(seeds=tuple(seeds), measure=measure, of_seed=one)
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


def _settings_of_cases() -> Iterator[Mapping[tuple[Any, ...], Any]]:
    """Yield the rows of each case with bundled runs, by function and arguments."""
    return (evidence.grouped(case, "function", "arguments") for case in (CASE, LATER) if case in evidence.cases())


def _bundled(function: str, arguments: str) -> dict[int, list[float]]:
    """Return the numbers of the bundled seeds of a function, in the order of the seeds."""
    own = next((runs[function, arguments] for runs in _settings_of_cases() if (function, arguments) in runs), None)
    if own is None:
        return {}
    values = own.sort_values("number").groupby("seed")["value"]
    return {int(str(seed)): numbers.tolist() for seed, numbers in values}


@functools.lru_cache(64)
def _templates(function: str, change: evidence.Change | None) -> dict[int, Any]:  # noqa: ARG001 (tables depend on it)
    """Run every `STEP`-th bundled setting of a function and return the results by how many numbers they have; none if one is not as bundled."""
    bundled = itertools.chain.from_iterable(_settings_of_cases())
    settings = sorted({str(arguments) for name, arguments in bundled if name == function})
    templates = {}
    for arguments in settings[::STEP]:
        measure = named(function)
        first = vars(measure)["of_seed"](measure.seeds[0], *ast.literal_eval(arguments))
        numbers = list(_flat(first))
        if not _equal(numbers, _bundled(function, arguments).get(measure.seeds[0], [])):
            return {}
        templates[len(numbers)] = first
    return templates


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
