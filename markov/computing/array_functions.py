"""Plain Python functions translated to run once for many states: rules, labels, rewards and sets.

A function's source becomes a tree of closures over a `Frame`, its variables for a set of states. A condition that
differs between states runs both branches, each in a frame narrowed to its states, and merges the variables that they
assign. A loop runs over items that all states have. A construct without a translation is refused when the function is
translated, an operation that is impossible for the values in a call during that call, both by `NotOnArraysError`.

The order of evaluation is Python's in each state: a branch, the second operand of ``and`` and a division are evaluated
only in the states in which Python evaluates them. So every value is Python's, in states outside of a sample as well.

The source is that of the function as it runs: `hopflow.kernels.source.parse` compares the two.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from hopflow.kernels.source import KernelError, parse, syntax_tree
from markov.computing.arrays import (
    SCALARS,
    NotOnArraysError,
    PerState,
    Uniform,
    apply_binary,
    apply_to_values,
    apply_unary,
    as_number,
    as_uniform,
    check_limit,
    compare,
    element,
    holds_arrays,
    maximum,
    merge,
    minimum,
    numpy_truth,
    select,
    truth,
    unwrap,
)

__all__ = [
    "UNKNOWN",
    "Frame",
    "States",
    "TranslatedFunction",
    "UpdatedStates",
    "call_for_states",
    "codes_in",
    "is_generator",
    "items_of",
    "narrow",
    "receive_transition",
    "translate",
    "value_of_name",
]

MAX_DEPTH = 8
"""Functions that call each other."""
MAX_NODES = 128
"""Nodes of an expression: a sum of more terms might make large whole numbers inexact."""
UNASSIGNED = object()
"""Value of a variable that no branch has assigned."""
UNKNOWN = object()
"""Value of a name or an operand that a function does not determine."""


# The state and the variables of a function, in a set of states


class States(PerState):
    """The state ``s`` of a function in many states at once: a tuple whose fields have one value per state.

    Fields are narrowed when they are read.

    Parameters
    ----------
    make
        The NamedTuple class of a state.
    values
        The value of each field: an array, a tuple of arrays, or a uniform value. None: that of ``parent`` in ``rows``.
    parent, rows
        States that these were selected from, and their indices in it; None for all states of a run.
    """

    __slots__ = ("make", "parent", "rows", "values")

    def __init__(self, make: Any, values: Any, parent: States | None = None, rows: Any = None) -> None:
        self.make, self.parent, self.rows = make, parent, rows
        self.values: list[Any] = list(values)

    def field(self, index: int) -> Any:
        """Return the values of a state's field by its index, one per state."""
        value = self.values[index]
        if value is None and self.parent is not None:
            value = self.values[index] = narrow(self.parent.field(index), self.rows)
        return value

    def field_index(self, name: str) -> int:
        """Return the index of a state's field by its name; NotOnArraysError for an unknown name."""
        try:
            index: int = self.make._fields.index(name)
        except ValueError:
            raise NotOnArraysError(f"{name} of a state") from None
        return index

    def fields(self) -> Any:
        """Return the user's NamedTuple with the values of all fields, one per state each."""
        return self.make._make([self.field(k) for k in range(len(self.values))])


class UpdatedStates(PerState):
    """Result of ``s._replace(...)`` in many states: ``base`` with new values of a few fields, by field index."""

    __slots__ = ("base", "values")

    def __init__(self, base: States, values: dict[int, Any]) -> None:
        self.base, self.values = base, values

    @property
    def make(self) -> Any:
        """The user's NamedTuple class of a state."""
        return self.base.make

    def field(self, index: int) -> Any:
        """Return the values of a state's field by its index, one per state."""
        return self.values[index] if index in self.values else self.base.field(index)

    def field_index(self, name: str) -> int:
        """Return the index of a state's field by its name; NotOnArraysError for an unknown name."""
        return self.base.field_index(name)

    def fields(self) -> Any:
        """Return the user's NamedTuple with the values of all fields, one per state each."""
        return self.base.make._make([self.field(k) for k in range(len(self.base.values))])


def narrow(value: Any, rows: Any) -> Any:
    """Return the part of a value that belongs to the states with the indices ``rows``."""
    kind = type(value)
    if kind is np.ndarray:
        return value[rows]
    if kind in SCALARS:
        return value
    if kind is States:
        return States(value.make, [None] * len(value.values), value, rows)
    if kind is UpdatedStates:
        return UpdatedStates(narrow(value.base, rows), {k: narrow(v, rows) for k, v in value.values.items()})
    if not holds_arrays(value):
        return value
    if isinstance(value, dict):
        return {key: narrow(part, rows) for key, part in value.items()}
    parts = [narrow(part, rows) for part in value]
    return tuple.__new__(kind, parts) if isinstance(value, tuple) else parts


class Frame:
    """The values of a function's variables during a call that runs for a set of states at once.

    Attributes
    ----------
    count
        Number of states.
    parent, rows
        The frame that this one was narrowed from, and the indices of its states there; None for the frame of a call.
    caller
        The frame of the call, which has the same states, or None.
    function
        The function whose variables they are.
    receive
        Called with the transitions that a rule yields.
    """

    __slots__ = ("_rows_of_run", "caller", "count", "function", "parent", "receive", "rows", "values")
    caller: Frame | None
    function: Any
    receive: Callable[..., None]

    def __init__(self, count: int, values: dict[str, Any], parent: Frame | None = None, rows: Any = None) -> None:
        self.count, self.values, self.parent, self.rows = count, values, parent, rows
        self._rows_of_run: Any = None
        if parent is not None:
            self.caller, self.function, self.receive = parent.caller, parent.function, parent.receive

    @classmethod
    def outermost(cls, count: int, receive: Callable[..., None]) -> Frame:
        """Return the frame from which the first function is called, for ``count`` states."""
        frame = cls(count, {})
        frame.caller, frame.function, frame.receive = None, None, receive
        return frame

    def call_frame(self, function: FunctionType, values: dict[str, Any]) -> Frame:
        """Return the frame of a function that is called from this frame, with its arguments by name."""
        frame = Frame(self.count, values)
        frame.caller, frame.function, frame.receive = self, function, self.receive
        return frame

    def get(self, name: str) -> Any:
        """Return the value of a variable in the states of the frame; NotOnArraysError if it has none."""
        value = self.values.get(name, UNASSIGNED)
        if value is UNASSIGNED:
            if self.parent is None or name in self.values:
                raise NotOnArraysError(f"{name} may have no value")
            value = self.values[name] = narrow(self.parent.get(name), self.rows)
        return value

    def narrow_to(self, rows: Any) -> Frame:
        """Return a frame for a part of this frame's states, by their indices in it."""
        return Frame(len(rows), {}, self, rows)

    @property
    def rows_of_run(self) -> Any:
        """Indices of the frame's states among all states of the run; None for all of them."""
        if self._rows_of_run is None:
            if self.parent is None:
                return None if self.caller is None else self.caller.rows_of_run
            above = self.parent.rows_of_run
            self._rows_of_run = self.rows if above is None else above[self.rows]
        return self._rows_of_run


