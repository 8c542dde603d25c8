"""Closed forms of the catalogue as stored Python code, for numbers without SymPy.

``printed.json`` holds the code of each closed form, for each set of its symbols that may be arrays.
`responsefn.print_formulas` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hopflow.public_names import left_out
from responsefn.closed_forms.evaluation import Branch, Code, Statements

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["DERIVATIONS", "FILE", "PrintedFormula", "use_printed"]

FILE = Path(__file__).with_name("printed.json")
DERIVATIONS: dict[str, Callable[[], Formula]] = {}
"""Functions that derive the printed closed forms with SymPy, by the keys of the file."""


class PrintedFormula:
    """A `Formula` whose code is in the file; SymPy derives its expressions on first use."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._codes: dict[str, Code | None] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of protocols such as copying
            raise AttributeError(name)
        return getattr(self._formula, name)

    @cached_property
    def _formula(self) -> Formula:
        try:
            return DERIVATIONS[self._key]()
        except ImportError as error:
            raise left_out(error, "symbolic closed forms of responses") from None

    @property
    def everywhere(self) -> bool:
        """Whether the closed form holds for all loss event rates."""
        return self.code("condition") is None

    def code(self, name: str) -> Code | None:
        """Return an attribute as Python code, or None without one; see `Formula.code`."""
        if name not in self._codes:
            entry = _contents()[self._key][name]
            self._codes[name] = entry and self._load_code(name, entry)
        return self._codes[name]

    def bounds(self) -> tuple[bool, list[tuple[bool, Code]]] | None:
        """Return the bounds of p in the condition; see `printing.bounds_of`."""
        entry = _contents()[self._key]["bounds"]
        if entry is None:
            return None
        one_suffices, stored_bounds = entry
        return one_suffices, [(lower, self._load_code("bounds", end)) for lower, end in stored_bounds]

    def _load_code(self, name: str, entry: dict[str, Any]) -> Code:
        def branches(arrays: frozenset[str]) -> list[Branch]:
            key = " ".join(sorted(arrays))
            if key not in entry["branches"]:  # a parameter is an array
                return list(self._formula.code(name).branches(arrays))  # type: ignore[union-attr]
            return [
                (condition and Statements(*condition), Statements(*value))
                for condition, value in entry["branches"][key]
            ]

        def plain() -> Statements:
            return Statements(*entry["plain"])

        return Code(frozenset(entry["names"]), entry["is_condition"], branches, plain)


def use_printed(
    *arguments: tuple[Any, ...],
) -> Callable[[Callable[..., Formula]], Callable[..., Formula]]:
    """Return a decorator of a function that derives a closed form: its results come from the file.

    Parameters
    ----------
    *arguments
        Arguments of the function for which the file has the result. SymPy derives results for others.
    """

    def decorate(derive: Callable[..., Formula]) -> Callable[..., Formula]:
        keys = {
            argument_tuple: " ".join([derive.__name__.strip("_"), *map(str, argument_tuple)])
            for argument_tuple in arguments
        }
        for argument_tuple, key in keys.items():
            DERIVATIONS[key] = partial(derive, *argument_tuple)

        @cache
        def formula(*arguments: Any) -> Formula:
            if keys.get(arguments) in _contents():
                return cast("Formula", PrintedFormula(keys[arguments]))
            return derive(*arguments)

        return formula

    return decorate


@cache
def _contents() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(FILE.read_text(encoding="utf-8"))["formulas"])
