"""Models and properties of JANI files: continuous-time Markov chains.

C. E. Budde, C. Dehnert, E. M. Hahn, A. Hartmanns, S. Junges, A. Turrini, JANI: quantitative model and tool
interaction, TACAS 2017; specification at jani-spec.org.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.callers import warn_caller
from hopflow.checks import count_of
from hopflow.text_files import unique_fields
from markov.files.language import (
    FUNCTIONS,
    OPERATORS,
    Call,
    Chain,
    Choice,
    Expression,
    FileError,
    Literal,
    Name,
    Negation,
    names_in,
    names_of_language,
    size_of,
)
from markov.files.parsing import read_text
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
from markov.files.queries import Accumulated, Filter, InitialStates, Interval, Operator, Path, Properties

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["KINDS", "JaniProperties", "JaniReader", "parse_jani"]

# ----------------------------------------------------------------------------------------- expressions


SIGNS = {entry.jani: sign for sign, entry in OPERATORS.items() if entry.jani}
"""Signs of trees by the binary operators of JANI."""
FUNCTION_NAMES = names_of_language("jani")
"""Operators that are functions of one or two operands."""
MAX_DEPTH = 150
INT_LIMIT = 2**62


MAX_NODES = 100_000  # of an expression, with the bodies of the called functions
KINDS = {"int": "int", "real": "double", "bool": "bool"}


class FunctionDefinition(NamedTuple):
    """A function of a JANI file: the names of its parameters, and its body as JSON."""

    parameters: tuple[str, ...]
    body: Any


KEYS = {
    "model": "jani-version name metadata type features actions constants variables restrict-initial "
    "properties automata system functions",
    "constant": "name type value",
    "variable": "name type transient initial-value",
    "type": "kind base lower-bound upper-bound",
    "automaton": "name variables restrict-initial locations initial-locations edges functions",
    "location": "name transient-values",
    "edge": "location action rate guard destinations assignments",
    "destination": "location probability assignments",
    "assignment": "ref value index",
    "exp": "exp",
    "system": "elements syncs",
    "element": "automaton",
    "sync": "synchronise result",
    "function": "name type parameters body",
    "parameter": "name type",
    "property": "name expression",
    "action": "name",
    "filter": "op fun values states",
    "initial": "op",
    "expression": "op left right exp if then else function args constant",
    "query": "op exp left right accumulate",
    "path": "op exp left right time-bounds step-bounds reward-bounds",
    "bounds": "lower upper",
    "expected": "op exp accumulate reach time-instant step-instant reward-instants",
}
"""Keys of the objects that are read; ``comment`` is skipped in each, and ``metadata`` of the model."""


class JaniReader:
    """Base class of readers of JANI: checks of JSON objects, functions, and expressions as trees.

    Parameters
    ----------
    file
        Name of the file, in messages.

    Attributes
    ----------
    functions
        Functions of the file by name. A call is replaced by the body, with the arguments in place of parameters.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.functions: dict[str, FunctionDefinition] = {}
        self._arguments: dict[str, Expression] = {}  # arguments of the current call, by parameter
        self._called: list[str] = []  # names of the functions of nested calls

    def read_functions(self, functions: Any, where: str) -> None:
        """Check the ``functions`` of a model or an automaton and add them to this reader."""
        for k, value in enumerate(functions):
            path = f"{where}[{k}]"
            self.check_keys(value, "function", path)
            name = self.entry(value, "name", path, str)
            parameters = [
                self.entry(p, "name", f"{path}.parameters", str) for p in self.entry(value, "parameters", path, list)
            ]
            for entry in value["parameters"]:
                self.check_keys(entry, "parameter", path)
            for entry in (value, *value["parameters"]):
                if not isinstance(entry.get("type"), str) or entry["type"] not in KINDS:
                    raise self.error(path, f"type {entry.get('type')!r}: must be int, real or bool")
            if name in self.functions or len(set(parameters)) < len(parameters):
                raise self.error(path, f"function {name!r}: it or a parameter is defined twice")
            if "body" not in value:
                raise self.error(path, "'body' is missing")
            self.functions[name] = FunctionDefinition(tuple(parameters), value["body"])

    def error(self, where: str, reason: str) -> FileError:
        """Return a FileError at a path in the file such as ``automata[0].edges[2].guard``."""
        return FileError((self.file, None), f"{where}: {reason}")

    def entry(self, value: Any, name: str, where: str, kind: type | tuple[type, ...]) -> Any:
        """Return the entry ``name`` of a JSON object; FileError if it is missing or of another type than ``kind``."""
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise self.error(where, f"{name!r} is missing or of a wrong type")
        return value[name]

    def check_keys(self, value: Any, kind: str, where: str) -> Any:
        """Return the value unchanged; FileError unless it is an object with the keys that ``KEYS[kind]`` allows."""
        if not isinstance(value, dict):
            raise self.error(where, f"{kind}: an object is expected")
        for key in value:
            if key not in KEYS[kind].split() and key != "comment":
                raise self.error(where, f"{kind}: {key[:40]!r} is not read")
        return value

    def check_operands(self, value: Any, operands: str, where: str) -> None:
        """Raise FileError for a key that the operator of an object does not use, though another operator does."""
        for key in value:
            if key not in ("op", "comment", *operands.split()):
                raise self.error(where, f"{value.get('op')!r} with {key!r}: takes {', '.join(operands.split())}")

    def optional_list(self, value: Any, name: str, where: str) -> list[Any]:
        """Return the list ``name`` of a JSON object, empty if it is missing; FileError for other types."""
        values = value.get(name, [])
        if not isinstance(values, list):
            raise self.error(where, f"{name!r} is of a wrong type: must be a list")
        return values

    def expression(self, value: Any, where: str, depth: int = 0) -> Expression:
        """Return the expression tree of a JSON value.

        Raises
        ------
        FileError
            With the position in the file, for an unsupported expression.
        """
        if depth > MAX_DEPTH:
            raise self.error(where, f"expressions nested more than {MAX_DEPTH} deep")
        if isinstance(value, bool):
            return Literal(value, 1)
        if isinstance(value, (int, float)):
            if (isinstance(value, int) and abs(value) >= INT_LIMIT) or not math.isfinite(value):
                raise self.error(where, f"{value}: beyond the range of numbers")
            return Literal(value, 1)
        if isinstance(value, str):
            return self._arguments.get(value) or Name(value, 1)
        if not isinstance(value, dict):
            raise self.error(where, f"{type(value).__name__} is no expression")
        self.check_keys(value, "expression", where)
        if "constant" in value:
            self.check_operands(value, "constant", where)
            return self._read_named_constant(value["constant"], where)
        operator = value.get("op")
        if not isinstance(operator, str):
            raise self.error(where, f"operator {operator!r} is not read")
        if operator in SIGNS:
            return self._read_chain(value, where, depth)
        if operator == "call":
            return self._inline_call(value, where, depth)
        return self._read_operation(operator, value, where, depth)

    def _read_named_constant(self, name: Any, where: str) -> Expression:
        """Return the tree of a constant of JANI, e or π."""
        number = {"e": math.e, "π": math.pi}.get(name) if isinstance(name, str) else None
        if number is None:
            raise self.error(where, f"constant {name!r}: must be e or π")
        return Literal(number, 1)

    def _inline_call(self, value: Any, where: str, depth: int) -> Expression:
        """Return the tree of a called function's body, with the arguments in place of its parameters."""
        self.check_operands(value, "function args", where)
        name, values = (
            self.entry(value, "function", where, str),
            self.entry(value, "args", where, list),
        )
        if name not in self.functions:
            raise self.error(where, f"function {name!r} is not defined")
        if name in self._called:
            raise self.error(where, f"{' -> '.join([*self._called, name])}: functions in a circle")
        parameters, body = self.functions[name]
        if len(values) != len(parameters):
            signature = f"{count_of(len(parameters), 'argument')} ({', '.join(parameters)})"
            raise self.error(where, f"{name!r} with {count_of(len(values), 'argument')}: takes {signature}")
        arguments = [self.expression(argument, where, depth + 1) for argument in values]
        outer_arguments, self._arguments = self._arguments, dict(zip(parameters, arguments, strict=True))
        self._called.append(name)
        tree = self.expression(body, f"{where}, in the body of {name!r}", depth + 1)
        self._called.pop()
        self._arguments = outer_arguments
        if size_of(tree, {})[0] > MAX_NODES:
            raise self.error(where, f"{name!r}: more than {MAX_NODES:,} nodes with all calls")
        return tree

    def _read_chain(self, value: Any, where: str, depth: int) -> Expression:
        """Return the tree of operands joined by one operator, without recursion over their number."""
        operator, operands = value["op"], []
        while isinstance(value, dict) and value.get("op") == operator and "right" in value:
            self.check_operands(self.check_keys(value, "expression", where), "left right", where)
            right = self.expression(value["right"], where, depth + 1)
            operands.append((SIGNS[operator], right))
            value = value.get("left")
            if operator not in ("∨", "∧", "+", "-", "*", "/"):
                break
        if operator in ("∨", "∧"):  # these may be nested to the right as well
            operands = [step for part in operands for step in _flatten(part)]
        return Chain(self.expression(value, where, depth + 1), tuple(operands[::-1]), 1)

    def _read_operation(self, operator: Any, value: Any, where: str, depth: int) -> Expression:
        """Return the tree of a negation, a choice or a function; FileError for other operators."""

        def part(name: str) -> Expression:
            """Return the tree of the operand at this key of the JSON object."""
            if name not in value:
                raise self.error(where, f"{operator!r} without {name!r}")
            return self.expression(value[name], where, depth + 1)

        if operator == "¬":
            self.check_operands(value, "exp", where)
            return Negation("!", part("exp"), 1)
        if operator == "ite":
            self.check_operands(value, "if then else", where)
            return Choice(((part("if"), part("then")),), part("else"), 1)
        if operator in FUNCTION_NAMES:
            name = FUNCTION_NAMES[operator]
            operands = ("exp",) if FUNCTIONS[name].arguments == 1 else ("left", "right")
            self.check_operands(value, " ".join(operands), where)
            return Call(name, tuple(part(operand) for operand in operands), 1)
        raise self.error(where, f"operator {operator!r} is not read")