# Translated functions


Value = Callable[[Frame], Any]
NEXT, RETURN, BREAK, CONTINUE = "next", "return", "break", "continue"
Signal = tuple[str, Any]
Statement = Callable[[Frame], Signal]
FALL_THROUGH: Signal = (NEXT, None)


def is_generator(function: FunctionType) -> bool:
    """Return whether a function is a generator function, with ``yield`` in its body."""
    return bool(function.__code__.co_flags & inspect.CO_GENERATOR)


class TranslatedFunction:
    """A user's function, translated so that one call computes its values for many states.

    Parameters
    ----------
    function
        The user's function.
    body
        Its translated statements.
    """

    def __init__(self, function: FunctionType, body: Statement) -> None:
        self.function, self.body = function, body
        code = function.__code__
        self.names = code.co_varnames[: code.co_argcount]

    def run(self, arguments: tuple[Any, ...], frame: Frame, keywords: dict[str, Any] | None = None) -> Signal:
        """Call the function for the states of the caller's frame; return how it ended (a signal) and its value."""
        values = self._bind(arguments, keywords)
        depth, above = 0, frame.caller
        while above is not None:
            depth, above = depth + 1, above.caller
        if depth > MAX_DEPTH:
            raise NotOnArraysError("functions that call each other")
        return self.body(frame.call_frame(self.function, {name: check_limit(value) for name, value in values.items()}))

    def value(self, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: Frame) -> Any:
        """Return the value of a call of the function: one value, or one per state of a frame."""
        if is_generator(self.function):
            raise NotOnArraysError("a generator outside of yield from")
        signal, value = self.run(arguments, frame, keywords)
        return value if signal == RETURN else None

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any] | None) -> dict[str, Any]:
        """Return the value of each parameter by name, from positional and keyword arguments and defaults."""
        if not keywords and len(arguments) == len(self.names):
            return dict(zip(self.names, arguments, strict=True))
        keywords = keywords or {}
        defaults = self.function.__defaults__ or ()
        values = dict(zip(self.names[len(self.names) - len(defaults) :], map(as_uniform, defaults), strict=True))
        values |= dict(zip(self.names, arguments, strict=False)) | keywords
        repeated = set(self.names[: len(arguments)]) & keywords.keys()
        if len(arguments) > len(self.names) or repeated or values.keys() != set(self.names):
            raise NotOnArraysError("arguments that do not fit")
        return values


def call_for_states(function: Any, arguments: tuple[Any, ...], count: int) -> Any:
    """Return the value of a user's function or method in ``count`` states: one value, or one per state.

    Parameters
    ----------
    function
        The user's function, not translated.
    arguments
        Arrays, `States`, tuples of these, and objects of the user.

    Raises
    ------
    NotOnArraysError
        When the function has no translation, or none for these values.
    """
    try:
        with np.errstate(all="ignore"):  # results that are not finite are compared as they are
            return call(function, arguments, {}, Frame.outermost(count, _refuse_transition))
    except NotOnArraysError:
        raise
    except Exception as error:  # a function may raise anything: plain Python reports it with the state
        raise NotOnArraysError(str(error)) from error


def _refuse_transition(*_: Any) -> None:
    """Raise NotOnArraysError: a function of the state that should return a value yields a transition."""
    raise NotOnArraysError("a function of the state yields")


@functools.lru_cache(maxsize=256)
def translate(function: FunctionType) -> TranslatedFunction:
    """Return the translation of a user's function, which computes many states at once; NotOnArraysError if none."""
    code = function.__code__
    variadic = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if hasattr(function, "__wrapped__") or function.__kwdefaults__ or code.co_kwonlyargcount or variadic:
        raise NotOnArraysError("a function with a wrapper, or with arguments by name only")
    body = _translate_code(code, _Holder(function))
    if body is None:
        raise NotOnArraysError("a function that has no translation")
    return TranslatedFunction(function, body)


class _Holder:
    """Wrapper of a function, equal to all others, so that a cached translator depends on the code alone."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Holder)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=256)
def _translate_code(code: CodeType, holder: _Holder) -> Statement | None:
    """Return the translated statements of a function's code; None if a part has no translation."""
    try:
        tree = _parse_lambda(code) if code.co_name == "<lambda>" else parse(holder.function)
        if tree is None or code.co_argcount != len(tree.args.args) or tree.args.posonlyargs:
            return None
        variables = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        variables |= {argument.arg for argument in tree.args.args}
        for node in ast.walk(tree):
            container = isinstance(node, (ast.Dict, ast.List, ast.Tuple))
            if isinstance(node, ast.expr) and not container and len(list(_expressions_in(node))) > MAX_NODES:
                return None
        translator = Translator(variables - _names_of_comprehensions(tree))
        return translator.block(end_with_branches(tree.body, ast.Return))
    except (KernelError, UntranslatableError):
        return None


