"""Source of a kernel module: its functions, with all names resolved."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import linecache
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from hopflow.changes import NoSumError, increments_of
from hopflow.functions import maximum, minimum, where
from hopflow.kernels.source import KernelError, literal, locals_of, parse, refuse, syntax_tree

__all__ = ["Module"]

_BUILTINS = {"abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow"}
_BUILTINS |= {"range", "round", "sum", "zip"}
_NOT_COMPILED = {"gamma"}
"""Functions of `math` that Numba computes by its own runtime, which another process lacks."""
_UNSIGNED = "uint64"
"""NumPy type of unsigned integers in templates."""
_RESERVED = {
    "callback",
    "carray",
    "farray",
    "give_back",
    "helper",
    "inlined",
    "math",
    "namedtuple",
    "pointer",
    _UNSIGNED,
}


class Module:
    """A kernel module under construction: NamedTuples, helpers and the kernel, in order.

    Parameters
    ----------
    tuples
        NamedTuple types by name, with their fields.
    reserved
        Names that functions of rules must not have.
    floats
        Whether all fields of a state are floats: ``_replace`` converts its arguments, and functions are inlined.
    """

    def __init__(
        self,
        tuples: Mapping[str, Sequence[str]],
        reserved: set[str],
        *,
        floats: bool = False,
    ) -> None:
        self.tuples, self.floats = tuples, floats
        self.reserved = reserved | _RESERVED
        self.called: dict[tuple[Callable[..., Any], str], str] = {}
        self.trees: list[ast.FunctionDef] = []
        self.read: dict[tuple[int, str], tuple[Any, str, object]] = {}
        self.replaced: set[str] = set()  # fields of states that functions set
        self.open: list[Any] = []  # functions that are being added
        self._text: str | None = None

    def add(self, name: str, function: Callable[..., Any], state: str) -> None:
        """Add a plain function under ``name``, preceded by the functions that it calls."""
        self.called.setdefault((function, state), name)
        self.open.append(function)
        tree = self.rewrite(parse(function), function, state)
        self.open.pop()
        tree.name = name
        self.add_tree(tree, "inlined" if self.floats else "helper")

    def add_change(self, name: str, of: str, function: Callable[..., Any], state: str, omitted: Sequence[str]) -> None:
        """Add a function that returns the increments of a rule's function ``of``.

        Increments of ``omitted`` fields are zero. Where `increments_of` does not apply, increments are differences of
        the new and the old state.
        """
        try:
            self._add_sum(name, function, state, omitted)
        except NoSumError:
            differences = "".join(
                f"0.0 if new.{field} == s.{field} else new.{field} - s.{field}," for field in self.tuples[state]
            )
            text = f"def {name}(s, q, e):\n new = {of}(s, q, e)\n return {state}({differences})"
            tree = syntax_tree(text).body[0]
            assert isinstance(tree, ast.FunctionDef)
            self.add_tree(tree, "helper")

    def _add_sum(self, name: str, function: Callable[..., Any], state: str, omitted: Sequence[str]) -> None:
        helpers = set()

        def helper(called: str) -> str:
            target = self.look_up(inspect.unwrap(function), called)
            if not isinstance(target, types.FunctionType) or target is where:
                raise NoSumError
            helpers.add(f"{name}_{called}")
            self._add_sum(f"{name}_{called}", target, state, omitted)
            return f"{name}_{called}"

        tree = parse(function)
        names = functools.partial(self.look_up, inspect.unwrap(function))
        tree = increments_of(tree, self.tuples[state], names, helper, omitted)
        tree.name = name
        self.add_tree(self.rewrite(tree, function, state, helpers), "helper")

    def name_of(self, function: Callable[..., Any], preferred: str, state: str) -> str:
        """Return the name of a function that a rule calls; add it at the first call.

        A function shared by two rules is added once per state type, since it may use ``_replace``.
        """
        for key in ((function, ""), (function, state)):
            if key in self.called:
                return self.called[key]
        name, n = preferred, 1
        while self.knows(name) or name in self.reserved or name in self.called.values():
            n += 1
            name = f"{preferred}_{n}"
        self.add(name, function, state)
        return name

    def knows(self, name: str) -> bool:
        """Whether the module defines ``name``."""
        return name in self.tuples or any(tree.name == name for tree in self.trees)

    def add_tree(self, tree: ast.FunctionDef, decorator: str) -> None:
        """Add a function unchanged, with a decorator."""
        tree.decorator_list = [syntax_tree(decorator, mode="eval").body]
        self.trees.append(tree)

    def add_text(self, name: str, text: str, decorator: str) -> None:
        """Add a generated function, which refers to definitions of the module."""
        tree = syntax_tree(text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        tree.name = name
        self.add_tree(tree, decorator)

    def rewrite(
        self,
        tree: ast.FunctionDef,
        function: Callable[..., Any],
        state: str | None,
        unresolved: AbstractSet[str] = frozenset(),
    ) -> Any:
        """Resolve the globals and ``_replace`` calls of a rule, or of a template (no state).

        Names in ``unresolved`` are left unchanged.
        """
        local = locals_of(tree) | unresolved
        return _Resolve(self, inspect.unwrap(function), state, local).visit(tree)

    def look_up(self, function: types.FunctionType, name: str) -> object:
        """Return the object that a global or closure variable refers to, and record it."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        namespace = cells.get(name, function.__globals__)
        value = _value(namespace, name)
        self.read.setdefault((id(namespace), name), (namespace, name, value))
        return getattr(builtins, name, None) if value is None else value

    def static_function(self, owner: type, name: str) -> object:
        """Return the function of a static method, such as ``on_loss`` of a rule, and record it; None for another."""
        of = next((base for base in owner.__mro__ if name in vars(base)), None)
        method = None if of is None else vars(of)[name]
        self.read.setdefault((id(of), name), (vars(of) if of else {}, name, method))
        return method.__func__ if isinstance(method, staticmethod) else None

    def is_current(self) -> bool:
        """Whether every name that the source depends on still refers to the same object."""
        return all(_value(namespace, name) is value for namespace, name, value in self.read.values())

    def text(self) -> str:
        """Return the module's source; it depends on the rules alone."""
        if self._text is None:
            self._text = self._generate_text()
        return self._text

    def _generate_text(self) -> str:
        head = [
            "# generated by hopflow from rules",
            "import math",
            "from collections import namedtuple",
        ]
        for name, fields in self.tuples.items():
            head.append(f"{name} = namedtuple({name!r}, {list(fields)!r})")
        bodies = [ast.unparse(ast.fix_missing_locations(tree)) for tree in self.trees]
        return "\n".join([*head, *bodies, ""])

    def run_as_python(self) -> dict[str, Any]:
        """Execute the module's source as plain Python and return its definitions."""
        scope: dict[str, Any] = dict.fromkeys(("callback", "helper", "inlined"), lambda function: function)
        scope[_UNSIGNED] = np.uint64
        exec(compile(self.text(), "<rules>", "exec"), scope)  # noqa: S102
        return scope

    @contextlib.contextmanager
    def locate_errors(self, name: str) -> Iterator[None]:
        """Raise a `KernelError` that names the file and the line of a rule in place of Numba's error.

        ``name`` is that of the unit that is being compiled.
        """
        try:
            yield
        except NotImplementedError as error:
            first: Any = next((node for tree in self.trees for node in ast.walk(tree) if hasattr(node, "file")), None)
            if first is None:
                raise
            where = f"{first.file}:{first.lineno}: {getattr(first, 'name', name)}"
            why = "needs memory, as lists and strings do: a compiled rule uses numbers and tuples"
            raise KernelError(f"{where}, or a function that it calls, {why} ({error})") from None
        except Exception as error:
            if not type(error).__module__.startswith("numba."):
                raise
            raise KernelError(self._locate(str(error), name)) from None

    def _locate(self, message: str, name: str) -> str:
        """Add the file and the line of the rule to a message of Numba."""
        statements = [node for tree in self.trees for node in ast.walk(tree) if isinstance(node, ast.stmt)]
        parsed = [n for t in syntax_tree(self.text()).body for n in ast.walk(t) if isinstance(n, ast.stmt)]
        node_by_line = {
            copy.lineno: original
            for original, copy in zip(statements, parsed[-len(statements) :], strict=True)
            if hasattr(original, "file")
        }
        for line in map(int, re.findall(rf"{name}\.py[\"(, a-z]*(\d+)", message)):
            if node := node_by_line.get(line):
                code = linecache.getline(node.file, node.lineno).strip()
                return f"{node.file}:{node.lineno}: {code}: {_error_summary(message)}"
        return self._missing_result_message() or message

    def _missing_result_message(self) -> str:
        """Return the message for the first function without a result; empty if there is none."""
        for tree in self.trees:
            returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
            results = [value for value in returns if value is not None and ast.unparse(value) != "None"]
            first: Any = next((node for node in ast.walk(tree) if hasattr(node, "file")), None)
            if first is not None and not results:
                code = linecache.getline(first.file, first.lineno).strip().rstrip(":")
                return (
                    f"{first.file}:{first.lineno}: {code}: the function returns None; return the state, s._replace(...)"
                )
        return ""


