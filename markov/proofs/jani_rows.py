"""Derive the transitions of a JANI model for a list of states, in exact arithmetic, with the standard library alone.

The subset: ``ctmc``; constants; variables of bounded whole numbers and truth values, of the model and of automata;
automata with one initial location, whose edges have rates and probabilities; composition by synchronisation vectors.
Transient variables, properties, metadata and comments are skipped. All else is refused by name, keys included.
"""

from __future__ import annotations

import json
import operator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError
from markov.proofs.model_rows import Command, ModelRows, State
from markov.proofs.prism_expressions import EXACT, OPERATORS, always

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Expression = Callable[[State], Any]

__all__ = ["JaniRows"]

MAX_NUMBER_LENGTH = 400  # digits and powers of ten of a number
FEATURES = {"derived-operators", "state-exit-rewards", "functions"}
BINARY = {
    entry.jani: entry.call for entry in (*OPERATORS, *EXACT) if entry.jani and getattr(entry, "arguments", 2) != 1
}
UNARY = {entry.jani: entry.call for entry in EXACT if entry.jani and entry.arguments == 1}
"""Operators and functions of two operands, and functions of one."""
KEYS = {
    "model": "jani-version name metadata type features actions constants variables restrict-initial properties "
    "automata system functions",
    "action": "name", "constant": "name type value", "variable": "name type transient initial-value",
    "type": "kind base lower-bound upper-bound", "system": "elements syncs", "element": "automaton",
    "sync": "synchronise result", "automaton": "name variables restrict-initial locations initial-locations edges",
    "location": "name transient-values", "edge": "location action rate guard destinations assignments",
    "destination": "location probability assignments", "assignment": "ref value index",
    "guard": "exp", "rate": "exp", "probability": "exp", "restrict-initial": "exp",
    "binary expression": "op left right", "unary expression": "op exp", "if-then-else": "op if then else",
}  # fmt: skip
"""Keys of the objects that are read; ``comment`` is skipped in each."""


