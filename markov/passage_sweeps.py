"""Passages over ranges of the parameters of their chain, for `hopflow.sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from hopflow.sweeps.grid import Row
from hopflow.sweeps.planning import row_of
from markov import sweeps as chains
from markov.time.passages import Question

if TYPE_CHECKING:
    from markov.time.passages import Passage

__all__ = ["SETTINGS", "about", "rows", "units", "validate", "variant"]

SETTINGS = chains.SETTINGS


def units(thing: Passage) -> dict[str, str | None]:
    """Return the dimensions of the parameters of the chain by name; None: it has no unit."""
    return chains.units(thing.asked().model)


def variant(thing: Passage, **changes: Any) -> Question:
    """Return the question about the model with other parameters."""
    return thing.asked()._replace(model=chains.variant(thing.asked().model, **changes))


def about(thing: Passage) -> dict[str, str]:
    """Return the model in words."""
    return chains.about(thing.asked().model)


def validate(things: Iterable[Question], points: object) -> dict[str, Any]:
    """Construct every model, which checks its parameters."""
    return chains.validate(things, points)


def rows(things: Sequence[Question], settings: object, options: Mapping[str, Any]) -> Iterator[Row]:
    """Yield probability and mean of passages, with the bounds on their errors."""
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
