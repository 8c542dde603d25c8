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
from markov.proofs.prism_expressions import EXACT, OPERATORS, always, strict

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
    """Reader of a JANI file that derives the exact transitions of listed states: a `Source` of rows.

    Parameters as for `ModelRows`.
    """

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

    def _error(self, reason: str) -> CertificateError:
        """Return the CertificateError of a reason, with the name of the file."""
        return CertificateError(f"{self.name}: {reason}")

    def _check_keys(self, value: Any, kind: str) -> Any:
        """Return a JSON object unchanged; CertificateError if it has keys that its kind does not have."""
        if unknown := set(value) - {*KEYS[kind].split(), "comment"}:
            raise self._error(f"{kind}: {min(unknown)[:40]!r} is not read")
        return value

    def _refuse_restriction(self, value: Any) -> None:
        """Raise CertificateError if an object restricts the initial states."""
        if self._check_keys(value.get("restrict-initial", {}), "restrict-initial").get("exp", True) is not True:
            raise self._error("restrict-initial: not read")

    def _read(self, model: Any) -> None:
        """Read the parsed JSON of a JANI model."""
        self._check_keys(model, "model")
        if model["type"] != "ctmc":
            raise self._error(f"type {model['type']!r}: must be 'ctmc'")
        refused = set(model.get("features", [])) - FEATURES
        if refused or model.get("functions"):
            raise self._error(f"{', '.join(sorted(refused)) or 'functions'}: not read")
        self._refuse_restriction(model)
        actions = [self._check_keys(action, "action")["name"] for action in model.get("actions", [])]
        self._actions = set(actions)
        if len(self._actions) < len(actions):
            raise self._error("actions: an action is declared twice")
        for constant in model.get("constants", []):
            name = self._check_keys(constant, "constant")["name"]
            if name in self._constants:
                raise self._error(f"{name}: is defined twice")
            if name not in self.constants and "value" not in constant:
                raise self._error(f"the constant {name} needs a value")
            constant_value = always(self.constants.get(name))
            value = constant_value if name in self.constants else self._expression(constant["value"])
            self._constants[name] = value({})
        for variable in model.get("variables", []):
            self._read_variable(variable)
        numbers = {}
        for automaton in model["automata"]:
            if automaton["name"] in numbers:
                raise self._error(f"automaton {automaton['name']}: is defined twice")
            numbers[automaton["name"]] = len(self.modules)
            self._read_automaton(automaton)
        system = self._check_keys(model["system"], "system")
        elements = [self._check_keys(element, "element")["automaton"] for element in system["elements"]]
        if sorted(elements) != sorted(numbers):
            raise self._error("system: must have each automaton once")
        for sync in system.get("syncs", []):
            pairs = zip(elements, self._check_keys(sync, "sync")["synchronise"], strict=True)
            self.vectors.append([(numbers[name], label) for name, label in pairs if label is not None])

    def _read_variable(self, variable: Any) -> None:
        """Read the declaration of a variable: its range and its initial value; transient variables are skipped."""
        name, kind = self._check_keys(variable, "variable")["name"], variable["type"]
        if isinstance(kind, dict):
            self._check_keys(kind, "type")
        if variable.get("transient"):
            self._transient.add(name)
            return
        if kind == "bool":
            low, high = False, True
        elif isinstance(kind, dict) and (kind["kind"], kind["base"]) == ("bounded", "int"):
            low, high = (self._expression(kind[f"{bound}-bound"])({}) for bound in ("lower", "upper"))
        else:
            raise self._error(f"variable {name} of type {kind!r}: must be bool or a bounded int")
        self._add_variable(name, low, high, self._expression(variable["initial-value"])({}))

    def _add_variable(self, name: str, low: Any, high: Any, first: Any) -> None:
        """Add a variable with its range and initial value; CertificateError if its name exists."""
        if name in self.ranges or name in self._constants:
            raise self._error(f"{name}: is defined twice")
        self.ranges[name], self.initial[name] = (low, high), first

    def _read_automaton(self, automaton: Any) -> None:
        """Read an automaton: its variables, its locations as the values of another variable, and its edges."""
        self._refuse_restriction(self._check_keys(automaton, "automaton"))
        for variable in automaton.get("variables", []):
            self._read_variable(variable)
        locations = [self._check_keys(location, "location")["name"] for location in automaton["locations"]]
        if len(set(locations)) < len(locations):
            raise self._error(f"automaton {automaton['name']}: a location is defined twice")
        (start,) = automaton["initial-locations"]
        location_name = f"{automaton['name']}.location" if len(locations) > 1 else ""
        if location_name:
            self._add_variable(location_name, 0, len(locations) - 1, locations.index(start))
        self.modules.append([self._edge(edge, locations, location_name) for edge in automaton["edges"]])

    def _edge(self, edge: Any, locations: list[str], location_name: str) -> Command:
        """Return an edge of an automaton as a command: its label, guard and choices."""
        source = locations.index(self._check_keys(edge, "edge")["location"])
        if edge.get("action", "") not in {"", *self._actions}:
            raise self._error(f"action {edge['action']!r} is not declared")
        condition = self._expression(self._check_keys(edge.get("guard", {"exp": True}), "guard")["exp"])
        rate = self._expression(self._check_keys(edge["rate"], "rate")["exp"])
        shared = edge.get("assignments", [])
        choices = []
        for target in edge["destinations"]:
            probability = self._check_keys(target, "destination").get("probability", {"exp": 1})
            share = self._expression(self._check_keys(probability, "probability")["exp"])
            assignments = [
                self._check_keys(change, "assignment") for change in (*shared, *target.get("assignments", []))
            ]
            changes = [
                (change["ref"], self._expression(change["value"]))
                for change in assignments
                if change["ref"] not in self._transient
            ]
            if any(change.get("index", 0) for change in assignments):
                raise self._error("assignments one after the other (index): not read")
            number = locations.index(target["location"])
            if location_name:
                changes.append((location_name, always(number)))
            choices.append((_product(rate, share), changes))

        def guard(state: State) -> bool:
            return (not location_name or state[location_name] == source) and condition(state) is True

        return edge.get("action", ""), guard, choices

    def _expression(self, value: Any) -> Expression:
        """Return a JANI expression as a function of the state, evaluated exactly."""
        if isinstance(value, (bool, int, Fraction)):
            return always(value)
        if isinstance(value, str):
            return always(self._constants[value]) if value in self._constants else self._lookup(value)
        sign = value.get("op")
        if sign in BINARY or sign in ("∧", "∨", "⇒"):
            self._check_keys(value, "binary expression")
            left, right = map(self._expression, (value["left"], value["right"]))
            return strict(BINARY[sign], left, right) if sign in BINARY else _connective(left, right, sign)
        if sign == "¬" or sign in UNARY:
            self._check_keys(value, "unary expression")
            return _unary(UNARY.get(sign, operator.not_), self._expression(value["exp"]))
        if sign == "ite":
            self._check_keys(value, "if-then-else")
            return _conditional(*(self._expression(value[part]) for part in ("if", "then", "else")))
        raise self._error(f"operator {sign!r}: not read")

    def _lookup(self, name: str) -> Expression:
        """Return the expression that is the value of a variable in the state."""

        def lookup(state: State) -> Any:
            if name not in state:
                raise self._error(f"{name!r} has no value here")
            return state[name]

        return lookup


