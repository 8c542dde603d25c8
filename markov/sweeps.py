"""Chains over ranges of their parameters, for `hopflow.sweep`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hopflow.parameters import canonical_text
from hopflow.sweeps.grid import Row
from hopflow.sweeps.planning import row_of, sweep
from hopflow.units import quantities_of
from markov.chains import MarkovChain
from markov.computing.resources import InfiniteStatesError
from markov.driver import stationary
from markov.exploration import InfiniteChain
from markov.models.bare import NO_MEASURES, has_no_measures
from markov.models.rules import ChainModel
from markov.sensitivities.model_parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SETTINGS", "about", "rows", "sweep", "units", "validate", "variant"]

SETTINGS: Mapping[str, str | None] = {}


def units(thing: Any) -> dict[str, str | None]:
    """Return the unit of each parameter of a chain, or constant of a file, by name; None: it has no unit."""
    model = _model(thing)
    declared = quantities_of(type(model))
    return {name: declared.get(name) for name in parameters_of(model)}


def variant(thing: Any, **changes: Any) -> Any:
    """Return the model of a chain, a `ChainModel` or that of a file, with the parameters ``changes``."""
    model = _model(thing)
    return model.replace(**changes) if changes or _is_of_file(model) else model


def about(thing: Any) -> dict[str, str]:
    """Return rows that describe the model, by name."""
    model = _model(thing)
    notes = {"measures": NO_MEASURES} if has_no_measures(model) else {}
    return {"model": repr(model) if model.params is None else canonical_text(model), **notes}


def validate(things: Iterable[Any], points: object) -> dict[str, Any]:
    """Construct the model of every sweep point, which checks its parameters; return {}."""
    for _ in things:
        pass
    return {}


def rows(things: Sequence[Any], settings: object, options: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the stationary measures of each model as a data set; chains reuse structure of their predecessor."""
    chain: MarkovChain | None = None
    for thing in things:
        model = _model(thing)
        try:
            chain = thing.chain if _is_of_file(model) else MarkovChain(model, like=chain)
        except InfiniteStatesError:
            chain = None
        answer = stationary(thing if chain is None else chain, options["method"])
        for name in {"residual", "error_bound"}.intersection(answer.measures):
            raise ValueError(f"measure {name!r}: the sweep has a variable of this name; give the measure another name")
        measures = answer.measures.assign(
            residual=((), answer.residual, {"units": "1"}),
            error_bound=((), answer.error_bound, {"units": "1"}),
        )
        yield row_of(measures)


def _is_of_file(model: ChainModel) -> bool:
    """Return whether a model is that of a file, which has states in place of rules."""
    return model.rules is ChainModel.rules


def _model(thing: Any) -> ChainModel:
    """Return the model of ``thing``, a chain or a model; ValueError if the chain has none."""
    if isinstance(thing, (ChainModel, InfiniteChain)):  # which may have no `chain`
        return thing if isinstance(thing, ChainModel) else thing.model
    chain = getattr(thing, "chain", thing)
    model = chain.model if isinstance(chain, MarkovChain) else thing
    if not isinstance(model, ChainModel):
        message = "is a chain without rules, whose parameters could be swept; give its model"
        raise ValueError(f"thing = {thing!r}: {message}")  # noqa: TRY004
    return model
