"""Fields of events that the functions of a rule read: from their source, and from a run of random events.

The source is followed through helper functions, attributes, `getattr` with a constant name, indices and unpacking. A
run of 10,000 random events then records the fields that are read. Where the event goes out of sight of both, such as
into a list that outlives the call, or into compiled code, the rule counts as reading all fields.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import random
import types
import weakref
from collections.abc import Iterator
from typing import Any

__all__ = ["use_of_field"]

RANDOM_EVENTS = 10_000
"""Events of the run, of all kinds in turn."""
EVENTS_PER_WALK = 50
"""Events from one random state to the next, so that counters and timers advance as well."""
MAX_FAILED_SHARE = 0.5
"""Share of events with an error above which the run has not covered the functions."""
WINDOW_DECADES, RTT_DECADES, OTHER_DECADES = (0.0, 4.5), (-4.0, 0.5), (-6.0, 6.0)
"""Decades of random windows in packets, round-trip times in s, and other numbers."""
NOT_READING = (len, type, isinstance, id, bool, callable)
"""Builtin functions that read no field of an event."""
HIDING = {"locals", "vars", "eval", "exec", "globals", "_getframe", "currentframe"}
"""Names in a function that can pass on its local variables unseen."""


def use_of_field(rule: Any, field: str, kinds: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """Return how functions of a rule read a field of their events, as the predicate of a sentence; empty if not.

    Parameters
    ----------
    rule
        Class of a rule. The run of random events needs an instance with the default parameters.
    field
        Name of the field, such as ``"rtt"``.
    kinds
        Names of the functions, each with the fields of its event.

    Examples
    --------
    >>> from responsefn import CUBIC, Reno
    >>> kinds = (("on_ack", ("time", "rtt")), ("on_loss", ("time", "rtt")))
    >>> use_of_field(CUBIC, "rtt", kinds), use_of_field(Reno, "rtt", kinds)
    ('reads e.rtt', '')
    """
    functions = tuple(inspect.getattr_static(rule, name) for name, _ in kinds)
    return str(_use_in_functions(rule, field, kinds, functions))


@functools.lru_cache(maxsize=1024)
def _use_in_functions(rule: Any, field: str, kinds: Any, functions: Any) -> str:
    """Return the result for the current functions of a class, once."""
    del functions  # only a key: a class whose functions are replaced is read again
    source = _SourceReader()
    for name, fields in kinds:
        function = getattr(rule, name)
        source.fields = fields
        code = getattr(function, "__code__", None)
        if not _takes_three(function):
            continue  # refused before its first call, with the reason
        if code is None or not _is_event_unused(code):
            source.follow(function, (2,), {}, f"{rule.__name__}.{name}")
    if field in source.reads:
        return f"reads e.{field}"
    is_tested = rule.__module__.startswith("responsefn.")  # tests compare source and run of the rules of this package
    if not source.unresolved and (is_tested or not source.reads):
        return ""
    reads, covered = _read_of_run(rule, kinds)
    if field in reads:
        return f"reads e.{field}"
    return f"may read e.{field} at {source.unresolved[0]}" if source.unresolved and not covered else ""


# Source


def _takes_three(function: Any) -> bool:
    """Return whether a function can be called with a state, parameters and an event."""
    try:
        inspect.signature(function).bind(None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _is_event_unused(code: types.CodeType) -> bool:
    """Return whether a function of three arguments never loads the third, for which its source is not needed."""
    import dis

    if code.co_argcount != 3 or HIDING & set(code.co_names):
        return False
    event = code.co_varnames[2]
    if event in code.co_cellvars:
        return False
    loads = (i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_FAST"))
    return not any(event == value or (isinstance(value, tuple) and event in value) for value in loads)


class _SourceReader:
    """Reads of an event in the source of functions.

    Attributes
    ----------
    fields
        Fields of the event of the function that is followed.
    reads
        Names of the fields that were read.
    unresolved
        Places at which the event goes out of sight.
    """

    def __init__(self) -> None:
        self.fields: tuple[str, ...] = ()
        self.reads: set[str] = set()
        self.unresolved: list[str] = []
        self.returns_event: dict[Any, bool] = {}

    def follow(self, function: Any, positions: tuple[int, ...], keywords: dict[str, str], where: str) -> bool:
        """Read a callable that gets the event at these positions and keywords; return whether it may return the event.

        ``where`` names the call in messages.
        """
        function, shift = _plain_function(function)
        if not isinstance(function, types.FunctionType):
            if not any(function is harmless for harmless in NOT_READING):
                self.unresolved.append(where)
            return False
        code = function.__code__
        named = code.co_varnames[: code.co_argcount]
        accepted = {*named[code.co_posonlyargcount :], *code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]}
        positions = tuple(position + shift for position in positions)
        if any(position >= len(named) for position in positions) or not keywords.keys() <= accepted:
            self.unresolved.append(f"{where}, which packs its arguments")
            return False
        parameters = frozenset({*(named[position] for position in positions), *keywords})
        key = function, parameters, self.fields
        if key not in self.returns_event:
            self.returns_event[key] = True  # within a recursion a result may be the event
            self.returns_event[key] = self._read_body(function, parameters, where)
        return self.returns_event[key]

    def _read_body(self, function: types.FunctionType, parameters: frozenset[str], where: str) -> bool:
        from hopflow.kernels.source import KernelError, parse

        bare = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )  # without __wrapped__: a decorator's function is read itself
        try:
            tree = parse(bare)
        except (KernelError, SyntaxError):
            self.unresolved.append(where)
            return False
        body = _Body(self, function, tree, set(parameters))
        while body.grows():
            pass
        return body.returns_event


class _Body:
    """One function whose local names in ``events`` may hold the event."""

    def __init__(self, reader: _SourceReader, function: types.FunctionType, tree: ast.FunctionDef, events: set[str]):
        self.reader, self.function, self.tree, self.events = reader, function, tree, events
        self.returns_event = False
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.closure = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        self.assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and _is_store(node)}
        self.assigned |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.assigned |= {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node is not tree
        }

    def grows(self) -> bool:
        """Read all statements; return whether a further name may hold the event."""
        size = len(self.events)
        if HIDING & set(self.function.__code__.co_names):
            self.record_unresolved(self.tree.body[0], "which can pass on local variables")
        for statement in self.tree.body:
            self.visit(statement)
        return len(self.events) > size

    def record_unresolved(self, node: ast.AST, why: str) -> None:
        """Record that the event goes out of sight at a node."""
        place = f"{getattr(node, 'file', '?')}:{getattr(node, 'lineno', '?')}: {ast.unparse(node)}, {why}"
        if place not in self.reader.unresolved:
            self.reader.unresolved.append(place)

    def read(self, *names: str) -> None:
        """Record that fields are read, all without names."""
        self.reader.reads.update(names or self.reader.fields)

    def visit(self, node: ast.AST) -> bool:
        """Read a node; return whether it may evaluate to the event."""
        handler = getattr(self, f"visit_{type(node).__name__}", None)
        if handler is not None:
            return bool(handler(node))
        for child in ast.iter_child_nodes(node):  # an operand, an element, an iterable: the event is used as a value
            if self.visit(child):
                self.read()
        return False

    def visit_Name(self, node: ast.Name) -> bool:
        return node.id in self.events and not _is_store(node)

    def visit_Expr(self, node: ast.Expr) -> bool:
        self.visit(node.value)
        return False

    def visit_Return(self, node: ast.Return) -> bool:
        if node.value is not None and self.visit(node.value):
            self.returns_event = True
        return False

    def visit_If(self, node: Any) -> bool:
        """Read a branch or a loop; a test for truth reads no field."""
        self.visit(node.test)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        return False

    visit_While = visit_If

    def visit_IfExp(self, node: ast.IfExp) -> bool:
        self.visit(node.test)
        sides = [self.visit(node.body), self.visit(node.orelse)]
        return any(sides)

    def visit_BoolOp(self, node: ast.BoolOp) -> bool:
        operands = [self.visit(value) for value in node.values]  # all of them: a read may follow the first event
        return any(operands)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> bool:
        if self.visit(node.operand) and not isinstance(node.op, ast.Not):
            self.read()
        return False

    def visit_Compare(self, node: ast.Compare) -> bool:
        compared = [self.visit(value) for value in (node.left, *node.comparators)]
        if any(compared) and not all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            self.read()
        return False

    def visit_NamedExpr(self, node: ast.NamedExpr) -> bool:
        is_event = self.visit(node.value)
        if is_event:
            self.events.add(node.target.id)
        return is_event

    def visit_Assign(self, node: ast.Assign) -> bool:
        for target in node.targets:
            self.bind(target, node.value)
        return False

    def visit_AnnAssign(self, node: ast.AnnAssign) -> bool:
        if node.value is not None:
            self.bind(node.target, node.value)
        return False

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """Read an assignment, of tuples element by element."""
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else None
        if names is not None and isinstance(value, (ast.Tuple, ast.List)) and len(names) == len(value.elts):
            for name, element in zip(names, value.elts, strict=True):
                self.bind(name, element)
            return
        if not self.visit(value):
            self.visit(target)
        elif isinstance(target, ast.Name) and target.id in self.function.__code__.co_varnames:
            self.events.add(target.id)
        elif names is not None:
            self.read()
        else:
            self.record_unresolved(target, "which holds the event after the call")

    def visit_Attribute(self, node: ast.Attribute) -> bool:
        if self.visit(node.value):
            if node.attr in self.reader.fields:
                self.read(node.attr)
            elif node.attr != "_fields":
                self.read()
        return False

    def visit_Subscript(self, node: ast.Subscript) -> bool:
        self.visit(node.slice)
        if self.visit(node.value):
            index = _constant(node.slice)
            in_range = isinstance(index, int) and -len(self.reader.fields) <= index < len(self.reader.fields)
            self.read(*([self.reader.fields[index]] if in_range and isinstance(index, int) else []))
        return False

    def _visit_inner(self, node: ast.AST) -> bool:
        """Read a function or class in the function: what it does with the event is left to the run."""
        if any(isinstance(part, ast.Name) and part.id in self.events for part in ast.walk(node)):
            self.record_unresolved(node, "a function in a function")
        return False

    visit_FunctionDef = visit_Lambda = visit_ClassDef = visit_AsyncFunctionDef = _visit_inner

    def _visit_container(self, node: Any) -> bool:
        """Read a container: which of its elements are read later is left to the run."""
        elements = [self.visit(child) for child in ast.iter_child_nodes(node)]
        if any(elements):
            self.record_unresolved(node, "which packs the event")
        return False

    visit_Tuple = visit_List = visit_Set = visit_Dict = _visit_container

    def visit_Call(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "_replace" and self.visit(node.func.value):
            for keyword in node.keywords:
                self.visit(keyword.value)
            return True
        self.visit(node.func)
        positions = tuple(n for n, value in enumerate(node.args) if self.visit(value))
        keywords = {word.arg or "**": "" for word in node.keywords if self.visit(word.value)}
        if not positions and not keywords:
            return False
        if any(isinstance(value, ast.Starred) for value in node.args) or "**" in keywords:
            self.record_unresolved(node, "which unpacks its arguments")
            return False
        functions = self.values_of(node.func)
        if functions is None:
            self.record_unresolved(node, "whose function is not a global name")
            return False
        where = f"{getattr(node, 'file', '?')}:{node.lineno}: {ast.unparse(node)}"
        returns = [self.pass_to(function, node, positions, keywords, where) for function in functions]
        return any(returns)

    def pass_to(self, function: Any, node: ast.Call, positions: Any, keywords: Any, where: str) -> bool:
        """Read a call of a function with the event at these positions and keywords."""
        if function is hasattr:
            return False
        if function is not getattr or positions != (0,) or keywords:
            return self.reader.follow(function, positions, keywords, where)
        names = self.values_of(node.args[1])
        is_field = names is not None and all(name in self.reader.fields for name in names)
        self.read(*(names if names is not None and is_field else []))
        return False

    def values_of(self, node: ast.expr) -> list[Any] | None:
        """Return the values that an expression can have by global names, None if it is not known from the source."""
        if (constant := _constant(node)) is not None:
            return [constant]
        if isinstance(node, ast.IfExp):
            both = [self.values_of(node.body), self.values_of(node.orelse)]
            return None if None in both else [value for values in both for value in values or []]
        if isinstance(node, ast.Name):
            scopes = (self.closure, self.function.__globals__, vars(builtins))
            scope = next((scope for scope in scopes if node.id in scope), None)
            return None if scope is None or node.id in self.assigned else [scope[node.id]]
        if isinstance(node, ast.Attribute):
            owners = self.values_of(node.value)
            return None if owners is None else _attributes(owners, node.attr)
        if isinstance(node, ast.Subscript):
            return _elements(self.values_of(node.value), _constant(node.slice))
        return None


def _attributes(owners: list[Any], name: str) -> list[Any] | None:
    """Return an attribute of each value; None if one has none."""
    missing = object()
    values = [getattr(owner, name, missing) for owner in owners]
    return None if missing in values else values


def _elements(containers: list[Any] | None, index: Any) -> list[Any] | None:
    """Return one element of each container, or all elements if the index is not a constant."""
    if containers is None or not all(type(container) in (dict, list, tuple) for container in containers):
        return None
    if index is not None:
        try:
            return [container[index] for container in containers]
        except (LookupError, TypeError):
            return None
    return [x for container in containers for x in (container.values() if isinstance(container, dict) else container)]


def _plain_function(value: Any) -> tuple[Any, int]:
    """Return the function behind a callable, and the number of arguments that the callable adds at the beginning."""
    shift = 0
    while not isinstance(value, types.FunctionType):
        if isinstance(value, types.MethodType):
            value, shift = value.__func__, shift + 1
        elif isinstance(value, functools.partial):
            value, shift = value.func, shift + len(value.args)
        elif isinstance(value, staticmethod):
            value = value.__func__
        elif (inner := getattr(value, "py_func", None)) is not None:  # compiled by Numba
            value = inner
        elif isinstance(value, functools._lru_cache_wrapper):
            value = value.__wrapped__
        elif isinstance(method := vars(type(value)).get("__call__"), types.FunctionType):
            value, shift = method, shift + 1
        else:
            break
    return value, shift


def _constant(node: ast.expr) -> Any:
    """Return the value of a constant or a negative number, None for another expression."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, (ast.Store, ast.Del))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


