"""Compiled kernels out of plain-Python rules.

A kernel is a template, a plain Python function of hopflow, with the text of the rules of a user (or
of ours) spliced in. Both run uncompiled as they stand; compiled, they become one module, named by
the hash of everything that decides its machine code, kept in the cache folder and imported with
Numba's own cache beside it. The same text gives the same file anywhere; a file is never rewritten,
so that no process ever loads a stale or half-written kernel. Within a process a kernel is looked up
by the objects that it was made of, as long as the globals that they refer to are the same.

In a template

- ``for target, rate in rules(s, q): body`` is replaced by the text of the generator ``rules``, with
  the body at the place of each ``yield``;
- ``pack(name)`` and the like are replaced by statements that the caller generates as text
  (``snippets``), which is how an if-chain over several rules comes in.

Rules may use their arguments, literals, ``where``, ``maximum``, ``minimum``, ``math``, the builtins
that Numba knows, numbers (and tuples of numbers) of their module or of the function around them,
and other plain functions written the same way.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import functools
import hashlib
import importlib.util
import inspect
import linecache
import math
import numbers
import os
import re
import sys
import tempfile
import textwrap
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from hopflow.changes import NoSumError, change_of
from hopflow.functions import maximum, minimum, where

__all__ = ["KernelError", "build", "shape_of"]

_BUILTINS = {"abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow"}
_BUILTINS |= {"range", "round", "sum", "zip"}
_HELPER = "njit(error_model='numpy', no_cpython_wrapper=True)"
_KERNEL = "njit(cache=True, error_model='numpy', nogil=True)"
_RESERVED = {"math", "namedtuple", "njit"}
_REMEMBERED = 256
_built: dict[Any, tuple[Callable[..., Any], _Module]] = {}
_lock = threading.RLock()


class KernelError(TypeError):
    """A rule cannot be compiled; the message names its file and line."""


def build(
    template: Callable[..., Any],
    *,
    rules: Mapping[str, Callable[..., Any]] | None = None,
    snippets: Mapping[str, str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    helpers: Sequence[Callable[..., Any]] = (),
    tuples: Mapping[str, Sequence[str]] | None = None,
    changes: Mapping[str, str] | None = None,
    salt: str = "",
    compiled: bool = True,
) -> Callable[..., Any]:
    """Return ``template`` compiled, with rules spliced in.

    Parameters
    ----------
    template
        The loop, as plain Python; its own globals may be ``math`` and what is named below.
    rules
        Generators to inline, by the name under which the template loops over them.
    snippets
        Statements, as text, that replace ``name(...)`` statements of the template.
    functions
        Plain functions of rules that the template or the snippets call, by the name used there.
        States that they update with ``_replace`` are of the NamedTuple named ``<prefix>State`` for
        a function called ``<prefix>something``, or ``State``.
    helpers
        Further templates that ``template`` calls, in the order of their dependence.
    tuples
        NamedTuple types that the module defines: name to field names.
    changes
        New name to the name of a function of a rule: what that function adds to each field of the
        state (`hopflow.changes`), beside the function itself.
    salt
        Whatever else decides the signature (see `shape_of`): one signature per module.
    compiled
        False returns the same spliced text as plain Python: slow, for tests and debugging.

    Raises
    ------
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    rules, snippets, functions = dict(rules or {}), dict(snippets or {}), dict(functions or {})
    tuples = {name: tuple(fields) for name, fields in (tuples or {}).items()}
    changes = dict(changes or {})
    parts = (tuple(part.items()) for part in (rules, snippets, functions, tuples, changes))
    key = (template, tuple(helpers), *parts, salt, compiled)
    with _lock:  # also because Python 3.11 does not parse in several threads at once
        if key in _built:
            kernel, module = _built[key]
            if module.is_current():
                return kernel
        module = _Module(tuples, {template.__name__, *(helper.__name__ for helper in helpers)})
        for name, function in functions.items():
            module.add(name, function, _owner(name, tuples))
        for name, of in changes.items():
            module.add_change(name, of, functions[of], _owner(of, tuples))
        splice = _Splice(module, rules, snippets)
        for helper in helpers:
            module.called[helper, ""] = helper.__name__
            module.add_tree(module.rewrite(splice.visit(_parse(helper)), helper, None), _HELPER)
        module.add_tree(module.rewrite(splice.visit(_parse(template)), template, None), _KERNEL)
        if compiled:
            kernel = _load(module, template.__name__, salt)
        else:
            kernel = _interpret(module, template.__name__)
        _built[key] = kernel, module
        while len(_built) > _REMEMBERED:
            _built.pop(next(iter(_built)), None)
        return kernel


