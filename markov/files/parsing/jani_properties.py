"""Properties of JANI files, as those of the PRISM language."""

from __future__ import annotations

import json
from typing import Any

from markov.files.errors import FileError
from markov.files.parsing.jani_expressions import JaniReader
from markov.files.properties.queries import Filter, Interval, Operator, Path, Properties
from markov.files.syntax import Literal

__all__ = ["JaniProperties"]

FILTERS = {"values": "default", "min": "min", "max": "max", "∀": "forall", "∃": "exists"}
FILTERS |= {"sum": "sum", "avg": "avg", "count": "count", "argmin": "argmin", "argmax": "argmax"}
COMPARED = {"<": "<", "≤": "<=", ">": ">", "≥": ">="}


class JaniProperties(JaniReader):
    """Reader of the properties of a JANI file.

    Parameters
    ----------
    file
        In messages.
    transient
        Names of transient variables, which are rewards.
    """

    def __init__(self, file: str, transient: set[str]) -> None:
        super().__init__(file)
        self.transient = transient

    def read(self, given: Any) -> Properties:
        """Return the properties by name; one that is not read is a `FileError` that says why."""
        found = Properties(self.file)
        for k, value in enumerate(given):
            where = f"properties[{k}]"
            name = self.of(value, "name", where, str)
            if name in found.properties:
                raise self.wrong(where, f"property {name!r} is defined twice")
            try:
                self.known(value, "property", where)
                found.properties[name] = self._filter(value.get("expression"), where)
            except FileError as error:
                found.properties[name] = error
            found.lines[name] = 1
        return found

    def _filter(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or value.get("op") != "filter":
            raise self.wrong(where, "a filter is expected")
        self.known(value, "filter", where)
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
            self.known(value, "query", where)
        if not isinstance(operator, str):
            raise self.wrong(where, f"operator {operator!r} is not read")
        if operator in COMPARED:
            inner = self._query(value.get("left"), where)
            limit = self.expression(value.get("right"), where)
            written = json.dumps(value.get("right"))
            about = inner.of, 1, inner.reward, None, (), written
            return Operator(inner.kind, COMPARED[operator], limit, *about)
        if operator in ("Pmin", "Pmax"):
            return Operator("P", None, None, self._path(value.get("exp"), where), 1)
        if operator in ("Smin", "Smax"):
            inside = value.get("exp")
            if isinstance(inside, str) and inside in self.transient:
                return Operator("SR", None, None, Path("S"), 1, inside)
            return Operator("S", None, None, self.expression(inside, where), 1)
        if operator in ("Emin", "Emax"):
            return self._expected(value, where)
        raise self.wrong(where, f"operator {operator!r} is not read")

    def _path(self, value: Any, where: str) -> Path:
        operator = value.get("op") if isinstance(value, dict) else None
        if operator not in ("U", "W", "R", "F", "G", "X"):
            raise self.wrong(where, f"path operator {operator!r} is not read")
        self.known(value, "path", where)
        if "reward-bounds" in value or "step-bounds" in value:
            raise self.wrong(where, "bounds on steps or rewards of a path are not read")
        bounds = self.known(value.get("time-bounds", {}), "bounds", where)
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

    def _expected(self, value: dict[str, Any], where: str) -> Operator:
        self.known(value, "expected", where)
        accumulate, reward = value.get("accumulate", []), self._reward(value, where)
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

    def _reward(self, value: dict[str, Any], where: str) -> Any:
        """Return the reward as ``(expression, on transitions)``."""
        accumulate, inside = value.get("accumulate", []), value.get("exp", Literal(1, 1))
        tree = self.expression(inside, where)
        if accumulate in ([], ["time"]):
            return tree, None
        if isinstance(inside, str) and inside in self.transient and "exit" not in accumulate:
            return (tree if "time" in accumulate else None), inside
        raise self.wrong(where, f"accumulate {accumulate!r} of this expression is not read")