# Run of random events


def _read_of_run(rule: type[Any], kinds: Any) -> tuple[set[str], bool]:
    """Return the fields that random events lose, and whether the run has seen every use of the events."""
    reads: set[str] = set()
    try:
        instance = rule()
        begin = instance.start(0.1, 1000.0) if hasattr(rule, "on_ack") else instance.start(1e4)
    except Exception:  # noqa: BLE001  # required parameters, or a start that fails: there is no run
        return reads, False
    draw = random.Random(0)
    calls = [(getattr(rule, name), fields) for name, fields in kinds]
    failures, state, time = 0, begin, 0.0
    for n, (function, fields) in enumerate(_in_turn(calls, draw)):
        if n % EVENTS_PER_WALK == 0:
            state, time = _random_state(begin, draw), draw.expovariate(0.01)
        time += draw.expovariate(100.0)
        event = _RecordedEvent(fields, _random_fields(fields, time, draw), reads)
        alive = weakref.ref(event)
        try:
            new = function(state, instance.params, event)
        except Exception:  # noqa: BLE001  # a user's function may raise anything
            failures, new = failures + 1, None
        state = new if getattr(new, "_fields", None) == begin._fields and _are_numbers(new) else state
        del event, new
        if alive() is not None:
            return reads, False
    return reads, failures <= MAX_FAILED_SHARE * RANDOM_EVENTS


