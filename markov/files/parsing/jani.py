"""Models and properties of JANI files: continuous-time Markov chains."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hopflow.text_files import unique_fields
from markov.files.errors import FileError
from markov.files.parsing.jani_expressions import KINDS, JaniReader
from markov.files.parsing.jani_properties import JaniProperties
from markov.files.parsing.tokens import read_text
from markov.files.program import (
    Assignment,
    Branch,
    Command,
    Composition,
    Constant,
    Module,
    Program,
    RewardItem,
    Transient,
    Variable,
)
from markov.files.properties.queries import Properties
from markov.files.syntax import Chain, Choice, Expression, Literal, Name, names_in

__all__ = ["parse_jani"]

SHARE_ROUNDING = 1e-6
"""Tolerance of sums of probabilities, which may be written with few digits."""
FEATURES = {"derived-operators", "functions", "state-exit-rewards"}
DISTINCT_KEYS = partial(unique_fields, message="the key {} stands twice in one object")


def parse_jani(path: Path) -> tuple[Program, Properties]:
    """Parse a JANI file: its program and its properties.

    Raises
    ------
    FileError
        With the position in the file and the reason, for a file that cannot be used.
    """
    reader = _Reader(path.name)
    contents = _json(path)
    program = reader.program(contents)
    reader_of_properties = JaniProperties(path.name, reader.kinds, reader.transient)
    reader_of_properties.functions = reader.functions
    properties = reader_of_properties.read(reader.list_of(contents, "properties", "file"))
    return reader.with_steps(program, reader_of_properties.steps), properties


def _json(path: Path) -> dict[str, Any]:
    try:
        contents = json.loads(read_text(path), object_pairs_hook=DISTINCT_KEYS)
    except json.JSONDecodeError as error:
        raise FileError((path.name, error.lineno), f"no JSON: {error.msg}") from None
    except RecursionError:
        raise FileError((path.name, None), "JSON nested too deeply") from None
    except ValueError as error:  # numbers of thousands of digits
        if isinstance(error, FileError):
            raise
        raise FileError((path.name, None), str(error)) from None
    if not isinstance(contents, dict):
        raise FileError((path.name, 1), "a JSON object is expected")
    return contents


class _Reader(JaniReader):
    """One method per construct.

    Attributes
    ----------
    kinds
        Types of constants and variables by name.
    transient
        Transient variables.
    """

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.kinds: dict[str, str] = {}
        self.transient: dict[str, Transient] = {}
        self.actions: set[str] = set()
        self.state_values: dict[str, list[tuple[str, Expression | None, Expression]]] = {}

    def program(self, contents: dict[str, Any]) -> Program:
        """Return the program of the file."""
        if contents.get("type") != "ctmc":
            raise self.wrong("type", f"{contents.get('type')!r}: must be 'ctmc'")
        self.check_keys(contents, "model", "file")
        if (version := contents.get("jani-version", 1)) != 1:
            raise self.wrong("jani-version", f"{version!r}: must be 1")
        features = self.list_of(contents, "features", "file")
        if unread := {str(feature) for feature in features} - FEATURES:
            raise self.wrong("features", f"{', '.join(sorted(unread))}: not read")
        actions = self.list_of(contents, "actions", "file")
        names = [self.of(self.check_keys(a, "action", "actions"), "name", "actions", str) for a in actions]
        if len(set(names)) < len(names):
            raise self.wrong("actions", "an action is declared twice")
        self.actions = set(names)
        program = Program(self.file, "ctmc")
        self.read_functions(self.list_of(contents, "functions", "file"), "functions")
        for k, constant in enumerate(self.list_of(contents, "constants", "file")):
            self._constant_of(program, constant, f"constants[{k}]")
        for k, variable in enumerate(self.list_of(contents, "variables", "file")):
            self._variable(program, variable, f"variables[{k}]")
        automata = self.of(contents, "automata", "file", list)
        for k, automaton in enumerate(automata):
            self._automaton(program, automaton, f"automata[{k}]")
        for name, variable in self.transient.items():
            program.formulas[name] = self._state_value(variable)
            if variable.kind == "bool":
                program.labels[name] = Name(name, 1)
            else:
                program.rewards[name] = (RewardItem(None, Literal(True, 1), Name(name, 1), 1),)
        self._check_unrestricted(contents, "restrict-initial")
        return self._compose(program, contents)

    def _check_unrestricted(self, contents: Any, where: str) -> None:
        start = self.check_keys(contents.get("restrict-initial", {}), "exp", where)
        if start.get("exp", True) is not True:
            raise self.wrong(where, "initial states by a condition are not read")

    def _constant_of(self, program: Program, value: Any, where: str) -> None:
        name = self.of(value, "name", where, str)
        self.check_keys(value, "constant", where)
        kind = value.get("type")
        if isinstance(kind, dict):
            self.check_keys(kind, "type", where)
            if kind.get("kind") != "bounded" or "lower-bound" in kind or "upper-bound" in kind:
                raise self.wrong(where, f"type {kind!r}: bounds of constants are not read")
        kind = kind.get("base") if isinstance(kind, dict) else kind
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.wrong(where, f"type {kind!r}: must be int, real or bool")
        definition = value.get("value")
        tree = None if definition is None else self.expression(definition, where)
        program.check_new(name, 1)
        self.kinds[name] = KINDS[kind]
        program.constants[name] = Constant(name, KINDS[kind], tree, 1)

    def _variable(self, program: Program, value: Any, where: str) -> None:
        name = self.of(value, "name", where, str)
        if name in self.transient:
            raise self.wrong(where, f"{name!r} is defined twice")
        program.check_new(name, 1)
        self.check_keys(value, "variable", where)
        kind, low, high = value.get("type"), None, None
        if isinstance(kind, dict) and kind.get("kind") == "bounded":
            self.check_keys(kind, "type", where)
            low = self.expression(kind.get("lower-bound"), where)
            high = self.expression(kind.get("upper-bound"), where)
            kind = kind.get("base")
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.wrong(where, f"type {kind!r} is not read")
        default = {"bool": False, "int": 0, "real": 0.0}[kind]
        start = self.expression(value.get("initial-value", default), where)
        if not isinstance(value.get("transient", False), bool):
            raise self.wrong(where, f"transient = {value['transient']!r}: must be true or false")
        self.kinds[name] = KINDS[kind]
        if value.get("transient"):
            self.transient[name] = Transient(name, KINDS[kind], start)
            return
        if kind == "real":
            raise self.wrong(where, "real variables make the states uncountable: not read")
        program.variables[name] = Variable(name, KINDS[kind], low, high, start, 1)

    def _automaton(self, program: Program, value: Any, where: str) -> None:
        name = self.of(value, "name", where, str)
        self.check_keys(value, "automaton", where)
        self._check_unrestricted(value, f"{where}.restrict-initial")
        model_functions = dict(self.functions)
        self.read_functions(self.list_of(value, "functions", where), f"{where}.functions")
        for k, variable in enumerate(self.list_of(value, "variables", where)):
            self._variable(program, variable, f"{where}.variables[{k}]")
        locations = self.of(value, "locations", where, list)
        names = [
            self.of(self.check_keys(x, "location", f"{where}.locations"), "name", f"{where}.locations", str)
            for x in locations
        ]
        if len(set(names)) < len(names):
            raise self.wrong(f"{where}.locations", "a location is defined twice")
        location_name = f"{name}.location"
        starts = self.of(value, "initial-locations", where, list)
        if len(starts) != 1 or starts[0] not in names:
            raise self.wrong(where, "one initial location is expected")
        if len(names) > 1:
            last = Literal(len(names) - 1, 1)
            start = Literal(names.index(starts[0]), 1)
            program.variables[location_name] = Variable(location_name, "int", Literal(0, 1), last, start, 1)
        for number, location in enumerate(locations):
            condition = _is_at(location_name, number) if len(names) > 1 else None
            for assignment in self.list_of(location, "transient-values", where):
                ref = self._ref(assignment, where)
                if ref not in self.transient:
                    raise self.wrong(where, f"{ref!r} is no transient variable")
                tree = self.expression(assignment.get("value"), f"{where}.locations[{number}]")
                self.state_values.setdefault(ref, []).append((name, condition, tree))
        commands = tuple(
            self._edge(edge, names, location_name, f"{where}.edges[{k}]")
            for k, edge in enumerate(self.of(value, "edges", where, list))
        )
        if name in program.modules:
            raise self.wrong(where, f"automaton {name!r} is defined twice")
        program.modules[name] = Module(name, commands, 1)
        self.functions = model_functions

    def _ref(self, value: Any, where: str) -> str:
        ref: str = self.of(value, "ref", where, str)
        self.check_keys(value, "assignment", where)
        if value.get("index", 0) != 0:
            raise self.wrong(where, "assignments one after the other (index) are not read")
        return ref

    def _edge(self, edge: Any, names: list[str], location_name: str, where: str) -> Command:
        source = self.of(edge, "location", where, str)
        self.check_keys(edge, "edge", where)
        action = edge.get("action", "")
        if not isinstance(action, str) or (action and action not in self.actions):
            raise self.wrong(where, f"action {action!r} is not declared in 'actions'")
        if source not in names:
            raise self.wrong(where, f"location {source!r} is not defined")
        guard = self.expression(
            self.check_keys(edge.get("guard", {"exp": True}), "exp", f"{where}.guard").get("exp"),
            f"{where}.guard",
        )
        if len(names) > 1:
            guard = Chain(_is_at(location_name, names.index(source)), (("&", guard),), 1)
        rate_object = self.check_keys(self.of(edge, "rate", where, dict), "exp", f"{where}.rate")
        rate = self.expression(rate_object.get("exp"), f"{where}.rate")
        shared = self.list_of(edge, "assignments", where)
        destinations = self.of(edge, "destinations", where, list)
        self._check_shares(destinations, where)
        branches = tuple(
            self._destination(d, rate, shared, names, location_name, f"{where}.destinations[{k}]")
            for k, d in enumerate(destinations)
        )
        return Command(action, guard, branches, 1)

    def _check_shares(self, destinations: list[Any], where: str) -> None:
        """Refuse probabilities of an edge that are numbers and do not sum to 1."""
        probabilities = [
            d["probability"] if isinstance(d, dict) and "probability" in d else {"exp": 1} for d in destinations
        ]
        shares = [share.get("exp") if isinstance(share, dict) else None for share in probabilities]
        numbers = [float(share) for share in shares if isinstance(share, int | float) and not isinstance(share, bool)]
        if len(numbers) == len(shares) and abs(math.fsum(numbers) - 1.0) > SHARE_ROUNDING:
            raise self.wrong(f"{where}.destinations", f"probabilities sum to {math.fsum(numbers):.12g}: must be 1")

    def _destination(
        self, destination: Any, rate: Expression, shared: Any, names: list[str], location_name: str, where: str
    ) -> Branch:
        self.check_keys(destination, "destination", where)
        share = self.check_keys(destination.get("probability", {"exp": 1}), "exp", f"{where}.probability").get("exp")
        if not _is_one(share):
            rate = _product(rate, self.expression(share, where))
        changes: list[Assignment] = []
        transient: list[Assignment] = []
        for assignment in [*shared, *self.list_of(destination, "assignments", where)]:
            ref = self._ref(assignment, where)
            value = self.expression(assignment.get("value"), where)
            if ref in {assigned.name for assigned in transient}:
                raise self.wrong(where, f"{ref!r} is assigned twice")
            (transient if ref in self.transient else changes).append(Assignment(ref, value, 1))
        target = self.of(destination, "location", where, str)
        if target not in names:
            raise self.wrong(where, f"location {target!r} is not defined")
        if len(names) > 1:
            changes.append(Assignment(location_name, Literal(names.index(target), 1), 1))
        return Branch(rate, tuple(changes), tuple(transient))

    def _state_value(self, variable: Transient) -> Expression:
        """Return the value of a transient variable in states: the value of the location, or the initial value."""
        cases = self.state_values.get(variable.name, [])
        if len({automaton for automaton, _, _ in cases}) > 1:
            raise self.wrong(variable.name, "a value in several automata: not read")
        if len(cases) > len({repr(condition) for _, condition, _ in cases}):
            raise self.wrong(variable.name, "two values in one location")
        by_condition = tuple((condition, value) for _, condition, value in cases if condition is not None)
        if len(by_condition) < len(cases):
            return cases[0][2]
        return Choice(by_condition, variable.start, 1) if cases else variable.start

    def _compose(self, program: Program, contents: dict[str, Any]) -> Program:
        system = self.of(contents, "system", "file", dict)
        self.check_keys(system, "system", "system")
        elements = self.of(system, "elements", "system", list)
        names = [
            self.of(self.check_keys(e, "element", "system.elements"), "automaton", "system.elements", str)
            for e in elements
        ]
        parts = tuple(Composition("module", (name,)) for name in names)
        vectors = []
        for k, sync in enumerate(self.list_of(system, "syncs", "system")):
            self.check_keys(sync, "sync", f"system.syncs[{k}]")
            actions = self.of(sync, "synchronise", f"system.syncs[{k}]", list)
            if len(actions) != len(names):
                raise self.wrong(f"system.syncs[{k}]", "one entry for each element is expected")
            result = sync.get("result", "")
            for action in (*actions, result or None):
                if action is not None and (not isinstance(action, str) or action not in self.actions):
                    message = f"action {action!r} is not declared in 'actions'"
                    raise self.wrong(f"system.syncs[{k}]", message)
            vectors.append((tuple(actions), result or ""))
        composition = Composition("vectors", parts, tuple(vectors))
        return Program(**{**vars(program), "composition": composition})

    def with_steps(self, program: Program, property_rewards: Mapping[str, Expression]) -> Program:
        """Return the program with the rewards of its transitions: of variables, and of expressions in properties."""
        branches = [b for m in program.modules.values() for c in m.commands for b in c.branches]
        assigned = {assignment.name for branch in branches for assignment in branch.transient}
        steps: dict[str, Expression] = {
            variable.name: Name(variable.name, 1)
            for variable in self.transient.values()
            if variable.kind != "bool" and (variable.name in assigned or not _is_zero(variable.start))
        }
        steps |= {name: tree for name, tree in property_rewards.items() if name not in self.transient}
        read = {name for tree in steps.values() for name in names_in(tree)}
        transient = {name: variable for name, variable in self.transient.items() if name in read}
        return replace(program, transient=transient, steps=steps)


def _is_zero(tree: Expression) -> bool:
    return isinstance(tree, Literal) and tree.value == 0


def _is_at(location_name: str, number: int) -> Expression:
    return Chain(Name(location_name, 1), (("=", Literal(number, 1)),), 1)


def _product(rate: Expression, share: Expression) -> Expression:
    """Return the rate of a destination: a negative rate stays negative, whatever the sign of its probability."""
    product = Chain(rate, (("*", share),), 1)
    if any(isinstance(factor, Literal) and factor.value >= 0 for factor in (rate, share)):
        return product
    return Choice(((Chain(rate, (("<", Literal(0, 1)),), 1), rate),), product, 1)


def _is_one(share: Any) -> bool:
    """Whether a probability is 1, or has the form x / x, which would be rounded, or NaN for 0 / 0."""
    if isinstance(share, dict) and share.get("op") == "/":
        return bool(share.get("left") == share.get("right"))
    return not isinstance(share, bool) and share == 1
