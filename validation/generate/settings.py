"""What papers leave open, as columns and parameters of the cases that try settings of it."""

from __future__ import annotations

from collections.abc import Sequence

from validation.generate.cases import Column
from validation.inference.parameters import Open

SETTING = {"setting": Column("1", "number of the setting in the Sobol sequence, from 1")}


def setting_columns(design: Sequence[Open]) -> dict[str, Column]:
    """Return the columns of what is chosen in a setting."""
    return {each.name: Column(each.unit, each.meaning) for each in design}


def setting_parameters(design: Sequence[Open], seed: int | None = None) -> dict[str, tuple[object, str]]:
    """Return the span of each parameter, with its unit and meaning, and the seed of a Sobol sequence."""
    found: dict[str, tuple[object, str]] = {
        each.name: (each.span, f"{each.unit} ({each.meaning})".strip()) for each in design
    }
    return found if seed is None else {**found, "seed of the Sobol sequence": (seed, "")}