class JaniRows(ModelRows):
    """The transitions of a JANI file for listed states: a `Source` of rows, parameters as for `ModelRows`."""

    def __init__(self, path: str | Path, constants: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, constants)
        self._constants: dict[str, Any] = {}
        self._transient: set[str] = set()
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            self._read(json.loads(text, parse_float=_number, object_pairs_hook=_distinct_keys))
        except (OSError, UnicodeError, ArithmeticError, ValueError, RecursionError) as error:
            message = str(error) if isinstance(error, CertificateError) else f"{self.name}: {error}"
            raise CertificateError(message) from None
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise CertificateError(f"{self.name}: is no JANI model: {error!r}") from None
        self.check_constants(self._constants)

    def _refuse(self, reason: str) -> CertificateError:
        return CertificateError(f"{self.name}: {reason}")

    def _object(self, value: Any, kind: str) -> Any:
        """Return an object of a kind, whose keys must all be known."""
        if unknown := set(value) - {*KEYS[kind].split(), "comment"}:
            raise self._refuse(f"{kind}: {min(unknown)[:40]!r} is not read")
        return value

    def _refuse_restriction(self, value: Any) -> None:
        if self._object(value.get("restrict-initial", {}), "restrict-initial").get("exp", True) is not True:
            raise self._refuse("restrict-initial: not read")

    def _read(self, model: Any) -> None:
        self._object(model, "model")
        if model["type"] != "ctmc":
            raise self._refuse(f"type {model['type']!r}: must be 'ctmc'")
        refused = set(model.get("features", [])) - FEATURES
        if refused or model.get("functions"):
            raise self._refuse(f"{', '.join(sorted(refused)) or 'functions'}: not read")
        self._refuse_restriction(model)
        actions = [self._object(action, "action")["name"] for action in model.get("actions", [])]
        self._actions = set(actions)
        if len(self._actions) < len(actions):
            raise self._refuse("actions: an action is declared twice")
        for constant in model.get("constants", []):
            name = self._object(constant, "constant")["name"]
            if name in self._constants:
                raise self._refuse(f"{name}: is defined twice")
            if name not in self.constants and "value" not in constant:
                raise self._refuse(f"the constant {name} needs a value")
            constant_value = always(self.constants.get(name))
            value = constant_value if name in self.constants else self._expression(constant["value"])
            self._constants[name] = value({})
        for variable in model.get("variables", []):
            self._variable(variable)
        numbers = {}
        for automaton in model["automata"]:
            if automaton["name"] in numbers:
                raise self._refuse(f"automaton {automaton['name']}: is defined twice")
            numbers[automaton["name"]] = len(self.modules)
            self._automaton(automaton)
        system = self._object(model["system"], "system")
        elements = [self._object(element, "element")["automaton"] for element in system["elements"]]
        if sorted(elements) != sorted(numbers):
            raise self._refuse("system: must have each automaton once")
        for sync in system.get("syncs", []):
            pairs = zip(elements, self._object(sync, "sync")["synchronise"], strict=True)
            self.vectors.append([(numbers[name], label) for name, label in pairs if label is not None])

    def _variable(self, variable: Any) -> None:
        name, kind = self._object(variable, "variable")["name"], variable["type"]
        if isinstance(kind, dict):
            self._object(kind, "type")
        if variable.get("transient"):
            self._transient.add(name)
            return
        if kind == "bool":
            low, high = False, True
        elif isinstance(kind, dict) and (kind["kind"], kind["base"]) == ("bounded", "int"):
            low, high = (self._expression(kind[f"{bound}-bound"])({}) for bound in ("lower", "upper"))
        else:
            raise self._refuse(f"variable {name} of type {kind!r}: must be bool or a bounded int")
        self._add(name, low, high, self._expression(variable["initial-value"])({}))

    def _add(self, name: str, low: Any, high: Any, first: Any) -> None:
        if name in self.ranges or name in self._constants:
            raise self._refuse(f"{name}: is defined twice")
        self.ranges[name], self.initial[name] = (low, high), first

    def _automaton(self, automaton: Any) -> None:
        self._refuse_restriction(self._object(automaton, "automaton"))
        for variable in automaton.get("variables", []):
            self._variable(variable)
        locations = [self._object(location, "location")["name"] for location in automaton["locations"]]
        if len(set(locations)) < len(locations):
            raise self._refuse(f"automaton {automaton['name']}: a location is defined twice")
        (start,) = automaton["initial-locations"]
        location_name = f"{automaton['name']}.location" if len(locations) > 1 else ""
        if location_name:
            self._add(location_name, 0, len(locations) - 1, locations.index(start))
        self.modules.append([self._edge(edge, locations, location_name) for edge in automaton["edges"]])

    def _edge(self, edge: Any, locations: list[str], location_name: str) -> Command:
        source = locations.index(self._object(edge, "edge")["location"])
        if edge.get("action", "") not in {"", *self._actions}:
            raise self._refuse(f"action {edge['action']!r} is not declared")
        condition = self._expression(self._object(edge.get("guard", {"exp": True}), "guard")["exp"])
        rate = self._expression(self._object(edge["rate"], "rate")["exp"])
        shared = edge.get("assignments", [])
        choices = []
        for target in edge["destinations"]:
            probability = self._object(target, "destination").get("probability", {"exp": 1})
            share = self._expression(self._object(probability, "probability")["exp"])
            assignments = [self._object(change, "assignment") for change in (*shared, *target.get("assignments", []))]
            changes = [
                (change["ref"], self._expression(change["value"]))
                for change in assignments
                if change["ref"] not in self._transient
            ]
            if any(change.get("index", 0) for change in assignments):
                raise self._refuse("assignments one after the other (index): not read")
            number = locations.index(target["location"])
            if location_name:
                changes.append((location_name, always(number)))
            choices.append((_product(rate, share), changes))

        def guard(state: State) -> bool:
            return (not location_name or state[location_name] == source) and condition(state) is True

        return edge.get("action", ""), guard, choices

    def _expression(self, value: Any) -> Expression:
        """Return an expression as a function of the state."""
        if isinstance(value, (bool, int, Fraction)):
            return always(value)
        if isinstance(value, str):
            return always(self._constants[value]) if value in self._constants else self._variable_of(value)
        sign = value.get("op")
        if sign in BINARY or sign in ("∧", "∨", "⇒"):
            self._object(value, "binary expression")
            left, right = map(self._expression, (value["left"], value["right"]))
            return _binary(BINARY[sign], left, right) if sign in BINARY else _connective(left, right, sign)
        if sign == "¬" or sign in UNARY:
            self._object(value, "unary expression")
            return _unary(UNARY.get(sign, operator.not_), self._expression(value["exp"]))
        if sign == "ite":
            self._object(value, "if-then-else")
            return _conditional(*(self._expression(value[part]) for part in ("if", "then", "else")))
        raise self._refuse(f"operator {sign!r}: not read")

    def _variable_of(self, name: str) -> Expression:
        def lookup(state: State) -> Any:
            if name not in state:
                raise self._refuse(f"{name!r} has no value here")
            return state[name]

        return lookup


def _number(text: str) -> Fraction:
    if len(text) > MAX_NUMBER_LENGTH or abs(int(text.lower().partition("e")[2] or 0)) > MAX_NUMBER_LENGTH:
        raise ValueError(f"{text[:40]}: too long a number")
    return Fraction(text)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for key, value in pairs:
        if key in by_name:
            raise ValueError(f"the key {key[:40]!r} stands twice in one object")
        by_name[key] = value
    return by_name


def _product(rate: Expression, share: Expression) -> Expression:
    """Return the rate of a destination: a negative rate stays negative, whatever the sign of its probability."""

    def product(state: Any) -> Any:
        value = rate(state)
        return value if value < 0 else value * share(state)

    return product


def _binary(join: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    return lambda s: join(left(s), right(s))


def _unary(function: Callable[[Any], Any], inner: Expression) -> Expression:
    return lambda s: function(inner(s))


def _connective(left: Expression, right: Expression, sign: str) -> Expression:
    if sign == "∧":
        return lambda s: left(s) and right(s)
    return (lambda s: left(s) or right(s)) if sign == "∨" else (lambda s: not left(s) or right(s))


def _conditional(condition: Expression, yes: Expression, no: Expression) -> Expression:
    return lambda s: yes(s) if condition(s) is True else no(s)