def _flatten(step: tuple[str, Expression]) -> list[tuple[str, Expression]]:
    """Return the pairs (operator, operand), last first, of an operand that is itself a chain of the same operator."""
    sign, right = step
    if isinstance(right, Chain) and all(s == sign for s, _ in right.rest):
        return [*reversed(right.rest), (sign, right.first)]
    return [step]


# ------------------------------------------------------------------------------------------ properties


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
            name = self.entry(value, "name", where, str)
            if name in properties.properties:
                raise self.error(where, f"property {name!r} is defined twice")
            try:
                self.check_keys(value, "property", where)
                properties.properties[name] = self._read_filter(value.get("expression"), where)
            except FileError as error:
                properties.properties[name] = error
            properties.lines[name] = 1
        return properties

    def _read_filter(self, value: Any, where: str) -> Any:
        """Return the tree of a filter over the initial states."""
        if not isinstance(value, dict) or value.get("op") != "filter":
            raise self.error(where, "a filter is expected")
        self.check_keys(value, "filter", where)
        how = FILTERS.get(str(value.get("fun", "")))
        states = value.get("states")
        initial = isinstance(states, dict) and states.get("op") == "initial"
        if how is None or not initial:
            raise self.error(where, f"filter {value.get('fun')!r} over {states!r} is not read")
        self.check_keys(states, "initial", where)
        inner = self._read_query(value.get("values"), where)
        return inner if how in ("default", "min", "max") else Filter(how, inner, InitialStates(), 1)

    def _read_query(self, value: Any, where: str) -> Any:
        """Return the tree of the value inside a filter: a comparison, or an operator P, S or E."""
        operator = value.get("op") if isinstance(value, dict) else None
        if operator not in ("Emin", "Emax") and isinstance(value, dict):
            self.check_keys(value, "query", where)
        if not isinstance(operator, str):
            raise self.error(where, f"operator {operator!r} is not read")
        if operator in COMPARED:
            self.check_operands(value, "left right", where)
            inner = self._read_query(value.get("left"), where)
            limit = self.expression(value.get("right"), where)
            written = json.dumps(value.get("right"))
            options = inner.of, 1, inner.reward, None, (), written
            return Operator(inner.kind, COMPARED[operator], limit, *options)
        if operator in ("Pmin", "Pmax"):
            self.check_operands(value, "exp", where)
            return Operator("P", None, None, self._read_path(value.get("exp"), where), 1)
        if operator in ("Smin", "Smax"):
            self.check_operands(value, "exp accumulate", where)
            tree = self.expression(value.get("exp"), where)
            if not self._is_boolean(tree):
                accumulate = value.get("accumulate", ["steps", "time"])
                return Operator("SR", None, None, Path("S"), 1, self._read_accumulation(tree, accumulate, where))
            if "accumulate" in value:
                raise self.error(where, f"{operator!r} of a truth value: 'accumulate' is not read")
            return Operator("S", None, None, tree, 1)
        if operator in ("Emin", "Emax"):
            return self._read_expectation(value, where)
        raise self.error(where, f"operator {operator!r} is not read")

    def _read_path(self, value: Any, where: str) -> Path:
        """Return the tree of a path formula with its bounds on time."""
        operator = value.get("op") if isinstance(value, dict) else None
        if operator not in ("U", "W", "R", "F", "G", "X"):
            raise self.error(where, f"path operator {operator!r} is not read")
        self.check_keys(value, "path", where)
        if "reward-bounds" in value or "step-bounds" in value:
            raise self.error(where, "bounds on steps or rewards of a path are not read")
        operands = "exp" if operator in ("F", "G", "X") else "left right"
        self.check_operands(value, f"{operands} time-bounds", where)
        bounds = self.check_keys(value.get("time-bounds", {}), "bounds", where)
        if "time-bounds" in value and not {"lower", "upper"} & bounds.keys():
            raise self.error(where, "time-bounds without 'lower' and 'upper': must have one of them")
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

    def _read_expectation(self, value: dict[str, Any], where: str) -> Operator:
        """Return the reward operator that an expected value means."""
        self.check_keys(value, "expected", where)
        if "exp" not in value:
            raise self.error(where, f"{value['op']!r} without 'exp'")
        tree = self.expression(value["exp"], where)
        accumulate = "accumulate" in value
        reward = self._read_accumulation(tree, value.get("accumulate", ["time"]), where)
        if any(name in value for name in ("step-instant", "reward-instants")):
            raise self.error(where, "instants in steps or rewards are not read")
        if "reach" in value and "time-instant" in value:
            raise self.error(where, "'reach' and 'time-instant': must be one of them")
        if not accumulate and "time-instant" not in value:
            message = (
                "'accumulate' is missing: a value at the moment of 'reach' is not read, but one at a 'time-instant'"
            )
            raise self.error(where, message)
        if "reach" in value:
            path = Path("F", right=self.expression(value["reach"], where))
        elif "time-instant" in value:
            time = self.expression(value["time-instant"], where)
            interval = Interval(high=time) if accumulate else Interval(time, time)
            path = Path("C" if accumulate else "I", interval=interval)
        else:
            path = Path("C")
        return Operator("R", None, None, path, 1, reward)

    def _read_accumulation(self, tree: Expression, accumulate: Any, where: str) -> Accumulated:
        """Return an expression as rewards of time in states, of transitions and of leaving states."""
        events = ("steps", "time", "exit")
        if not isinstance(accumulate, list) or not accumulate or not all(event in events for event in accumulate):
            raise self.error(where, f"accumulate {accumulate!r}: must be a list of steps, time and exit")
        if len(set(accumulate)) < len(accumulate):
            raise self.error(where, f"accumulate {accumulate!r}: an entry stands there twice")
        if self._is_boolean(tree) and not (isinstance(tree, Name) and tree.name not in self.kinds):
            raise self.error(where, "a truth value is accumulated: must be a number")
        step = None
        if "steps" in accumulate:
            step = (
                tree.name if isinstance(tree, Name) and tree.name in self.transient else f"{where}: {len(self.steps)}"
            )
            self.steps[step] = tree
        state, leaving = (tree if event in accumulate else None for event in ("time", "exit"))
        return Accumulated(state, step, leaving)

    def _is_boolean(self, tree: Expression) -> bool:
        """Return whether an expression is a truth value; undeclared names count as truth values."""
        match tree:
            case Literal(value):
                return isinstance(value, bool)
            case Name(name):
                return self.kinds.get(name, "bool") == "bool"
            case Negation(sign):
                return sign == "!"
            case Chain(_, rest):
                return OPERATORS[rest[0][0]].is_condition
            case Choice(_, otherwise):
                return self._is_boolean(otherwise)
        return False


