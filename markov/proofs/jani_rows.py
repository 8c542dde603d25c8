"""Derive the transitions of a JANI model for a list of states, in exact arithmetic, with the standard library alone.

The subset: ``ctmc``; constants; variables of bounded whole numbers and truth values, of the model and of automata;
automata with one initial location, whose edges have rates and probabilities; composition by synchronisation vectors.
Transient variables and properties are skipped. All else is refused by name.
"""

from __future__ import annotations

import json
import operator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError
from markov.proofs.model_rows import Command, ModelRows, State
from markov.proofs.prism_expressions import always, power, remainder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Expression = Callable[[State], Any]

__all__ = ["JaniRows"]

LONGEST = 400  # digits and powers of ten of a number
FEATURES = {"derived-operators", "state-exit-rewards", "functions"}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda a, b: Fraction(a) / b, "%": remainder,
    "pow": power, "min": min, "max": max, "=": operator.eq, "≠": operator.ne, "<": operator.lt, "≤": operator.le,
    ">": operator.gt, "≥": operator.ge,
}  # fmt: skip
ROUNDINGS: dict[str, Callable[[Any], Any]] = {"floor": floor, "ceil": ceil}


class JaniRows(ModelRows):
    """The transitions that a JANI file gives for listed states: a `Source` of rows, with the parameters of `ModelRows`."""

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, constants)
        self._known: dict[str, Any] = {}
        self._transient: set[str] = set()
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            self._read(json.loads(text, parse_float=_number, object_pairs_hook=_object))
        except (OSError, UnicodeError, ArithmeticError, ValueError, RecursionError) as error:
            said = str(error) if isinstance(error, CertificateError) else f"{self.name}: {error}"
            raise CertificateError(said) from None
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise CertificateError(f"{self.name}: is no JANI model: {error!r}") from None
        self.check_given(self._known)

    def _refuse(self, reason: str) -> CertificateError:
        return CertificateError(f"{self.name}: {reason}")

    def _read(self, model: Any) -> None:
        if model["type"] != "ctmc":
            raise self._refuse(f"type {model['type']!r}: must be 'ctmc'")
        unread = set(model.get("features", [])) - FEATURES
        if unread or model.get("functions"):
            raise self._refuse(f"{', '.join(sorted(unread)) or 'functions'}: not read")
        if model.get("restrict-initial", {}).get("exp", True) is not True:
            raise self._refuse("restrict-initial: not read")
        self._actions = {action["name"] for action in model.get("actions", [])}
        for constant in model.get("constants", []):
            name = constant["name"]
            if name not in self.given and "value" not in constant:
                raise self._refuse(f"the constant {name} needs a value")
            given = always(self.given.get(name))
            value = given if name in self.given else self._expression(constant["value"])
            self._known[name] = value({})
        for variable in model.get("variables", []):
            self._variable(variable)
        places = {}
        for automaton in model["automata"]:
            places[automaton["name"]] = len(self.modules)
            self._automaton(automaton)
        elements = [element["automaton"] for element in model["system"]["elements"]]
        if sorted(elements) != sorted(places):
            raise self._refuse("system: must have each automaton once")
        for sync in model["system"].get("syncs", []):
            pairs = zip(elements, sync["synchronise"], strict=True)
            self.vectors.append([(places[name], label) for name, label in pairs if label is not None])

    def _variable(self, variable: Any) -> None:
        name, kind = variable["name"], variable["type"]
        if variable.get("transient"):
            self._transient.add(name)
            return
        if kind == "bool":
            low, high = False, True
        elif isinstance(kind, dict) and (kind["kind"], kind["base"]) == ("bounded", "int"):
            low, high = (self._expression(kind[f"{end}-bound"])({}) for end in ("lower", "upper"))
        else:
            raise self._refuse(f"variable {name} of type {kind!r}: must be bool or a bounded int")
        self._add(name, low, high, self._expression(variable["initial-value"])({}))

    def _add(self, name: str, low: Any, high: Any, first: Any) -> None:
        if name in self.ranges or name in self._known:
            raise self._refuse(f"{name}: is defined twice")
        self.ranges[name], self.initial[name] = (low, high), first

    def _automaton(self, automaton: Any) -> None:
        for variable in automaton.get("variables", []):
            self._variable(variable)
        locations = [location["name"] for location in automaton["locations"]]
        (start,) = automaton["initial-locations"]
        place = f"{automaton['name']}.location" if len(locations) > 1 else ""
        if place:
            self._add(place, 0, len(locations) - 1, locations.index(start))
        self.modules.append([self._edge(edge, locations, place) for edge in automaton["edges"]])

    def _edge(self, edge: Any, locations: list[str], place: str) -> Command:
        source = locations.index(edge["location"])
        if edge.get("action", "") not in {"", *self._actions}:
            raise self._refuse(f"action {edge['action']!r} is not declared")
        condition = self._expression(edge.get("guard", {"exp": True})["exp"])
        rate = self._expression(edge["rate"]["exp"])
        shared = edge.get("assignments", [])
        choices = []
        for target in edge["destinations"]:
            share = self._expression(target.get("probability", {"exp": 1})["exp"])
            changes = [
                (change["ref"], self._expression(change["value"]))
                for change in (*shared, *target.get("assignments", []))
                if change["ref"] not in self._transient
            ]
            if any(change.get("index", 0) for change in (*shared, *target.get("assignments", []))):
                raise self._refuse("assignments one after the other (index): not read")
            number = locations.index(target["location"])
            if place:
                changes.append((place, always(number)))
            choices.append((_product(rate, share), changes))

        def guard(state: State) -> bool:
            return (not place or state[place] == source) and condition(state) is True

        return edge.get("action", ""), guard, choices

    def _expression(self, value: Any) -> Expression:
        """Return an expression as a function of the state."""
        if isinstance(value, (bool, int, Fraction)):
            return always(value)
        if isinstance(value, str):
            return always(self._known[value]) if value in self._known else self._variable_of(value)
        sign = value.get("op")
        if sign in OPERATORS:
            return _joined(OPERATORS[sign], *map(self._expression, (value["left"], value["right"])))
        if sign in ("∧", "∨", "⇒"):
            left, right = map(self._expression, (value["left"], value["right"]))
            return _decided(left, right, sign)
        if sign == "¬" or sign in ROUNDINGS:
            return _applied(ROUNDINGS.get(sign, operator.not_), self._expression(value["exp"]))
        if sign == "ite":
            return _chosen(*(self._expression(value[part]) for part in ("if", "then", "else")))
        raise self._refuse(f"operator {sign!r}: not read")

    def _variable_of(self, name: str) -> Expression:
        def look(state: State) -> Any:
            if name not in state:
                raise self._refuse(f"{name!r} has no value here")
            return state[name]

        return look


def _number(text: str) -> Fraction:
    if len(text) > LONGEST or abs(int(text.lower().partition("e")[2] or 0)) > LONGEST:
        raise ValueError(f"{text[:40]}: too long a number")
    return Fraction(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _product(rate: Expression, share: Expression) -> Expression:
    return lambda s: rate(s) * share(s)


def _joined(join: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    return lambda s: join(left(s), right(s))


def _applied(function: Callable[[Any], Any], inner: Expression) -> Expression:
    return lambda s: function(inner(s))


def _decided(left: Expression, right: Expression, sign: str) -> Expression:
    if sign == "∧":
        return lambda s: left(s) and right(s)
    return (lambda s: left(s) or right(s)) if sign == "∨" else (lambda s: not left(s) or right(s))


def _chosen(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return lambda s: yes(s) if condition(s) is True else no(s)