def _error_summary(message: str) -> str:
    """Return the informative part of an error message of Numba."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in")] or lines
    operands = next((line for line in lines if line.startswith(">>>")), "")
    return f"{lines[0]} {operands}".strip()


def _value(namespace: Any, name: str) -> object:
    if not isinstance(namespace, types.CellType):
        return namespace.get(name)
    try:
        return namespace.cell_contents
    except ValueError:  # not assigned yet
        return None


class _Resolve(ast.NodeTransformer):
    """Make a rule self-contained: inline constants, name helpers, expand ``_replace``."""

    def __init__(self, module: Module, function: types.FunctionType, state: str | None, local: set[str]) -> None:
        self.module, self.function, self.local = module, function, local
        self.state = state or "State"
        self.template = state is None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "_replace":
            return self._expand_replace(node, func.value)
        if isinstance(func, ast.Name) and func.id not in self.local:
            target = self.module.look_up(self.function, func.id)
            if target is where and len(node.args) == 3 and not node.keywords:
                test, yes, no = (self.visit(argument) for argument in node.args)
                return ast.copy_location(ast.IfExp(test, yes, no), node)
            if target in (maximum, minimum) and len(node.args) == 2 and not node.keywords:
                # max(y, x) is "x if x > y else y", for NaN too
                name = "max" if target is maximum else "min"
                node.func = ast.copy_location(ast.Name(name, ast.Load()), func)
                node.args = [self.visit(argument) for argument in reversed(node.args)]
                return node
            if isinstance(target, types.FunctionType) and not self._is_spliced(func.id):
                return self._call_helper(node, target, func.id)
        if (
            isinstance(func, ast.Attribute)
            and isinstance(func.value, ast.Name)
            and func.value.id not in self.local
            and isinstance(owner := self.module.look_up(self.function, func.value.id), type)
            and isinstance(function := self.module.static_function(owner, func.attr), types.FunctionType)
        ):
            return self._call_helper(node, function, f"{owner.__name__}_{func.attr}")
        return self.generic_visit(node)

    def _call_helper(self, node: ast.Call, target: types.FunctionType, preferred: str) -> ast.AST:
        """Call a function of the module in place of a plain function, which is added at its first call."""
        if target in self.module.open:
            raise refuse(node, "a compiled rule may not call itself")
        name = self.module.name_of(target, preferred, self.state)
        node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def _expand_replace(self, node: ast.Call, owner: ast.expr) -> ast.AST:
        fields = self.module.tuples.get(self.state)
        if fields is None or not isinstance(owner, ast.Name) or node.args:
            raise refuse(node, "_replace must be called on a variable that holds the state")
        new_values: dict[str, ast.expr] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise refuse(node, "the fields must be written out, without **")
            if keyword.arg not in fields:
                raise refuse(node, f"the state has no {keyword.arg!r}, only {', '.join(fields)}")
            value = self.visit(keyword.value)
            self.module.replaced.add(keyword.arg)
            if self.module.floats:
                value = ast.Call(ast.Name("float", ast.Load()), [value], [])
            new_values[keyword.arg] = value
        values = [
            new_values.get(name) or ast.Attribute(ast.Name(owner.id, ast.Load()), name, ast.Load()) for name in fields
        ]
        call = ast.Call(ast.Name(self.state, ast.Load()), values, [])
        return ast.copy_location(call, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = node.value
        if (
            node.attr in _NOT_COMPILED
            and isinstance(owner, ast.Name)
            and owner.id not in self.local
            and self.module.look_up(self.function, owner.id) is math
        ):
            raise refuse(node, "a compiled rule may not use this function")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        assignment = ast.Assign([node.target], self.visit(node.value))
        assignment.file = getattr(node, "file", "?")  # type: ignore[attr-defined]
        return ast.copy_location(assignment, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or isinstance(node.ctx, ast.Store):
            return node
        if self._is_spliced(node.id):
            return node
        value = self.module.look_up(self.function, node.id)
        if self.template and isinstance(value, np.uint64):  # a plain number would make sums signed
            call: ast.expr = syntax_tree(f"{_UNSIGNED}({value})", mode="eval").body
            return ast.copy_location(call, node)
        if (constant := literal(value)) is not None:
            return ast.copy_location(constant, node)
        if value is math:
            return ast.copy_location(ast.Name("math", ast.Load()), node)
        name = getattr(value, "__name__", "")
        if isinstance(value, types.BuiltinFunctionType) and getattr(math, name, None) is value:
            if name in _NOT_COMPILED:
                raise refuse(node, "a compiled rule may not use this function")
            function = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
            return ast.copy_location(function, node)
        if node.id in _BUILTINS and value is getattr(builtins, node.id, None):
            return node
        fields = getattr(value, "_fields", None)
        if fields and list(fields) == list(self.module.tuples.get(self.state, ())):
            self.module.replaced.update(fields)
            return ast.copy_location(ast.Name(self.state, ast.Load()), node)
        raise refuse(node, "a compiled rule may not use this name")

    def _is_spliced(self, name: str) -> bool:
        """Whether a name of a template refers to something already in the module."""
        return self.template and (name in {"math", _UNSIGNED} or self.module.knows(name))
