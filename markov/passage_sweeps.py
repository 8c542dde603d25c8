"""Passages over ranges of the parameters of their chain, for `hopflow.sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from hopflow.sweeps.grid import Row
from hopflow.sweeps.planning import row_of
from markov import sweeps as chains
from markov.time.passage_results import Question

if TYPE_CHECKING:
    from markov.time.passage_results import Passage

__all__ = ["SETTINGS", "about", "rows", "units", "validate", "variant"]

SETTINGS = chains.SETTINGS


def units(thing: Passage) -> dict[str, str | None]:
    """Return the unit of each parameter of the passage's chain by name; None: it has no unit."""
    return chains.units(thing.asked().model)


def variant(thing: Passage, **changes: Any) -> Question:
    """Return the arguments of the same passage for a chain with the parameters ``changes``."""
    return thing.asked()._replace(model=chains.variant(thing.asked().model, **changes))


def about(thing: Passage) -> dict[str, str]:
    """Return a row that describes the model, by name."""
    return chains.about(thing.asked().model)


def validate(things: Iterable[Question], points: object) -> dict[str, Any]:
    """Construct the model of every sweep point, which checks its parameters; return {}."""
    return chains.validate(things, points)


def rows(things: Sequence[Question], settings: object, options: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a data set per passage: probability and mean time to enter the set, with error bounds."""
    for question in things:
        answer = question.again(question.model)
        yield row_of(
            xr.Dataset(
                {
                    "probability": ((), answer.probability, {"units": "1"}),
                    "probability_error": ((), answer.probability_error, {"units": "1"}),
                    "mean": ((), answer.mean, {"units": "s"}),
                    "mean_error": ((), answer.mean_error, {"units": "s"}),
                }
            )
        )