def shape_of(value: object) -> str:
    """Return a text that two values share only if Numba gives them the same type."""
    if isinstance(value, tuple):
        return f"{type(value).__name__}({','.join(map(shape_of, value))})"
    if (flags := getattr(value, "flags", None)) is not None and hasattr(value, "dtype"):
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{value.dtype}{value.ndim}{order}"  # type: ignore[attr-defined]
    return type(value).__name__


def _owner(name: str, tuples: Mapping[str, Sequence[str]]) -> str:
    """Return the NamedTuple of the states that the function called ``name`` updates."""
    owners = [t for t in tuples if t.endswith("State") and name.startswith(t[:-5])]
    return max(owners, key=len, default="State")


# --------------------------------------------------------------------------- text to trees


def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return a function's tree, its line numbers those of its file, without its annotations."""
    function = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        name = getattr(function, "__qualname__", repr(function))
        msg = f"{name}: its source text is not available; write it in a file or a notebook cell"
        raise KernelError(msg) from None
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(f"{function.__qualname__}: a function written with def is expected")
    ast.increment_lineno(tree, first - 1)
    file = inspect.getsourcefile(function) or "?"
    if not _is_text_of(tree, function):
        why = "its file has changed since it was imported: import it again"
        raise KernelError(f"{file}:{first}: {function.__qualname__}: {why}")
    for node in ast.walk(tree):
        node.file = file  # type: ignore[attr-defined]
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    return tree