def _in_turn(calls: list[Any], draw: random.Random) -> Iterator[Any]:
    for _ in range(RANDOM_EVENTS):
        yield calls[0] if draw.random() < 0.5 else draw.choice(calls)


def _random_state(begin: Any, draw: random.Random) -> Any:
    """Return a state with a random window, and about half of the other fields random."""
    changes = {name: _log_uniform(OTHER_DECADES, draw) for name in begin._fields if draw.random() < 0.5}
    changes[begin._fields[0]] = _log_uniform(WINDOW_DECADES, draw)
    if "ssthresh" in begin._fields:
        changes["ssthresh"] = draw.choice([2.0, math.inf, _log_uniform(WINDOW_DECADES, draw)])
    return begin._replace(**changes)


def _random_fields(fields: tuple[str, ...], time: float, draw: random.Random) -> tuple[float, ...]:
    """Return random numbers for the fields of an event; counts are whole in half of the events."""
    is_whole = draw.random() < 0.5
    counts = [float(draw.randrange(20)) if is_whole else _log_uniform((-2.0, 2.0), draw) for _ in fields]
    fixed = {"time": time, "rtt": _log_uniform(RTT_DECADES, draw), "random": draw.random()}
    return tuple(fixed.get(name, count) for name, count in zip(fields, counts, strict=True))


