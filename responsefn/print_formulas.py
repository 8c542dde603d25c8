"""Print the closed forms of the catalogue as Python code, for installations without SymPy.

Run ``python -m responsefn.print_formulas`` after changing a formula or the printer.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import chain, combinations
from typing import Any

import sympy as sp

from hopflow.whole_files import replacing
from responsefn import catalogue
from responsefn.closed_forms.printed import DERIVATIONS, FILE, Code
from responsefn.closed_forms.symbolic import Formula

__all__ = ["generate_json"]

VARIABLES = {"p", "R", "T", "t_RTO"}
"""Symbols that may be arrays: the arguments of responses, and a timeout that follows from the round-trip time."""
ATTRIBUTES = ("rate", "mean_window", "peak_window", "inverse", "condition", "log_slope")
SCALARS = ("exponent", "step", "decrease_factor")
COMPILED = ("rate", "conditional_rate")
"""Attributes that kernels evaluate for plain numbers (`compiled_laws`)."""


def generate_json() -> str:
    """Return the contents of ``printed.json``."""
    for kind in ("rule", "law"):
        catalogue(kind)  # imports the modules that fill DERIVATIONS
    formulas = {key: _formula(derive()) for key, derive in sorted(DERIVATIONS.items())}
    return json.dumps({"sympy": sp.__version__, "formulas": formulas}, indent=0) + "\n"


def _formula(formula: Formula) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for name in (*ATTRIBUTES, *SCALARS, *COMPILED[1:]):
        code = formula.code(name)
        entry[name] = code and _code(code, VARIABLES if name in ATTRIBUTES else set(), name in COMPILED)
    return entry


def _code(code: Code, variables: Collection[str] = (), plain: bool = False) -> dict[str, Any]:
    varying = sorted(code.names.intersection(variables))
    sets = chain.from_iterable(combinations(varying, n) for n in range(len(varying) + 1))
    return {
        "names": sorted(code.names),
        "is_condition": code.is_condition,
        "branches": {" ".join(arrays): code.branches(frozenset(arrays)) for arrays in sets},
        "plain": code.plain() if plain else None,
    }


if __name__ == "__main__":
    with replacing(FILE) as scratch:
        scratch.write_text(generate_json(), encoding="utf-8")