# ---------------------------------------------------------------------------------------------- models


SHARE_ROUNDING = 1e-6
"""Tolerance of sums of probabilities, which may be written with few digits."""
FEATURES = {"derived-operators", "functions", "state-exit-rewards"}
DISTINCT_KEYS = partial(unique_fields, message="the key {} stands twice in one object")


def parse_jani(path: File) -> tuple[Program, Properties]:
    """Return the program and the properties of a JANI file.

    Raises
    ------
    FileError
        With the position in the file and the reason, for a file that cannot be used.
    """
    reader = _Reader(path.name)
    contents = _read_json(path)
    program = reader.program(contents)
    reader_of_properties = JaniProperties(path.name, reader.kinds, reader.transient)
    reader_of_properties.functions = reader.functions
    properties = reader_of_properties.read(reader.optional_list(contents, "properties", "file"))
    return reader.with_steps(program, reader_of_properties.steps), properties


def _read_json(path: File) -> dict[str, Any]:
    """Return the JSON object in a file; FileError for malformed JSON and repeated keys."""
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
    """Reader of a JANI model into a `Program`, with one method per construct.

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
        """Return the program that the JSON object of a file describes."""
        if contents.get("type") != "ctmc":
            raise self.error("type", f"{contents.get('type')!r}: must be 'ctmc'")
        self.check_keys(contents, "model", "file")
        if (version := contents.get("jani-version", 1)) != 1:
            raise self.error("jani-version", f"{version!r}: must be 1")
        features = self.optional_list(contents, "features", "file")
        if unread := {str(feature) for feature in features} - FEATURES:
            raise self.error("features", f"{', '.join(sorted(unread))}: not read")
        actions = self.optional_list(contents, "actions", "file")
        names = [self.entry(self.check_keys(a, "action", "actions"), "name", "actions", str) for a in actions]
        if len(set(names)) < len(names):
            raise self.error("actions", "an action is declared twice")
        self.actions = set(names)
        program = Program(self.file, "ctmc")
        self.read_functions(self.optional_list(contents, "functions", "file"), "functions")
        for k, constant in enumerate(self.optional_list(contents, "constants", "file")):
            self._read_constant(program, constant, f"constants[{k}]")
        for k, variable in enumerate(self.optional_list(contents, "variables", "file")):
            self._read_variable(program, variable, f"variables[{k}]")
        automata = self.entry(contents, "automata", "file", list)
        for k, automaton in enumerate(automata):
            self._read_automaton(program, automaton, f"automata[{k}]")
        for name, variable in self.transient.items():
            program.formulas[name] = self._value_in_states(variable)
            if variable.kind == "bool":
                program.labels[name] = Name(name, 1)
            else:
                program.rewards[name] = (RewardItem(None, Literal(True, 1), Name(name, 1), 1),)
        self._check_unrestricted(contents, "restrict-initial")
        return self._with_composition(program, contents)

    def _check_unrestricted(self, contents: Any, where: str) -> None:
        """Raise FileError if an object restricts its initial states by a condition."""
        start = self.check_keys(contents.get("restrict-initial", {}), "exp", where)
        if start.get("exp", True) is not True:
            raise self.error(where, "initial states by a condition are not read")

    def _read_constant(self, program: Program, value: Any, where: str) -> None:
        """Add a constant to the program."""
        name = self.entry(value, "name", where, str)
        self.check_keys(value, "constant", where)
        kind = value.get("type")
        if isinstance(kind, dict):
            self.check_keys(kind, "type", where)
            if kind.get("kind") != "bounded" or "lower-bound" in kind or "upper-bound" in kind:
                raise self.error(where, f"type {kind!r}: bounds of constants are not read")
        kind = kind.get("base") if isinstance(kind, dict) else kind
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.error(where, f"type {kind!r}: must be int, real or bool")
        definition = value.get("value")
        tree = None if definition is None else self.expression(definition, where)
        program.check_new(name, 1)
        self.kinds[name] = KINDS[kind]
        program.constants[name] = Constant(name, KINDS[kind], tree, 1)

    def _read_variable(self, program: Program, value: Any, where: str) -> None:
        """Add a variable to the program; a transient variable to ``self.transient``."""
        name = self.entry(value, "name", where, str)
        if name in self.transient:
            raise self.error(where, f"{name!r} is defined twice")
        program.check_new(name, 1)
        self.check_keys(value, "variable", where)
        kind, low, high = value.get("type"), None, None
        if isinstance(kind, dict) and kind.get("kind") == "bounded":
            self.check_keys(kind, "type", where)
            low = self.expression(kind.get("lower-bound"), where)
            high = self.expression(kind.get("upper-bound"), where)
            kind = kind.get("base")
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.error(where, f"type {kind!r} is not read")
        if "initial-value" not in value:
            message = f"initial-value of {name!r} is missing: several initial states are not read"
            raise self.error(where, message)
        start = self.expression(value["initial-value"], where)
        if not isinstance(value.get("transient", False), bool):
            raise self.error(where, f"transient = {value['transient']!r}: must be true or false")
        self.kinds[name] = KINDS[kind]
        if value.get("transient"):
            self.transient[name] = Transient(name, KINDS[kind], start)
            return
        if kind == "real":
            raise self.error(where, "real variables make the states uncountable: not read")
        program.variables[name] = Variable(name, KINDS[kind], low, high, start, 1)

    def _read_automaton(self, program: Program, value: Any, where: str) -> None:
        """Add an automaton to the program, as a module with a variable for its location."""
        name = self.entry(value, "name", where, str)
        self.check_keys(value, "automaton", where)
        self._check_unrestricted(value, f"{where}.restrict-initial")
        model_functions = dict(self.functions)
        self.read_functions(self.optional_list(value, "functions", where), f"{where}.functions")
        for k, variable in enumerate(self.optional_list(value, "variables", where)):
            self._read_variable(program, variable, f"{where}.variables[{k}]")
        locations = self.entry(value, "locations", where, list)
        names = [
            self.entry(self.check_keys(x, "location", f"{where}.locations"), "name", f"{where}.locations", str)
            for x in locations
        ]
        if len(set(names)) < len(names):
            raise self.error(f"{where}.locations", "a location is defined twice")
        location_name = f"{name}.location"
        starts = self.entry(value, "initial-locations", where, list)
        if len(starts) != 1 or starts[0] not in names:
            raise self.error(where, "one initial location is expected")
        if len(names) > 1:
            last = Literal(len(names) - 1, 1)
            start = Literal(names.index(starts[0]), 1)
            program.variables[location_name] = Variable(location_name, "int", Literal(0, 1), last, start, 1)
        for number, location in enumerate(locations):
            condition = _is_at_location(location_name, number) if len(names) > 1 else None
            for assignment in self.optional_list(location, "transient-values", where):
                ref = self._target_variable(assignment, where)
                if ref not in self.transient:
                    raise self.error(where, f"{ref!r} is no transient variable")
                tree = self.expression(assignment.get("value"), f"{where}.locations[{number}]")
                self.state_values.setdefault(ref, []).append((name, condition, tree))
        commands = tuple(
            self._read_edge(edge, names, location_name, f"{where}.edges[{k}]")
            for k, edge in enumerate(self.entry(value, "edges", where, list))
        )
        if name in program.modules:
            raise self.error(where, f"automaton {name!r} is defined twice")
        program.modules[name] = Module(name, commands, 1)
        self.functions = model_functions

    def _target_variable(self, value: Any, where: str) -> str:
        """Return the name of the variable that an assignment sets; FileError for an index other than 0."""
        ref: str = self.entry(value, "ref", where, str)
        self.check_keys(value, "assignment", where)
        if value.get("index", 0) != 0:
            raise self.error(where, "assignments one after the other (index) are not read")
        return ref

    def _read_edge(self, edge: Any, names: list[str], location_name: str, where: str) -> Command:
        """Return an edge of an automaton as a command."""
        source = self.entry(edge, "location", where, str)
        self.check_keys(edge, "edge", where)
        action = edge.get("action", "")
        if not isinstance(action, str) or (action and action not in self.actions):
            raise self.error(where, f"action {action!r} is not declared in 'actions'")
        if source not in names:
            raise self.error(where, f"location {source!r} is not defined")
        guard = self.expression(
            self.check_keys(edge.get("guard", {"exp": True}), "exp", f"{where}.guard").get("exp"),
            f"{where}.guard",
        )
        if len(names) > 1:
            guard = Chain(_is_at_location(location_name, names.index(source)), (("&", guard),), 1)
        rate_object = self.check_keys(self.entry(edge, "rate", where, dict), "exp", f"{where}.rate")
        rate = self.expression(rate_object.get("exp"), f"{where}.rate")
        shared = self.optional_list(edge, "assignments", where)
        destinations = self.entry(edge, "destinations", where, list)
        self._check_shares(destinations, where)
        branches = tuple(
            self._read_destination(d, rate, shared, names, location_name, f"{where}.destinations[{k}]")
            for k, d in enumerate(destinations)
        )
        return Command(action, guard, branches, 1)

    def _check_shares(self, destinations: list[Any], where: str) -> None:
        """Raise FileError if the probabilities of an edge's destinations are numbers that do not sum to 1."""
        probabilities = [
            d["probability"] if isinstance(d, dict) and "probability" in d else {"exp": 1} for d in destinations
        ]
        shares = [share.get("exp") if isinstance(share, dict) else None for share in probabilities]
        numbers = [float(share) for share in shares if isinstance(share, int | float) and not isinstance(share, bool)]
        if len(numbers) == len(shares) and abs(math.fsum(numbers) - 1.0) > SHARE_ROUNDING:
            raise self.error(f"{where}.destinations", f"probabilities sum to {math.fsum(numbers):.12g}: must be 1")

    def _read_destination(
        self, destination: Any, rate: Expression, shared: Any, names: list[str], location_name: str, where: str
    ) -> Branch:
        """Return a destination of an edge as a branch: its rate with the assignments."""
        self.check_keys(destination, "destination", where)
        share = self.check_keys(destination.get("probability", {"exp": 1}), "exp", f"{where}.probability").get("exp")
        if not _is_one(share):
            rate = _branch_rate(rate, self.expression(share, where))
        changes: list[Assignment] = []
        transient: list[Assignment] = []
        for assignment in [*shared, *self.optional_list(destination, "assignments", where)]:
            ref = self._target_variable(assignment, where)
            value = self.expression(assignment.get("value"), where)
            if ref in {assigned.name for assigned in transient}:
                raise self.error(where, f"{ref!r} is assigned twice")
            (transient if ref in self.transient else changes).append(Assignment(ref, value, 1))
        target = self.entry(destination, "location", where, str)
        if target not in names:
            raise self.error(where, f"location {target!r} is not defined")
        if len(names) > 1:
            changes.append(Assignment(location_name, Literal(names.index(target), 1), 1))
        return Branch(rate, tuple(changes), tuple(transient))

    def _value_in_states(self, variable: Transient) -> Expression:
        """Return a transient variable's value in states, as a tree: by location, otherwise its initial value."""
        cases = self.state_values.get(variable.name, [])
        if len({automaton for automaton, _, _ in cases}) > 1:
            raise self.error(variable.name, "a value in several automata: not read")
        if len(cases) > len({repr(condition) for _, condition, _ in cases}):
            raise self.error(variable.name, "two values in one location")
        by_condition = tuple((condition, value) for _, condition, value in cases if condition is not None)
        if len(by_condition) < len(cases):
            return cases[0][2]
        return Choice(by_condition, variable.start, 1) if cases else variable.start

    def _with_composition(self, program: Program, contents: dict[str, Any]) -> Program:
        """Return the program with the parallel composition that ``system`` describes."""
        system = self.entry(contents, "system", "file", dict)
        self.check_keys(system, "system", "system")
        elements = self.entry(system, "elements", "system", list)
        names = [
            self.entry(self.check_keys(e, "element", "system.elements"), "automaton", "system.elements", str)
            for e in elements
        ]
        if repeated := [name for name in names if names.count(name) > 1]:
            message = f"automaton {repeated[0]!r} stands there twice: must be copies with names of their own"
            raise self.error("system.elements", message)
        parts = tuple(Composition("module", (name,)) for name in names)
        vectors = []
        for k, sync in enumerate(self.optional_list(system, "syncs", "system")):
            self.check_keys(sync, "sync", f"system.syncs[{k}]")
            actions = self.entry(sync, "synchronise", f"system.syncs[{k}]", list)
            if len(actions) != len(names):
                raise self.error(f"system.syncs[{k}]", "one entry for each element is expected")
            result = sync.get("result", "")
            for action in (*actions, result or None):
                if action is not None and (not isinstance(action, str) or action not in self.actions):
                    message = f"action {action!r} is not declared in 'actions'"
                    raise self.error(f"system.syncs[{k}]", message)
            vectors.append((tuple(actions), result or ""))
        self._warn_of_blocked_edges(program, names, [actions for actions, _ in vectors])
        composition = Composition("vectors", parts, tuple(vectors))
        return Program(**{**vars(program), "composition": composition})

    def _warn_of_blocked_edges(self, program: Program, names: Sequence[str], vectors: Sequence[Sequence[Any]]) -> None:
        """Warn of actions of edges that no synchronisation vector has, and of vectors with actions that no edge has."""
        messages = []
        for column, name in enumerate(names):
            of_edges = program.modules[name].alphabet if name in program.modules else set()
            of_vectors = {actions[column] for actions in vectors} - {None}
            for action in sorted(of_edges - of_vectors):
                messages.append(f"no entry has the action {action!r} of automaton {name!r}: its edges never happen")
            for action in sorted(of_vectors - of_edges):
                messages.append(f"automaton {name!r} has no edge with the action {action!r}: its entries never happen")
        for message in messages:
            warn_caller(UserWarning(f"{self.file}: system.syncs: {message}"), "markov")

    def with_steps(self, program: Program, property_rewards: Mapping[str, Expression]) -> Program:
        """Return the program with transition rewards: of transient variables, and of expressions in properties."""
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
    """Return whether a tree is the number 0."""
    return isinstance(tree, Literal) and tree.value == 0


def _is_at_location(location_name: str, number: int) -> Expression:
    """Return the condition that an automaton is at the location of this number."""
    return Chain(Name(location_name, 1), (("=", Literal(number, 1)),), 1)


def _branch_rate(rate: Expression, share: Expression) -> Expression:
    """Return the rate of a destination: a negative rate stays negative, whatever the sign of its probability."""
    product = Chain(rate, (("*", share),), 1)
    if any(isinstance(factor, Literal) and factor.value >= 0 for factor in (rate, share)):
        return product
    return Choice(((Chain(rate, (("<", Literal(0, 1)),), 1), rate),), product, 1)


def _is_one(share: Any) -> bool:
    """Return whether a probability is 1, or has the form x / x, which would be rounded, or NaN for 0 / 0."""
    if isinstance(share, dict) and share.get("op") == "/":
        return bool(share.get("left") == share.get("right"))
    return not isinstance(share, bool) and share == 1