def _log_uniform(decades: tuple[float, float], draw: random.Random) -> float:
    return float(10.0 ** draw.uniform(*decades))


def _are_numbers(state: Any) -> bool:
    return all(isinstance(value, (int, float)) and not math.isnan(value) for value in state)


class _RecordedEvent:
    """An event that records which of its fields are read; whatever needs the entire event reads all."""

    def __init__(self, fields: tuple[str, ...], values: tuple[float, ...], reads: set[str]) -> None:
        vars(self).update(_names=fields, _values=values, _reads=reads)

    def __getattr__(self, name: str) -> Any:
        if name == "_fields":
            return self._names
        if name not in self._names:
            self._reads.update(self._names)
            return getattr(self._tuple(), name)
        self._reads.add(name)
        return self._values[self._names.index(name)]

    def _tuple(self) -> Any:
        from collections import namedtuple

        return namedtuple("Event", self._names)(*self._values)  # noqa: PYI024

    def _replace(self, **changes: float) -> _RecordedEvent:
        values = tuple(changes.get(name, value) for name, value in zip(self._names, self._values, strict=True))
        return _RecordedEvent(self._names, values, self._reads)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._names[index]
        self._reads.update([chosen] if isinstance(chosen, str) else chosen)
        return self._values[index]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[float]:
        self._reads.update(self._names)
        return iter(self._values)

    def _read_all(self, *_: Any) -> Any:
        self._reads.update(self._names)
        return NotImplemented

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __mul__ = __rmul__ = _read_all

    def __hash__(self) -> int:
        self._reads.update(self._names)
        return hash(self._values)

    def __contains__(self, value: Any) -> bool:
        self._reads.update(self._names)
        return value in self._values

    def __repr__(self) -> str:
        self._reads.update(self._names)
        return repr(self._tuple())

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._reads.update(self._names)
        return tuple, (self._values,)
