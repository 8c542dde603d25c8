"""Properties of JANI files, as properties of the PRISM language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from markov.files.errors import FileError
from markov.files.parsing.jani_expressions import JaniReader
from markov.files.properties.queries import Accumulated, Filter, Interval, Operator, Path, Properties
from markov.files.syntax import Chain, Choice, Expression, Literal, Name, Negation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["JaniProperties"]

FILTERS = {"values": "default", "min": "min", "max": "max", "∀": "forall", "∃": "exists"}
FILTERS |= {"sum": "sum", "avg": "avg", "count": "count", "argmin": "argmin", "argmax": "argmax"}
COMPARED = {"<": "<", "≤": "<=", ">": ">", "≥": ">="}


class JaniProperties(JaniReader):
    """Reader of the properties of a JANI file.

    Parameters
    ----------
    file
        Name of the file, in messages.
    kinds
        Types of the model's constants and variables by name.
    transient
        Names of transient variables.

    Attributes
    ----------
    steps
        Expressions that properties accumulate at each transition, by a name.
    """

    def __init__(self, file: str, kinds: Mapping[str, str], transient: Collection[str]) -> None:
        super().__init__(file)
        self.kinds, self.transient = kinds, transient
        self.steps: dict[str, Expression] = {}

    def read(self, entries: Any) -> Properties:
        """Return the properties by name; an unsupported property is a `FileError` with the reason."""
        properties = Properties(self.file)
        for k, value in enumerate(entries):
            where = f"properties[{k}]"
            name = self.of(value, "name", where, str)
            if name in properties.properties:
                raise self.wrong(where, f"property {name!r} is defined twice")
            try:
                self.check_keys(value, "property", where)
                properties.properties[name] = self._filter(value.get("expression"), where)
            except FileError as error:
                properties.properties[name] = error
            properties.lines[name] = 1
        return properties

    def _filter(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or value.get("op") != "filter":
            raise self.wrong(where, "a filter is expected")
        self.check_keys(value, "filter", where)
        how = FILTERS.get(str(value.get("fun", "")))
        states = value.get("states")
        initial = isinstance(states, dict) and states.get("op") == "initial"
        if how is None or not initial:
            raise self.wrong(where, f"filter {value.get('fun')!r} over {states!r} is not read")
        inner = self._query(value.get("values"), where)
        return inner if how in ("default", "min", "max") else Filter(how, inner, None, 1)

    def _query(self, value: Any, where: str) -> Any:
        operator = value.get("op") if isinstance(value, dict) else None
        if operator not in ("Emin", "Emax") and isinstance(value, dict):
            self.check_keys(value, "query", where)
        if not isinstance(operator, str):
            raise self.wrong(where, f"operator {operator!r} is not read")
        if operator in COMPARED:
            inner = self._query(value.get("left"), where)
            limit = self.expression(value.get("right"), where)
            written = json.dumps(value.get("right"))
            options = inner.of, 1, inner.reward, None, (), written
            return Operator(inner.kind, COMPARED[operator], limit, *options)
        if operator in ("Pmin", "Pmax"):
            return Operator("P", None, None, self._path(value.get("exp"), where), 1)
        if operator in ("Smin", "Smax"):
            tree = self.expression(value.get("exp"), where)
            if not self._is_boolean(tree):
                accumulate = value.get("accumulate", ["steps", "time"])
                return Operator("SR", None, None, Path("S"), 1, self._accumulation(tree, accumulate, where))
            if "accumulate" in value:
                raise self.wrong(where, f"{operator!r} of a truth value: 'accumulate' is not read")
            return Operator("S", None, None, tree, 1)
        if operator in ("Emin", "Emax"):
            return self._expectation(value, where)
        raise self.wrong(where, f"operator {operator!r} is not read")

    def _path(self, value: Any, where: str) -> Path:
        operator = value.get("op") if isinstance(value, dict) else None
        if operator not in ("U", "W", "R", "F", "G", "X"):
            raise self.wrong(where, f"path operator {operator!r} is not read")
        self.check_keys(value, "path", where)
        if "reward-bounds" in value or "step-bounds" in value:
            raise self.wrong(where, "bounds on steps or rewards of a path are not read")
        bounds = self.check_keys(value.get("time-bounds", {}), "bounds", where)
        low, high = bounds.get("lower"), bounds.get("upper")
        interval = Interval(
            None if low is None else self.expression(low, where),
            None if high is None else self.expression(high, where),
        )
        if operator in ("F", "G", "X"):
            right = self.expression(value.get("exp"), where)
            return Path(operator, None, right, interval)
        left = self.expression(value.get("left"), where)
        return Path(operator, left, self.expression(value.get("right"), where), interval)

    def _expectation(self, value: dict[str, Any], where: str) -> Operator:
        self.check_keys(value, "expected", where)
        accumulate = value.get("accumulate", [])
        tree = self.expression(value.get("exp", 1), where)
        reward = self._accumulation(tree, accumulate or ["time"], where)
        if any(name in value for name in ("step-instant", "reward-instants")):
            raise self.wrong(where, "instants in steps or rewards are not read")
        if "reach" in value:
            path = Path("F", right=self.expression(value["reach"], where))
        elif "time-instant" in value:
            time = self.expression(value["time-instant"], where)
            interval = Interval(high=time) if accumulate else Interval(time, time)
            path = Path("C" if accumulate else "I", interval=interval)
        else:
            path = Path("C")
        return Operator("R", None, None, path, 1, reward)

    def _accumulation(self, tree: Expression, accumulate: Any, where: str) -> Accumulated:
        """Return an expression as a reward of states, of transitions and of leaving states."""
        if not isinstance(accumulate, list) or not all(event in ("steps", "time", "exit") for event in accumulate):
            raise self.wrong(where, f"accumulate {accumulate!r}: must be a list of steps, time and exit")
        if self._is_boolean(tree) and not (isinstance(tree, Name) and tree.name not in self.kinds):
            raise self.wrong(where, "a truth value is accumulated: must be a number")
        step = None
        if "steps" in accumulate:
            step = (
                tree.name if isinstance(tree, Name) and tree.name in self.transient else f"{where}: {len(self.steps)}"
            )
            self.steps[step] = tree
        state, leaving = (tree if event in accumulate else None for event in ("time", "exit"))
        return Accumulated(state, step, leaving)

    def _is_boolean(self, tree: Expression) -> bool:
        """Whether an expression is a truth value; undeclared names are."""
        match tree:
            case Literal(value):
                return isinstance(value, bool)
            case Name(name):
                return self.kinds.get(name, "bool") == "bool"
            case Negation(sign):
                return sign == "!"
            case Chain(_, rest):
                return rest[0][0] not in ("+", "-", "*", "/")
            case Choice(_, otherwise):
                return self._is_boolean(otherwise)
        return False