def _expressions_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all expressions within a syntax node."""
    return (n for n in ast.walk(node) if isinstance(n, ast.expr))


def _names_of_comprehensions(tree: ast.AST) -> set[str]:
    """Return the names that comprehensions of a function bind and no other statement assigns."""
    targets = [n.target for n in ast.walk(tree) if isinstance(n, ast.comprehension)]
    nodes = {id(n) for target in targets for n in ast.walk(target)}
    names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in nodes
    }
    return names - stored - {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}


@functools.lru_cache(maxsize=8)
def _module_tree(text: str) -> ast.Module | None:
    """Return the syntax tree of a source text; None if it has syntax errors."""
    try:
        tree: ast.Module = syntax_tree(text)
    except (SyntaxError, ValueError):
        return None
    return tree


def _parse_lambda(code: CodeType) -> ast.FunctionDef | None:
    """Return a lambda as the syntax tree of a function; None unless one lambda of its file fits the code."""
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError):
        return None
    tree = _module_tree("".join(lines))
    candidates = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and _is_compiled_from(node, code):
            candidates[ast.dump(node)] = node
    if len(candidates) != 1:
        return None
    (node,) = candidates.values()
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
    function = ast.FunctionDef("lambda_", node.args, body, [], None)
    return ast.copy_location(function, node)


def _is_compiled_from(node: ast.Lambda, code: CodeType) -> bool:
    """Return whether a code object may come from the syntax node of a lambda, by names and constants."""
    unit = compile(ast.Expression(node), "<lambda>", "eval")
    compiled = next(c for c in unit.co_consts if isinstance(c, CodeType))

    def fingerprint(code: CodeType) -> tuple[Any, ...]:
        constants = [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]
        return code.co_varnames, {*code.co_names, *code.co_freevars}, constants

    return fingerprint(compiled) == fingerprint(code)


# Statements


class UntranslatableError(Exception):
    """Error: a statement or expression of a function has no translation to arrays."""


def refusal(node: ast.AST) -> UntranslatableError:
    """Return an UntranslatableError that names the type and the line of a syntax node."""
    return UntranslatableError(f"{type(node).__name__} in line {getattr(node, 'lineno', '?')}")


JUMPS = (ast.Return, ast.Continue, ast.Break, ast.Raise)


def end_with_branches(body: Sequence[ast.stmt], tail: type[ast.stmt] | None) -> list[ast.stmt]:
    """Return an equivalent block in which an ``if`` that may jump is last, with later code in its branches.

    ``if c: A; return`` before B becomes ``if c: A``, ``else: B``. So the branches of a condition end alike, although
    its states differ. ``tail`` is the statement that changes nothing at the end of the block, and is omitted:
    ``return`` of a function, ``continue`` of a loop.
    """
    block: list[ast.stmt] = []
    for index, statement in enumerate(body):
        remaining = list(body[index + 1 :])
        if isinstance(statement, JUMPS):
            if not (tail is not None and isinstance(statement, tail) and getattr(statement, "value", None) is None):
                block.append(statement)
            return block
        if not isinstance(statement, ast.If):
            block.append(statement)
            continue
        yes, no = list(statement.body), list(statement.orelse)
        joins = False
        if remaining and _always_jumps(yes):
            no, joins = no + remaining, True
        elif remaining and _always_jumps(no):
            yes, joins = yes + remaining, True
        tail_of_branch = tail if joins or not remaining else None
        branches = end_with_branches(yes, tail_of_branch), end_with_branches(no, tail_of_branch)
        block.append(ast.copy_location(ast.If(statement.test, *branches), statement))
        if joins:
            return block
    return block


def _always_jumps(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block of statements always ends with a return, break, continue or raise."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    return isinstance(last, JUMPS)


def _targets_in(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the sorted names of the variables that statements assign."""
    return tuple(
        sorted({n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
    )


Target = str | list[Any]


def target_of(node: ast.expr) -> Target:
    """Return the names that an assignment target binds: a string, or nested lists for a tuple."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Tuple, ast.List)):
        return [target_of(part) for part in node.elts]
    raise refusal(node)


def assign(frame: Frame, target: Target, value: Any) -> None:
    """Assign a value to the names of a target in a frame; tuples are unpacked."""
    if isinstance(target, str):
        frame.values[target] = check_limit(value)
        return
    items = items_of(value)
    if len(items) != len(target):
        raise NotOnArraysError("values that do not fit their names")
    for name, item in zip(target, items, strict=True):
        assign(frame, name, item)


BINARY_OPERATIONS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
UNARY_OPERATIONS: dict[type, Any] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
MAY_RAISE = ast.Call, ast.Subscript, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow
"""Expressions that are evaluated only in the states in which Python evaluates them."""


def receive_transition(frame: Frame, pair: Any) -> None:
    """Pass a pair (target, rate) that a rule yields to the frame's receiver of transitions."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise NotOnArraysError("a transition that is no pair")
    frame.receive(frame.rows_of_run, frame.count, *pair)


class Translator:
    """Translates the statements and expressions of one function into Python functions of a `Frame`.

    Parameters
    ----------
    variables
        Names of its arguments and variables.
    """

    def __init__(self, variables: set[str]) -> None:
        self.variables = variables

    def block(self, body: Sequence[ast.stmt]) -> Statement:
        """Return a function of the frame that executes a list of statements in order."""
        parts = [self.statement(statement) for statement in body]
        if len(parts) == 1:
            return parts[0]

        def run(frame: Frame) -> Signal:
            for part in parts:
                signal = part(frame)
                if signal is not FALL_THROUGH:
                    return signal
            return FALL_THROUGH

        return run

    def statement(self, node: ast.stmt) -> Statement:
        """Return a function of the frame that executes a statement and returns its signal."""
        statement: Statement = self._translate(node)
        return statement

    def value(self, node: ast.expr) -> Value:
        """Return a function of the frame that evaluates an expression in all its states."""
        value: Value = self._translate(node)
        return value

    def _translate(self, node: ast.AST) -> Any:
        """Return the result of the method with the name of a node's type."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise refusal(node)
        return method(node)

    def _pass(self, _node: ast.Pass) -> Statement:
        """Translate ``pass``."""
        return lambda _frame: FALL_THROUGH

    def _break(self, _node: ast.Break) -> Statement:
        """Translate ``break``."""
        return lambda _frame: (BREAK, None)

    def _continue(self, _node: ast.Continue) -> Statement:
        """Translate ``continue``."""
        return lambda _frame: (CONTINUE, None)

    def _return(self, node: ast.Return) -> Statement:
        """Translate ``return``, with or without a value."""
        if node.value is None:
            return lambda _frame: (RETURN, None)
        value = self.value(node.value)
        return lambda frame: (RETURN, value(frame))

    def _raise(self, _node: ast.Raise) -> Statement:
        """Translate ``raise`` into a refusal, since plain Python shall raise the error."""

        def run(_frame: Frame) -> Signal:
            raise NotOnArraysError("a rule raises")

        return run

    def _assert(self, node: ast.Assert) -> Statement:
        """Translate ``assert`` into a refusal of states in which it fails."""
        test = self.value(node.test)

        def run(frame: Frame) -> Signal:
            if not np.all(truth(test(frame))):
                raise NotOnArraysError("an assertion fails")
            return FALL_THROUGH

        return run

    def _assign(self, node: ast.Assign) -> Statement:
        """Translate an assignment to one or several targets."""
        value, targets = self.value(node.value), [target_of(target) for target in node.targets]

        def run(frame: Frame) -> Signal:
            result = value(frame)
            for target in targets:
                assign(frame, target, result)
            return FALL_THROUGH

        return run

    def _annassign(self, node: ast.AnnAssign) -> Statement:
        """Translate an assignment with an annotation, which is ignored."""
        if node.value is None:
            return lambda _frame: FALL_THROUGH
        return self._assign(ast.Assign([node.target], node.value))

    def _augassign(self, node: ast.AugAssign) -> Statement:
        """Translate an assignment such as ``x += 1`` to a variable; refuse a change of a collection in place."""
        if not isinstance(node.target, ast.Name):
            raise refusal(node)
        variable = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = self.value(ast.copy_location(ast.BinOp(variable, node.op, node.value), node))
        name, current = node.target.id, self.value(variable)

        def run(frame: Frame) -> Signal:
            before = current(frame)
            if type(before) is not np.ndarray and isinstance(unwrap(before), (list, dict, set, np.ndarray)):
                raise NotOnArraysError("a change in place")
            frame.values[name] = check_limit(value(frame))
            return FALL_THROUGH

        return run

    def _expr(self, node: ast.Expr) -> Statement:
        """Translate an expression that is a statement: ``yield``, ``yield from`` or a docstring."""
        if isinstance(node.value, ast.YieldFrom):
            return self._delegation(node.value.value)
        if not isinstance(node.value, ast.Yield):
            if isinstance(node.value, ast.Constant):
                return lambda _frame: FALL_THROUGH
            raise refusal(node)
        yielded = node.value.value
        if yielded is None:
            raise refusal(node)
        if isinstance(yielded, ast.IfExp):
            yes, no = (ast.Expr(ast.Yield(part)) for part in (yielded.body, yielded.orelse))
            return self._if(ast.copy_location(ast.If(yielded.test, [yes], [no]), node))
        parts = yielded.elts if isinstance(yielded, ast.Tuple) else []
        if len(parts) == 2 and not any(isinstance(part, ast.Starred) for part in parts):
            target, rate = map(self.value, parts)

            def receive_pair(frame: Frame) -> Signal:
                frame.receive(frame.rows_of_run, frame.count, target(frame), rate(frame))
                return FALL_THROUGH

            return receive_pair
        transition = self.value(yielded)

        def run(frame: Frame) -> Signal:
            receive_transition(frame, transition(frame))
            return FALL_THROUGH

        return run

    def _delegation(self, node: ast.expr) -> Statement:
        """Translate ``yield from`` a call of a generator function or a collection of transitions."""
        if not isinstance(node, ast.Call) or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            items = self.value(node)

            def receive_items(frame: Frame) -> Signal:
                for item in items_of(items(frame)):
                    receive_transition(frame, item)
                return FALL_THROUGH

            return receive_items
        function, arguments = self.value(node.func), [self.value(argument) for argument in node.args]

        def run(frame: Frame) -> Signal:
            generator, values = function(frame), tuple(argument(frame) for argument in arguments)
            if hasattr(generator, "__func__"):
                values, generator = (generator.__self__, *values), generator.__func__
            if type(generator) is FunctionType and is_generator(generator):
                translate(generator).run(values, frame)
            else:
                for item in items_of(call(generator, values, {}, frame)):
                    receive_transition(frame, item)
            return FALL_THROUGH

        return run

    def _for(self, node: ast.For) -> Statement:
        """Translate a ``for`` loop over items that are the same in all states."""
        if node.orelse:
            raise refusal(node)
        items, target = self.value(node.iter), target_of(node.target)
        body = self.block(end_with_branches(node.body, ast.Continue))

        def run(frame: Frame) -> Signal:
            for item in items_of(items(frame)):
                assign(frame, target, item)
                signal = body(frame)
                if signal[0] == BREAK:
                    break
                if signal[0] == RETURN:
                    return signal
            return FALL_THROUGH

        return run

    def _if(self, node: ast.If) -> Statement:
        """Translate an ``if``: each branch runs for its states, and the variables that both assign are merged."""
        test = self.value(node.test)
        yes = self.block(node.body) if node.body else self._pass(ast.Pass())
        no = self.block(node.orelse) if node.orelse else None
        names = _targets_in([*node.body, *node.orelse])

        def run(frame: Frame) -> Signal:
            condition = truth(test(frame))
            if type(condition) is not np.ndarray:
                if condition:
                    return yes(frame)
                return FALL_THROUGH if no is None else no(frame)
            rows = np.flatnonzero(condition)
            if len(rows) == frame.count:
                return yes(frame)
            if not len(rows):
                return FALL_THROUGH if no is None else no(frame)
            inside = frame.narrow_to(rows)
            first = yes(inside)
            if no is None and not names and first is FALL_THROUGH:
                return FALL_THROUGH
            outside = frame.narrow_to(np.flatnonzero(~condition))
            second = FALL_THROUGH if no is None else no(outside)
            if first[0] != second[0]:
                raise NotOnArraysError("some states leave a block that others do not")
            if first[0] == RETURN:
                return RETURN, _merge_branches(frame, inside, outside, first[1], second[1])
            for name in names:
                try:
                    values = inside.get(name), outside.get(name)
                    frame.values[name] = _merge_branches(frame, inside, outside, *values)
                except NotOnArraysError:  # without a value in one branch: an error if it is read
                    frame.values[name] = UNASSIGNED
            return first

        return run

    # Expressions

    def _constant(self, node: ast.Constant) -> Value:
        """Translate a constant."""
        value = node.value
        return lambda _frame: value

    def _name(self, node: ast.Name) -> Value:
        """Translate a name: a variable of the function, or a global, closure or builtin object."""
        name = node.id
        if name in self.variables:

            def variable(frame: Frame) -> Any:
                value = frame.values.get(name, UNASSIGNED)
                return frame.get(name) if value is UNASSIGNED else value

            return variable

        def outer(frame: Frame) -> Any:
            value = value_of_name(frame.function, name)
            if value is UNKNOWN:
                raise NotOnArraysError(f"{name} has no value")
            return as_uniform(value)

        return outer

    def _tuple(self, node: ast.Tuple | ast.List) -> Value:
        """Translate a tuple or list display, starred items included."""
        kind = tuple if isinstance(node, ast.Tuple) else list
        if not any(isinstance(part, ast.Starred) for part in node.elts):
            parts = [self.value(part) for part in node.elts]
            return lambda frame: kind([part(frame) for part in parts])
        starred = [isinstance(part, ast.Starred) for part in node.elts]
        values = [self.value(part.value if isinstance(part, ast.Starred) else part) for part in node.elts]

        def value(frame: Frame) -> Any:
            items: list[Any] = []
            for spread, part in zip(starred, values, strict=True):
                items.extend(items_of(part(frame)) if spread else [part(frame)])
            return kind(items)

        return value

    _list = _tuple

    def _dict(self, node: ast.Dict) -> Value:
        """Translate a dict display with keys that are the same in all states."""
        if any(key is None for key in node.keys):
            raise refusal(node)
        keys = [self.value(key) for key in node.keys if key is not None]
        values = [self.value(part) for part in node.values]
        return lambda frame: {_key(k(frame)): v(frame) for k, v in zip(keys, values, strict=True)}

    def _set(self, node: ast.Set) -> Value:
        """Translate a set display with elements that are the same in all states."""
        if any(isinstance(part, ast.Starred) for part in node.elts):
            raise refusal(node)
        parts = [self.value(part) for part in node.elts]
        return lambda frame: {_key(part(frame)) for part in parts}

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        """Translate an f-string."""
        parts = [self.value(part) for part in node.values]
        return lambda frame: "".join([part(frame) for part in parts])

    def _formattedvalue(self, node: ast.FormattedValue) -> Value:
        """Translate a part of an f-string; refuse a value that differs between states."""
        operand = self.value(node.value)
        form = None if node.format_spec is None else self.value(node.format_spec)
        conversions: dict[int, Callable[[Any], Any]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
        convert = conversions.get(node.conversion, lambda value: value)

        def value(frame: Frame) -> str:
            part = operand(frame)
            if holds_arrays(part) or type(part) is Uniform:
                raise NotOnArraysError("a string of a number per state")
            return format(convert(part), "" if form is None else form(frame))

        return value

    def _attribute(self, node: ast.Attribute) -> Value:
        """Translate an attribute: a field or property of the state, or an attribute of a user's object."""
        owner, name = self.value(node.value), node.attr
        index_by_class: dict[Any, int] = {}

        def value(frame: Frame) -> Any:
            of = owner(frame)
            if type(of) is States:
                index = index_by_class.get(of.make)
                if index is None:
                    if name not in of.make._fields:
                        return _property(of, name, frame)
                    index = index_by_class[of.make] = of.field_index(name)
                field = of.values[index]
                return of.field(index) if field is None else field
            if type(of) is UpdatedStates:
                return of.field(of.field_index(name)) if name in of.make._fields else _property(of, name, frame)
            if type(of) is np.ndarray:
                raise NotOnArraysError(f"{name} of a number")
            if isinstance(of, tuple) and name in getattr(type(of), "_fields", ()):
                return getattr(of, name)  # no array of the user: a tuple with one is a `Uniform`
            return as_uniform(getattr(unwrap(of), name))

        return value

    def _binop(self, node: ast.BinOp) -> Value:
        """Translate an arithmetic or bitwise operation of two operands."""
        operation = BINARY_OPERATIONS.get(type(node.op))
        if operation is None:
            raise refusal(node)
        left, right = self.value(node.left), self.value(node.right)
        return lambda frame: apply_binary(operation, left(frame), right(frame))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        """Translate an operation of one operand."""
        operation, operand = UNARY_OPERATIONS[type(node.op)], self.value(node.operand)
        return lambda frame: apply_unary(operation, operand(frame))

    def _compare(self, node: ast.Compare) -> Value:
        """Translate a comparison, chains of comparisons included."""
        if len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            if any(isinstance(n, MAY_RAISE) for side in sides for n in ast.walk(side)):
                raise refusal(node)
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            return self.value(ast.BoolOp(ast.And(), [ast.Compare(a, [op], [b]) for a, op, b in pairs]))
        op, left, right = node.ops[0], self.value(node.left), self.value(node.comparators[0])
        if isinstance(op, (ast.In, ast.NotIn)):
            inside = isinstance(op, ast.In)
            return lambda frame: contains(right(frame), left(frame), inside)
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = isinstance(op, ast.Is)
            return lambda frame: _identity(left(frame), right(frame), same)
        operation = COMPARISONS[type(op)]
        return lambda frame: compare(operation, left(frame), right(frame))

    def _boolop(self, node: ast.BoolOp) -> Value:
        """Translate ``and`` or ``or``; operands that may raise are evaluated only where Python evaluates them."""
        both = isinstance(node.op, ast.And)
        first = self.value(node.values[0])
        others = [(self.value(part), _cannot_raise(part)) for part in node.values[1:]]

        def value(frame: Frame) -> Any:
            result = first(frame)
            for part, safe in others:
                if type(result) is not np.ndarray:
                    if bool(truth(result)) != both:
                        return result
                    result = part(frame)
                    continue
                undecided = truth(result) if both else ~truth(result)  # states in which the next part counts
                result = _evaluate_branches(frame, undecided, (part, safe), (partial(_narrow_value, result), True))
            return result

        return value

    def _ifexp(self, node: ast.IfExp) -> Value:
        """Translate ``a if condition else b``; branches that may raise are evaluated only where Python does."""
        test = self.value(node.test)
        yes, no = ((self.value(part), _cannot_raise(part)) for part in (node.body, node.orelse))

        def value(frame: Frame) -> Any:
            condition = truth(test(frame))
            if type(condition) is not np.ndarray:
                return yes[0](frame) if condition else no[0](frame)
            return _evaluate_branches(frame, condition, yes, no)

        return value

    def _subscript(self, node: ast.Subscript) -> Value:
        """Translate a subscript or slice."""
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [None if part is None else self.value(part) for part in parts]
            return lambda frame: _slice(owner(frame), [None if bound is None else bound(frame) for bound in bounds])
        index = self.value(node.slice)
        return lambda frame: item_of(owner(frame), index(frame))

    def _call(self, node: ast.Call) -> Value:
        """Translate a call of a function or method."""
        function = self.value(node.func) if not isinstance(node.func, ast.Attribute) else None
        if any(keyword.arg is None for keyword in node.keywords):
            raise refusal(node)
        arguments = self._tuple(ast.Tuple(node.args, ast.Load()))
        names = [str(keyword.arg) for keyword in node.keywords]
        values = [self.value(keyword.value) for keyword in node.keywords]
        method = ""
        if isinstance(node.func, ast.Attribute):
            owner, method = self.value(node.func.value), node.func.attr

        def value(frame: Frame) -> Any:
            of = owner(frame) if method else None
            callee = function(frame) if function is not None else None
            positional = arguments(frame)
            keywords = dict(zip(names, [part(frame) for part in values], strict=True))
            if not method:
                return call(callee, positional, keywords, frame)
            if isinstance(of, (States, UpdatedStates)):
                if method == "_replace" and not positional:
                    base, before = (of.base, of.values) if type(of) is UpdatedStates else (of, {})
                    new = {base.field_index(name): value for name, value in keywords.items()}
                    return UpdatedStates(base, before | new)  # type: ignore[arg-type]
                return call(_member(of, method, FunctionType), (of, *positional), keywords, frame)
            if holds_arrays(of) and not (isinstance(of, tuple) and method == "_replace"):
                raise NotOnArraysError(f"{method} of a number per state")
            if type(of) is dict and method == "get" and len(positional) and type(positional[0]) is np.ndarray:
                return apply_to_values(lambda key: of.get(key, *positional[1:]), positional[0])
            return call(getattr(unwrap(of), method), positional, keywords, frame)

        return value

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """Translate a list comprehension or generator expression into a list."""
        items = self._comprehension(node, node.elt)
        return lambda frame: [item for (item,) in items(frame)]

    _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp) -> Value:
        """Translate a dict comprehension."""
        items = self._comprehension(node, node.key, node.value)
        return lambda frame: {_key(key): value for key, value in items(frame)}

    def _comprehension(self, node: Any, *results: ast.expr) -> Callable[[Frame], Iterator[tuple[Any, ...]]]:
        """Return a function of the frame that yields the values of ``results`` for each item of a comprehension."""
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise refusal(node)
        source = node.generators[0]
        items, target = self.value(source.iter), target_of(source.target)
        inner = Translator(self.variables | {n.id for n in ast.walk(source.target) if isinstance(n, ast.Name)})
        tests, values = [inner.value(test) for test in source.ifs], [inner.value(part) for part in results]

        def evaluate(frame: Frame) -> Iterator[tuple[Any, ...]]:
            scope = Frame(frame.count, {}, frame, slice(None))
            for item in items_of(items(frame)):
                assign(scope, target, item)
                if all(_uniform_truth(test(scope)) for test in tests):
                    yield tuple(value(scope) for value in values)

        return evaluate


def _merge_branches(frame: Frame, inside: Frame, outside: Frame, first: Any, second: Any) -> Any:
    """Return one value per state of a frame, from the values in the states inside and outside a branch."""
    if first is None and second is None:
        return None
    return merge(frame.count, [(inside.rows, first), (outside.rows, second)])


def _cannot_raise(node: ast.expr) -> bool:
    """Return whether an expression has no call, subscript, division or power, which may raise."""
    return not any(isinstance(n, MAY_RAISE) for n in ast.walk(node))


def _narrow_value(value: Any, frame: Frame) -> Any:
    """Return a value of the parent frame in the states of a narrower frame; other values unchanged."""
    return value if type(value) is not np.ndarray or len(value) == frame.count else narrow(value, frame.rows)


def _evaluate_branches(frame: Frame, condition: Any, yes: tuple[Value, bool], no: tuple[Value, bool]) -> Any:
    """Return the value of one of two expressions in each state, evaluated only where Python evaluates it."""
    if yes[1] and no[1]:
        return select(condition, yes[0](frame), no[0](frame))
    rows = np.flatnonzero(condition)
    if len(rows) == frame.count:
        return yes[0](frame)
    if not len(rows):
        return no[0](frame)
    others = np.flatnonzero(~condition)
    return merge(frame.count, [(r, part[0](frame.narrow_to(r))) for r, part in ((rows, yes), (others, no))])


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def value_of_name(function: FunctionType, name: str) -> Any:
    """Return the object that a closure, global or builtin name refers to in a function; `UNKNOWN` if there is none."""
    names = function.__code__.co_freevars
    if name in names:
        try:
            return (function.__closure__ or ())[names.index(name)].cell_contents
        except ValueError:  # not assigned yet
            return UNKNOWN
    return function.__globals__.get(name, getattr(builtins, name, UNKNOWN))


def _identity(a: Any, b: Any, same: bool) -> Any:
    """Return ``a is b``, or ``a is not b`` unless ``same``, in each state; refuse identities of numbers."""
    if any(value is None or isinstance(value, (enum.Enum, type)) for value in (a, b)):
        return (unwrap(a) is unwrap(b)) is same  # an array stands for numbers, and no number is one of these
    array, other = (a, b) if type(a) is np.ndarray else (b, a)
    if type(array) is np.ndarray and array.dtype == bool and type(other) is bool:
        return array if other is same else ~array  # there is one True and one False
    if type(a) is bool and type(b) is bool:
        return (a is b) is same
    raise NotOnArraysError("an identity of numbers")


# Collections


_VIEWS = {"dict_keys", "dict_values", "dict_items", "frozenset", "str"}


def items_of(value: Any) -> list[Any]:
    """Return the items of a collection as a list; refuse collections whose length may differ between states."""
    if isinstance(value, (States, UpdatedStates)):
        return list(value.fields())
    if type(value) is Uniform or not holds_arrays(value):
        value = unwrap(value)
        if isinstance(value, (tuple, list, range, dict, zip, enumerate, reversed, np.ndarray)) or (
            type(value).__name__ in _VIEWS
        ):
            return [as_uniform(item) for item in value]
    elif isinstance(value, (tuple, list, dict)):
        return list(value)
    raise NotOnArraysError(f"items of {type(value).__name__}")


def _uniform_truth(value: Any) -> bool:
    """Return a truth value as a bool; refuse truth values that differ between states."""
    answers = truth(value)
    if type(answers) is not np.ndarray:
        return bool(answers)
    if not len(answers) or answers.min() != answers.max():
        raise NotOnArraysError("a decision that differs from state to state")
    return bool(answers[0])


def _key(value: Any) -> Any:
    """Return a key of a dict or set unchanged; refuse keys that differ between states."""
    if holds_arrays(value) or type(value) is Uniform:
        raise NotOnArraysError("a key that differs from state to state")
    return value


def contains(items: Any, value: Any, inside: bool) -> Any:
    """Return whether a value is in a collection (or is not, if ``inside`` is False): a bool, or one per state."""
    if type(items) is np.ndarray or isinstance(items, PerState) or isinstance(unwrap(items), np.ndarray):
        raise NotOnArraysError("elements of an array")
    if type(value) is not np.ndarray and not holds_arrays(items) and not holds_arrays(value):
        return (unwrap(value) in unwrap(items)) is inside
    if isinstance(items, range):
        if items.step != 1 or value.dtype.kind == "f":
            raise NotOnArraysError("elements of a range")
        answer = compare(operator.ge, value, items.start) & compare(operator.lt, value, items.stop)
    elif isinstance(items, (tuple, list, set, frozenset)):
        answer = False
        for item in items:
            answer = answer | compare(operator.eq, value, item)
    elif type(items) is dict:
        answer = apply_to_values(lambda key: key in items, value)
    else:
        raise NotOnArraysError("elements of another object than a collection")
    return answer if inside else apply_unary(operator.not_, answer)


def item_of(owner: Any, index: Any) -> Any:
    """Return ``owner[index]`` of a collection in each state; the index may differ between states."""
    if isinstance(owner, (States, UpdatedStates)):
        owner = owner.fields()
    if type(index) is np.ndarray:
        if isinstance(owner, (tuple, list)) and holds_arrays(owner):
            index = check_limit(index)
            if index.dtype.kind != "i" or not len(index) or index.min() < -len(owner) or index.max() >= len(owner):
                raise NotOnArraysError("an index outside")
            index = np.where(index < 0, index + len(owner), index)
            rows = [np.flatnonzero(index == k) for k in range(len(owner))]
            return merge(len(index), [(r, narrow(owner[k], r)) for k, r in enumerate(rows) if len(r)])
        return element(owner, index)
    if type(owner) is np.ndarray or holds_arrays(index):
        raise NotOnArraysError("an element of a number, or one that a state selects")
    if isinstance(owner, (tuple, list)):
        return owner[index]  # no array of the user: a tuple with one is a `Uniform`
    return as_uniform(unwrap(owner)[index])


def _slice(owner: Any, bounds: list[Any]) -> Any:
    """Return ``owner[start:stop:step]`` of a tuple, list, string or range; refuse bounds that differ between states."""
    if isinstance(owner, (States, UpdatedStates)):
        owner = tuple(owner.fields())
    if any(map(holds_arrays, bounds)) or not isinstance(unwrap(owner), (tuple, list, str, range)):
        raise NotOnArraysError("a slice of another object than a tuple")
    return owner[slice(*bounds)] if holds_arrays(owner) else as_uniform(unwrap(owner)[slice(*bounds)])


# Calls


METHODS: dict[type, set[str]] = {
    dict: {"get", "items", "keys", "values"},
    tuple: {"count", "index"},
    str: {"startswith", "endswith", "lower", "upper", "strip", "split", "join", "format", "count", "find", "replace"},
    np.ndarray: {"min", "max", "sum", "mean", "item", "any", "all"},
}
"""Methods of uniform values that only read them."""
_BUILTINS = (
    "range len enumerate zip reversed tuple list float int bool abs min "
    "max sum any all divmod round sorted set frozenset dict str pow isinstance"
)
_OF_NUMPY = "float64 float32 int64 asarray array arange zeros ones full linspace where isin clip sum max min any all"
UNIFORM_FUNCTIONS = {
    *(getattr(builtins, name) for name in _BUILTINS.split()),
    *(getattr(np, name) for name in _OF_NUMPY.split()),
}
"""Functions that may be called with uniform values."""


ITERATORS = zip, enumerate, reversed
"""Functions with a result that can be iterated once, while each state has one of its own."""


def call(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: Frame) -> Any:
    """Return the value of a function call in the states of a frame; refuse functions without a translation."""
    if isinstance(function, MethodType):
        arguments, function = (function.__self__, *arguments), function.__func__
    if type(function) is FunctionType:
        if isinstance(owner := (arguments[0] if arguments else None), tuple) and function.__name__ == "_replace":
            return _replace_items(owner, keywords) if len(arguments) == 1 else _refuse_call(function)
        return translate(function).value(arguments, keywords, frame)
    if isinstance(function, functools.partial):
        bound = (*map(as_uniform, function.args), *arguments)
        return call(function.func, bound, {**function.keywords, **keywords}, frame)
    if not (holds_arrays(arguments) or holds_arrays(keywords)):
        values = {name: unwrap(value) for name, value in keywords.items()}
        result = _native(function)(*map(unwrap, arguments), **values)
        return as_uniform(list(result) if function in ITERATORS else result)
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return function(*arguments, **keywords)
    if function is dict and not arguments:
        return keywords
    translation = _TRANSLATIONS.get(function) if _is_hashable(function) else None
    if keywords and (function is not zip or translation is None):
        return _refuse_call(function)
    if translation is not None:
        return translation(*arguments, **keywords)
    if isinstance(function, np.ufunc) and len(arguments) == 1 == function.nin and not _is_truth_array(arguments[0]):
        return apply_to_values(function, arguments[0])
    if getattr(function, "__module__", None) in ("math", "_operator"):
        return _call_with_numbers(function, arguments)
    return _refuse_call(function)


def _call_with_numbers(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a function of `math` of one array with a number per state, and of other uniform numbers."""
    indices = [k for k, argument in enumerate(arguments) if type(argument) is np.ndarray]
    if len(indices) != 1 or not all(type(a) in (int, float, bool, np.ndarray) for a in arguments):
        return _refuse_call(function)
    (index,) = indices
    before, after = arguments[:index], arguments[index + 1 :]
    return apply_to_values(lambda value: function(*before, value, *after), arguments[index])


def _refuse_call(function: Any) -> Any:
    """Raise NotOnArraysError for a call of a function, with its name."""
    raise NotOnArraysError(f"a call of {getattr(function, '__name__', function)!r}")


def _is_hashable(function: Any) -> bool:
    """Return whether an object is hashable."""
    try:
        hash(function)
    except TypeError:
        return False
    return True


def _native(function: Any) -> Callable[..., Any]:
    """Return a function that is listed as free of side effects, unchanged; raise NotOnArraysError for any other."""
    if isinstance(function, type):
        is_named_tuple = issubclass(function, tuple) and hasattr(function, "_fields")
        if is_named_tuple or function in UNIFORM_FUNCTIONS or issubclass(function, enum.Enum):
            return function
        return _refuse_call(function)  # type: ignore[no-any-return]
    if isinstance(function, np.ufunc) or (_is_hashable(function) and function in UNIFORM_FUNCTIONS):
        return function  # type: ignore[no-any-return]
    if isinstance(function, BuiltinFunctionType):
        owner = getattr(function, "__self__", None)
        allowed = next((names for kind, names in METHODS.items() if isinstance(owner, kind)), set())
        if function.__module__ in ("math", "_operator") or function.__name__ in allowed:
            return function
    return _refuse_call(function)  # type: ignore[no-any-return]


def _member(state: States | UpdatedStates, name: str, kind: type) -> Any:
    """Return a method or property of the user's class of states by its name; refuse members of another kind."""
    member = inspect.getattr_static(state.make, name, None)
    if not isinstance(member, kind):
        raise NotOnArraysError(f"{name} of a state")
    return member


def _property(state: States | UpdatedStates, name: str, frame: Frame) -> Any:
    """Return the value of a property of the user's class of states, in each state."""
    if name == "__class__":
        return state.make
    return call(_member(state, name, property).fget, (state,), {}, frame)


def _replace_items(state: Any, values: dict[str, Any]) -> Any:
    """Return a NamedTuple of numbers per state with new values of the named fields."""
    if not set(values) <= set(state._fields):
        raise NotOnArraysError("fields of another state")
    return type(state)._make([values.get(name, value) for name, value in zip(state._fields, state, strict=True)])


def _operands(arguments: tuple[Any, ...]) -> list[Any]:
    """Return the operands of ``min``, ``max`` or ``sum`` as a list, from one collection or several numbers."""
    items: Any = arguments[0] if len(arguments) == 1 else arguments
    if isinstance(items, (States, UpdatedStates)):
        items = items.fields()
    if not isinstance(items, (tuple, list)) or not items:
        raise NotOnArraysError("an argument that is no collection")
    return list(items)


def _reduce(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a function that combines all its operands, from left to right, by an operation of two."""

    def reduce(*arguments: Any) -> Any:
        result, *others = _operands(arguments)
        for item in others:
            result = operation(result, item)
        return result

    return reduce


def _total(items: Any, start: Any = 0) -> Any:
    """Return ``sum(items, start)`` of whole numbers in each state; refuse sums of floats."""
    total = start
    for item in _operands((items,)):
        if not _is_integer(item) or not _is_integer(total):
            raise NotOnArraysError("sums of floats are computed with more digits than float64")
        total = check_limit(apply_binary(operator.add, total, item))
    return total


def _is_integer(value: Any) -> bool:
    """Return whether a value is an int, a bool or an array of them."""
    return type(value) in (int, bool) or (type(value) is np.ndarray and value.dtype.kind in "bi")


def _is_truth_array(value: Any) -> bool:
    """Return whether a value is an array of truth values of Python or NumPy."""
    return type(value) is np.ndarray and value.dtype.kind not in "if"


def _any(items: Any) -> Any:
    """Return ``any(items)`` in each state."""
    answer: Any = False
    for item in _operands((items,)):
        answer = answer | truth(item)
    return answer


def _all(items: Any) -> Any:
    """Return ``all(items)`` in each state."""
    answer: Any = True
    for item in _operands((items,)):
        answer = answer & truth(item)
    return answer


def _type(value: Any) -> Any:
    """Return ``type(value)`` of a state; refuse other values."""
    if not isinstance(value, (States, UpdatedStates)):
        raise NotOnArraysError("the type of a number")
    return value.make


def _length(value: Any) -> int:
    """Return the length of a tuple, list or state of numbers per state."""
    return len(_items(value))


def _items(value: Any) -> list[Any]:
    """Return the items of a tuple, list or state of numbers per state, as a list."""
    if isinstance(value, (States, UpdatedStates)):
        value = value.fields()
    if not isinstance(value, (tuple, list)):
        raise NotOnArraysError("items of a number")
    return list(value)


def _as_int(value: Any) -> Any:
    """Return ``int(value)`` of an array, one whole number per state."""
    if value.dtype.kind == "f":
        return apply_to_values(int, value)
    return as_number(value).astype(np.int64)


def _numpy_extremum(operation: Any, *operands: Any) -> Any:
    """Return NumPy's maximum or minimum of several operands in each state, which propagates NaN."""
    if all(type(value) is bool or _is_truth_array(value) for value in operands):
        raise NotOnArraysError("an extremum of truth values")
    return functools.reduce(operation, map(as_number, operands))


def _numpy_where(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``np.where(condition, yes, no)`` in each state."""
    condition = truth(condition)
    if type(condition) is not np.ndarray:
        condition = np.full(next(len(v) for v in (yes, no) if type(v) is np.ndarray), condition)
    numbers = yes, no
    if all(type(value) is bool or _is_truth_array(value) for value in numbers):
        return numpy_truth(np.where(condition, *numbers))
    return np.where(condition, as_number(yes), as_number(no))


_TRANSLATIONS: dict[Any, Callable[..., Any]] = {
    abs: lambda value: apply_unary(operator.abs, value),
    min: _reduce(minimum),
    max: _reduce(maximum),
    sum: _total,
    any: _any,
    all: _all,
    bool: truth,
    float: lambda value: as_number(value).astype(np.float64),
    int: _as_int,
    round: lambda value, *digits: apply_to_values(lambda number: round(number, *digits), value),
    pow: lambda a, b: apply_binary(operator.pow, a, b),
    divmod: lambda a, b: (apply_binary(operator.floordiv, a, b), apply_binary(operator.mod, a, b)),
    len: _length,
    type: _type,
    tuple: lambda value: tuple(_items(value)),
    list: _items,
    enumerate: lambda value, start=0: list(enumerate(_items(value), start)),
    zip: lambda *values, strict=False: list(
        zip(*(_items(v) if holds_arrays(v) else items_of(v) for v in values), strict=strict)
    ),
    reversed: lambda value: _items(value)[::-1],
    **{operation: partial(apply_binary, operation) for operation in BINARY_OPERATIONS.values()},
    **{operation: partial(apply_unary, operation) for operation in UNARY_OPERATIONS.values()},
    **{operation: partial(compare, operation) for operation in COMPARISONS.values()},
    np.where: _numpy_where,
    np.maximum: partial(_numpy_extremum, np.maximum),
    np.minimum: partial(_numpy_extremum, np.minimum),
    np.max: lambda items: _numpy_extremum(np.maximum, *_operands((items,))),
    np.min: lambda items: _numpy_extremum(np.minimum, *_operands((items,))),
    np.clip: lambda value, low, high: np.minimum(np.maximum(as_number(value), as_number(low)), as_number(high)),
    np.sum: _total,
    np.any: lambda items: numpy_truth(_any(items)),
    np.all: lambda items: numpy_truth(_all(items)),
    np.isin: lambda value, items: numpy_truth(contains(items, value, inside=True)),
    np.logical_and: lambda a, b: numpy_truth(truth(a) & truth(b)),
    np.logical_or: lambda a, b: numpy_truth(truth(a) | truth(b)),
    np.logical_xor: lambda a, b: numpy_truth(truth(a) ^ truth(b)),
    np.logical_not: lambda value: numpy_truth(~truth(value)),
}
