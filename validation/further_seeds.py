"""Runs of hopflow's packet level over seeds: a few are made when a claim is checked, further ones are bundled.

A function of one seed, decorated with `over_seeds`, becomes a function that returns what it measures for all of them. Where the
seeds of a check left a statement open, the case `CASE` has further ones. Their number was fixed before they were run.

``python -m validation.further_seeds FUNCTION ARGUMENTS FIRST LAST`` prints what the seeds from FIRST to LAST measure.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from validation import evidence
from validation.keeping import kept

__all__ = ["CASE", "OverSeeds", "lines", "named", "over_seeds"]

CASE = "packets/further-seeds"
"""The bundled runs."""
CLAIMS = "validation.claims."
"""Where the functions are; their names are relative to it."""


class OverSeeds(Protocol):
    """A function that measures something for each of its seeds, and for those that are bundled."""

    seeds: tuple[int, ...]
    measure: Callable[..., Any]

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return what the function measures, a list over the seeds."""


def over_seeds(seeds: Sequence[int]) -> Callable[[Callable[..., Any]], OverSeeds]:
    """Make a function of a seed, and of literals, one that measures all seeds.

    The function below returns a number, or nested lists or tuples of numbers, of the same shape for each seed. Its first
    parameter is the seed; the others are numbers, strings and tuples of these; named tuples become plain ones.

    Parameters
    ----------
    seeds
        Those that are run when the function is called, and kept (`validation.keeping.kept`).

    Examples
    --------
    >>> from validation.further_seeds import over_seeds
    >>> @over_seeds((1, 2))
    ... def doubled(seed, plus=0):
    ...     return 2 * seed + plus
    >>> doubled(5), doubled.measure(7)
    ([7, 9], 14)
    """

    def decorate(measure: Callable[..., Any]) -> OverSeeds:
        @functools.wraps(measure)
        def made(*arguments: Any) -> list[Any]:
            return [measure(seed, *arguments) for seed in seeds]

        parameters = list(inspect.signature(measure).parameters.values())[1:]
        signature = inspect.Signature(parameters)
        vars(made)["__signature__"] = signature
        live = kept(made)

        @functools.wraps(made)
        def call(*given: Any) -> list[Any]:
            bound = signature.bind(*given)
            bound.apply_defaults()
            arguments: tuple[Any, ...] = _plain(bound.args)
            found = live(*arguments)
            further = _bundled(_name(measure), repr(arguments))
            return [*found, *(_shaped(found[0], iter(numbers)) for numbers in further)]

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
    return found  # type: ignore[no-any-return]


def lines(function: str, arguments: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield seed, number and value of what a function measures, separated by commas."""
    measure = named(function).measure
    for seed in seeds:
        for number, value in enumerate(_flat(measure(seed, *ast.literal_eval(arguments)))):
            yield f"{seed},{number},{value:.10g}"


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__.removeprefix(CLAIMS)}.{function.__qualname__}"


def _bundled(function: str, arguments: str) -> list[list[float]]:
    """Return the numbers of the bundled seeds of a function, in the order of the seeds."""
    if CASE not in evidence.cases():
        return []
    table = evidence.table(CASE)
    own = table[(table["function"] == function) & (table["arguments"] == arguments)]
    return [runs["value"].tolist() for _, runs in own.sort_values("number").groupby("seed")]


def _plain(value: Any) -> Any:
    """Return named tuples within a value as tuples."""
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


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
    function, arguments, first, last = sys.argv[1:]
    sys.stdout.write("\n".join(lines(function, arguments, range(int(first), int(last) + 1))) + "\n")
