"""Default parameters of the pause models against the numbers of malhotra2005."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markov import PauseChain, PauseTandem
from tests.default_constants import check_row, check_sources, names, rows
from tests.surface import for_each

TABLE = Path(__file__).with_name("default_constants.csv")


def defaults() -> dict[str, Any]:
    """Return the default parameters of both models, by name."""
    return {
        f"{model.__name__}.{field}": value
        for model in (PauseTandem, PauseChain)
        for field, value in model.Params._field_defaults.items()
    }


def test_every_default_has_a_row_and_every_row_a_source() -> None:
    assert set(defaults()) == names(TABLE)
    check_sources(TABLE)


@for_each(rows(TABLE))
def test_a_default_is_that_of_its_source(row: dict[str, str]) -> None:
    check_row(row, defaults())