def _is_text_of(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Whether a function was compiled from this tree, by its names and constants."""

    def fingerprint(code: types.CodeType) -> tuple[Any, ...]:
        numbers_used = [repr(c) for c in code.co_consts if not isinstance(c, (types.CodeType, str))]
        return code.co_varnames, {*code.co_names, *code.co_freevars}, numbers_used

    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))  # pytest rewrites them
    bare = copy.copy(tree)
    bare.decorator_list = []
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    unit = ast.Module([bare], [])
    compiled = compile(unit, "<rule>", "exec", flags=flags, dont_inherit=True)
    code = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    same_name = tree.name == function.__code__.co_name
    return same_name and (asserts or fingerprint(code) == fingerprint(function.__code__))


def _refuse(node: ast.AST, why: str) -> KernelError:
    place = f"{getattr(node, 'file', '?')}:{getattr(node, 'lineno', '?')}"
    return KernelError(f"{place}: {ast.unparse(node)}: {why}")


class _Module:
    """The module being written: NamedTuples, helpers and the kernel, in order."""

    def __init__(self, tuples: Mapping[str, Sequence[str]], taken: set[str]) -> None:
        self.tuples = tuples
        self.taken = taken | _RESERVED
        self.called: dict[tuple[Callable[..., Any], str], str] = {}
        self.trees: list[ast.FunctionDef] = []
        self.read: list[tuple[Any, str, object]] = []

    def add(self, name: str, function: Callable[..., Any], state: str) -> None:
        """Add a plain function under ``name``, and before it those that it calls."""
        self.called.setdefault((function, state), name)
        tree = self.rewrite(_parse(function), function, state)
        tree.name = name
        self.add_tree(tree, _HELPER)

    def add_change(self, name: str, of: str, function: Callable[..., Any], state: str) -> None:
        """Add what the function ``of`` of a rule adds to the state; by difference if need be."""
        try:
            self._add_sum(name, function, state)
        except NoSumError:
            differences = "".join(
                f"0.0 if new.{field} == s.{field} else new.{field} - s.{field},"
                for field in self.tuples[state]
            )
            text = f"def {name}(s, q, e):\n new = {of}(s, q, e)\n return {state}({differences})"
            tree = ast.parse(text).body[0]
            assert isinstance(tree, ast.FunctionDef)
            self.add_tree(tree, _HELPER)

    def _add_sum(self, name: str, function: Callable[..., Any], state: str) -> None:
        helpers = set()

        def helper(called: str) -> str:
            target = self.look_up(inspect.unwrap(function), called)
            if not isinstance(target, types.FunctionType) or target is where:
                raise NoSumError
            helpers.add(f"{name}_{called}")
            self._add_sum(f"{name}_{called}", target, state)
            return f"{name}_{called}"

        tree = _parse(function)
        names = functools.partial(self.look_up, inspect.unwrap(function))
        tree = change_of(tree, self.tuples[state], names, helper)
        tree.name = name
        self.add_tree(self.rewrite(tree, function, state, helpers), _HELPER)

    def name_of(self, function: Callable[..., Any], wanted: str, state: str) -> str:
        """Return the name of a function that a rule calls; add it at the first call.

        A function that two rules share is there once per state, since it may use ``_replace``.
        """
        for key in ((function, ""), (function, state)):
            if key in self.called:
                return self.called[key]
        name, n = wanted, 1
        while self.knows(name) or name in self.taken or name in self.called.values():
            n += 1
            name = f"{wanted}_{n}"
        self.add(name, function, state)
        return name

    def knows(self, name: str) -> bool:
        """Whether the module defines ``name``."""
        return name in self.tuples or any(tree.name == name for tree in self.trees)

    def add_tree(self, tree: ast.FunctionDef, decorator: str) -> None:
        tree.decorator_list = [ast.parse(decorator, mode="eval").body]
        self.trees.append(tree)

    def rewrite(
        self,
        tree: ast.FunctionDef,
        function: Callable[..., Any],
        state: str | None,
        known: AbstractSet[str] = frozenset(),
    ) -> Any:
        """Resolve the globals of a rule, or of a template (no state), and ``_replace`` calls.

        Names that are ``known`` stand for what they say.
        """
        local = _locals_of(tree) | known
        return _Resolve(self, inspect.unwrap(function), state, local).visit(tree)

    def look_up(self, function: types.FunctionType, name: str) -> object:
        """Return what a global or closed-over name of a function means now; take note of it."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        place = cells.get(name, function.__globals__)
        value = _value(place, name)
        self.read.append((place, name, value))
        return getattr(builtins, name, None) if value is None else value

    def is_current(self) -> bool:
        """Whether every name that the text depends on still means the same object."""
        return all(_value(place, name) is value for place, name, value in self.read)

    def text(self) -> str:
        head = ["# generated by hopflow from rules", "import math"]
        head += ["from collections import namedtuple", "from numba import njit"]
        for name, fields in self.tuples.items():
            head.append(f"{name} = namedtuple({name!r}, {list(fields)!r})")
        bodies = [ast.unparse(ast.fix_missing_locations(tree)) for tree in self.trees]
        return "\n".join([*head, *bodies, ""])


def _value(place: Any, name: str) -> object:
    if not isinstance(place, types.CellType):
        return place.get(name)
    try:
        return place.cell_contents
    except ValueError:  # not assigned yet
        return None


def _locals_of(tree: ast.FunctionDef) -> set[str]:
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _literal(value: object) -> ast.expr | None:
    """Return a number, or a tuple of them, as a literal; None for anything else."""
    if isinstance(value, tuple):
        items = [_literal(item) for item in value]
        known = [item for item in items if item is not None]
        return ast.Tuple(known, ast.Load()) if len(known) == len(items) else None
    if isinstance(value, bool):
        return ast.Constant(value)
    if isinstance(value, numbers.Integral):  # NumPy's and enumerations too
        return ast.Constant(int(value))
    if not isinstance(value, float):  # NumPy's float64 is one
        return None
    if math.isnan(value):
        return ast.Attribute(ast.Name("math", ast.Load()), "nan", ast.Load())
    return ast.Constant(float(value))


class _Resolve(ast.NodeTransformer):
    """Make a rule self-contained: constants inlined, helpers named, ``_replace`` spelled out."""

    def __init__(
        self, module: _Module, function: types.FunctionType, state: str | None, local: set[str]
    ) -> None:
        self.module, self.function, self.local = module, function, local
        self.state = state or "State"
        self.template = state is None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "_replace":
            return self._replaced(node, func.value)
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
                name = self.module.name_of(target, func.id, self.state)
                node.func = ast.copy_location(ast.Name(name, ast.Load()), func)
                node.args = [self.visit(argument) for argument in node.args]
                node.keywords = [self.visit(keyword) for keyword in node.keywords]
                return node
        return self.generic_visit(node)

    def _replaced(self, node: ast.Call, owner: ast.expr) -> ast.AST:
        fields = self.module.tuples.get(self.state)
        if fields is None or not isinstance(owner, ast.Name) or node.args:
            raise _refuse(node, "_replace is understood for a state called by its name")
        given: dict[str, ast.expr] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise _refuse(node, "the fields must be written out, without **")
            if keyword.arg not in fields:
                raise _refuse(node, f"the state has no {keyword.arg!r}, only {', '.join(fields)}")
            given[keyword.arg] = self.visit(keyword.value)
        values = [
            given.get(name) or ast.Attribute(ast.Name(owner.id, ast.Load()), name, ast.Load())
            for name in fields
        ]
        call = ast.Call(ast.Name(self.state, ast.Load()), values, [])
        return ast.copy_location(call, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        plain = ast.Assign([node.target], self.visit(node.value))
        plain.file = getattr(node, "file", "?")  # type: ignore[attr-defined]
        return ast.copy_location(plain, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local or isinstance(node.ctx, ast.Store):
            return node
        if self._is_spliced(node.id):
            return node
        value = self.module.look_up(self.function, node.id)
        if (literal := _literal(value)) is not None:
            return ast.copy_location(literal, node)
        if value is math:
            return ast.copy_location(ast.Name("math", ast.Load()), node)
        name = getattr(value, "__name__", "")
        if isinstance(value, types.BuiltinFunctionType) and getattr(math, name, None) is value:
            function = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
            return ast.copy_location(function, node)
        if node.id in _BUILTINS and value is getattr(builtins, node.id, None):
            return node
        fields = getattr(value, "_fields", None)
        if fields and list(fields) == list(self.module.tuples.get(self.state, ())):
            return ast.copy_location(ast.Name(self.state, ast.Load()), node)
        raise _refuse(node, "a rule may not use this name when compiled")

    def _is_spliced(self, name: str) -> bool:
        """Whether a name of a template stands for what was put into the module before it."""
        return self.template and (name == "math" or self.module.knows(name))


class _Splice(ast.NodeTransformer):
    """Put rules and snippets into a template."""

    def __init__(
        self,
        module: _Module,
        rules: Mapping[str, Callable[..., Any]],
        snippets: Mapping[str, str],
    ) -> None:
        self.module, self.rules, self.snippets = module, rules, snippets

    def visit_For(self, node: ast.For) -> Any:
        call = node.iter
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in self.rules
        ):
            return self._inline(node, self.rules[call.func.id], call)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in self.snippets
        ):
            return ast.parse(textwrap.dedent(self.snippets[call.func.id])).body
        return node

    def _inline(self, loop: ast.For, rule: Callable[..., Any], call: ast.Call) -> list[ast.stmt]:
        tree = self.module.rewrite(_parse(rule), rule, "State")
        arguments = {
            parameter.arg: argument.id
            for parameter, argument in zip(tree.args.args, call.args, strict=True)
            if isinstance(argument, ast.Name)
        }
        renamed = {name: arguments.get(name, f"rule_{name}") for name in _locals_of(tree)}
        body = [self.visit(statement) for statement in loop.body]
        spliced = _Yield(loop.target, body, renamed)
        statements = _flatten(spliced.visit(statement) for statement in tree.body)
        if spliced.returns:
            once = ast.While(ast.Constant(True), [*statements, ast.Break()], [])
            return [ast.copy_location(once, loop)]
        return statements


class _Yield(ast.NodeTransformer):
    """Replace each yield by the loop's body; rename the rule's variables."""

    def __init__(self, target: ast.expr, body: list[Any], renamed: dict[str, str]) -> None:
        self.target, self.body, self.renamed = target, _flatten(body), renamed
        self.returns = False
        self.depth = 0

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.renamed.get(node.id, node.id)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if self.depth or node.value is not None:
            raise _refuse(node, "a compiled rule may return early only outside of its loops")
        self.returns = True
        return ast.copy_location(ast.Break(), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not isinstance(node.value, ast.Yield):
            return self.generic_visit(node)
        value = node.value.value
        names = self.target.elts if isinstance(self.target, ast.Tuple) else [self.target]
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(names):
            raise _refuse(node, "yield target, rate is expected")
        assignments: list[ast.stmt] = [
            ast.copy_location(ast.Assign([copy.deepcopy(name)], self.visit(item)), node)
            for name, item in zip(names, value.elts, strict=True)
        ]
        for statement in assignments:
            statement.file = getattr(node, "file", "?")  # type: ignore[attr-defined]
        return [*assignments, *copy.deepcopy(self.body)]

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        raise _refuse(node, "yield must stand alone: yield target, rate")


def _flatten(items: Any) -> list[ast.stmt]:
    flat: list[ast.stmt] = []
    for item in items:
        flat.extend(item) if isinstance(item, list) else flat.append(item)
    return flat


# --------------------------------------------------------------------------- trees to machine code


def _load(module: _Module, name: str, salt: str) -> Callable[..., Any]:
    """Write the module's file unless it is there, import it, return its kernel."""
    import llvmlite
    import numba

    text = module.text()
    key = f"{text}\n{salt}\n{numba.__version__}\n{llvmlite.__version__}"
    stem = f"kernel_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    with _lock:
        loaded = sys.modules.get(f"hopflow_{stem}") or _import(stem, text)
    return _Located(getattr(loaded, name), module, text, stem)


def _interpret(module: _Module, name: str) -> Callable[..., Any]:
    """Return the kernel as plain Python."""
    text = module.text().replace("from numba import njit", "njit = lambda **_: lambda f: f")
    scope: dict[str, Any] = {}
    exec(compile(text, "<rules>", "exec"), scope)  # noqa: S102
    kernel: Callable[..., Any] = scope[name]
    return kernel


def _import(stem: str, text: str) -> types.ModuleType:
    path = _folder() / f"{stem}.py"
    if not path.exists():
        handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            try:
                os.link(scratch, path)  # atomic, and never over a file that is there
            except FileExistsError:
                pass
            except OSError:  # a file system without hard links
                Path(scratch).replace(path)
        finally:
            Path(scratch).unlink(missing_ok=True)
    spec = importlib.util.spec_from_file_location(f"hopflow_{stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import the kernel {path}")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return loaded


@functools.cache
def _folder() -> Path:
    """Return the first folder of the list that can be written to."""
    for folder in _candidates():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if folder.parent == Path(tempfile.gettempdir()) and folder.stat().st_uid != _user():
            continue  # in a place open to all, only what is our own is imported
        return folder
    raise OSError("no folder for compiled kernels: set HOPFLOW_CACHE_DIR to one that is writable")


def _candidates() -> Iterator[Path]:
    for variable, below in (
        ("HOPFLOW_CACHE_DIR", "."),
        ("NUMBA_CACHE_DIR", "hopflow"),
        ("XDG_CACHE_HOME", "hopflow"),
        ("HOME", ".cache/hopflow"),
    ):
        if value := os.environ.get(variable):
            yield Path(value) / below
    yield Path(tempfile.gettempdir()) / f"hopflow-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


class _Located:
    """A kernel whose compile errors name the file and line of the rule that caused them."""

    def __init__(self, kernel: Any, module: _Module, text: str, stem: str) -> None:
        self.kernel, self.module, self.text, self.stem = kernel, module, text, stem
        self.compiled = False

    def __call__(self, *args: Any) -> Any:
        if self.compiled:
            return self.kernel(*args)
        from numba.core.errors import NumbaError

        try:
            result = self.kernel(*args)
        except NumbaError as error:
            raise KernelError(self._locate(str(error))) from None
        self.compiled = True
        return result

    def _locate(self, message: str) -> str:
        written = [n for t in self.module.trees for n in ast.walk(t) if isinstance(n, ast.stmt)]
        parsed = [n for t in ast.parse(self.text).body for n in ast.walk(t)]
        read = [n for n in parsed if isinstance(n, ast.stmt)][-len(written) :]
        lines = [int(line) for line in re.findall(rf"{self.stem}\.py[\"(, a-z]*(\d+)", message)]
        places = {r.lineno: w for w, r in zip(written, read, strict=True) if hasattr(w, "file")}
        for line in lines:
            if node := places.get(line):
                code = linecache.getline(node.file, node.lineno).strip()
                return f"{node.file}:{node.lineno}: {code}: {_reason(message)}"
        return message


def _reason(message: str) -> str:
    """Return what a message of Numba says beyond that it failed."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Failed in")] or lines
    operands = next((line for line in said if line.startswith(">>>")), "")
    return f"{said[0]} {operands}".strip()