def _number(text: str) -> Fraction:
    """Return a decimal number of a JSON file as a fraction; ValueError if it is too long."""
    if len(text) > MAX_NUMBER_LENGTH or abs(int(text.lower().partition("e")[2] or 0)) > MAX_NUMBER_LENGTH:
        raise ValueError(f"{text[:40]}: too long a number")
    return Fraction(text)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; ValueError if a key occurs twice."""
    by_name: dict[str, Any] = {}
    for key, value in pairs:
        if key in by_name:
            raise ValueError(f"the key {key[:40]!r} stands twice in one object")
        by_name[key] = value
    return by_name


def _product(rate: Expression, share: Expression) -> Expression:
    """Return the expression of a destination's rate, rate times share; a negative rate stays negative."""

    def product(state: Any) -> Any:
        value = rate(state)
        return value if value < 0 else value * share(state)

    return product


def _unary(function: Callable[[Any], Any], inner: Expression) -> Expression:
    """Return the expression ``function(inner)``."""
    return lambda s: function(inner(s))


def _connective(left: Expression, right: Expression, sign: str) -> Expression:
    """Return the expression of a conjunction, disjunction or implication (∧, ∨, ⇒)."""
    if sign == "∧":
        return lambda s: left(s) and right(s)
    return (lambda s: left(s) or right(s)) if sign == "∨" else (lambda s: not left(s) or right(s))


def _conditional(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """Return the expression ``yes if condition else no``."""
    return lambda s: yes(s) if condition(s) is True else no(s)
