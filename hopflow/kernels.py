"""Compiled kernels out of plain-Python rules.

A kernel is a template, a plain Python function of hopflow, with the text of the rules of a user (or
of ours) spliced in. Both run uncompiled as they stand; compiled, they become one module, named by
the hash of everything that decides its machine code, kept in the cache folder and imported with
Numba's own cache beside it. The same text gives the same file anywhere; a file is never rewritten,
so that no process ever loads a stale or half-written kernel.

In a template

- ``for target, rate in rules(s, q): body`` is replaced by the text of the generator ``rules``, with
  the body at the place of each ``yield``;
- ``pack(name)`` and the like are replaced by statements that the caller generates as text
  (``snippets``), which is how an if-chain over several rules comes in.

Rules may use their arguments, literals, ``where``, ``maximum``, ``minimum``, ``math``, the builtins
that Numba knows, constants of their module, and other plain functions written the same way.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import hashlib
import importlib.util
import inspect
import math
import os
import re
import sys
import tempfile
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hopflow import functions

__all__ = ["KernelError", "build", "shape_of"]

_BUILTINS = {"abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow"}
_BUILTINS |= {"range", "round", "sum", "zip"}
_HELPER = "njit(error_model='numpy', no_cpython_wrapper=True)"
_KERNEL = "njit(cache=True, error_model='numpy', nogil=True)"


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
    salt
        Whatever else decides the signature (see `shape_of`): one signature per module.
    compiled
        False returns the same spliced text as plain Python: slow, for tests and debugging.

    Raises
    ------
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    module = _Module(dict(tuples or {}))
    for name, function in (functions or {}).items():
        module.add(name, function)
    splice = _Splice(module, rules or {}, snippets or {})
    for helper in helpers:
        module.add_tree(module.rewrite(splice.visit(_parse(helper)), helper), _HELPER)
    module.add_tree(module.rewrite(splice.visit(_parse(template)), template), _KERNEL)
    if not compiled:
        return _interpret(module, template.__name__)
    return _load(module, template.__name__, salt)


def shape_of(value: object) -> str:
    """Return a text that two values share if and only if Numba gives them the same type."""
    if isinstance(value, tuple):
        return f"({','.join(map(shape_of, value))})"
    return type(value).__name__


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
    for node in ast.walk(tree):
        node.file = file  # type: ignore[attr-defined]
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    return tree


def _refuse(node: ast.AST, why: str) -> KernelError:
    place = f"{getattr(node, 'file', '?')}:{getattr(node, 'lineno', '?')}"
    return KernelError(f"{place}: {ast.unparse(node)}: {why}")


class _Module:
    """The module being written: NamedTuples, helpers and the kernel, in order."""

    def __init__(self, tuples: dict[str, Sequence[str]]) -> None:
        self.tuples = tuples
        self.helpers: dict[str, Callable[..., Any]] = {}
        self.trees: list[ast.FunctionDef] = []

    def add(self, name: str, function: Callable[..., Any], state: str | None = None) -> None:
        """Add a plain function under ``name``, and before it those that it calls."""
        if self.helpers.setdefault(name, function) is not function:
            raise KernelError(f"two different functions are called {name}")
        if self.knows(name):
            return
        if state is None:
            owners = [t for t in self.tuples if t.endswith("State") and name.startswith(t[:-5])]
            state = max(owners, key=len, default="State")
        tree = self.rewrite(_parse(function), function, state)
        tree.name = name
        self.add_tree(tree, _HELPER)

    def knows(self, name: str) -> bool:
        """Whether the module defines ``name``."""
        return name in self.tuples or any(tree.name == name for tree in self.trees)

    def add_tree(self, tree: ast.FunctionDef, decorator: str) -> None:
        tree.decorator_list = [ast.parse(decorator, mode="eval").body]
        self.trees.append(tree)

    def rewrite(
        self, tree: ast.FunctionDef, function: Callable[..., Any], state: str = "State"
    ) -> Any:
        """Resolve the globals of a tree and its ``_replace`` calls."""
        function = inspect.unwrap(function)
        closure = inspect.getclosurevars(function)
        names = {**vars(builtins), **closure.globals, **closure.nonlocals}
        return _Resolve(self, names, state, _locals_of(tree)).visit(tree)

    def text(self) -> str:
        head = ["# generated by hopflow from rules", "import math"]
        head += ["from collections import namedtuple", "from numba import njit"]
        for name, fields in self.tuples.items():
            head.append(f"{name} = namedtuple({name!r}, {list(fields)!r})")
        bodies = [ast.unparse(ast.fix_missing_locations(tree)) for tree in self.trees]
        return "\n".join([*head, *bodies, ""])


def _locals_of(tree: ast.FunctionDef) -> set[str]:
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | {argument.arg for argument in tree.args.args}


class _Resolve(ast.NodeTransformer):
    """Make a rule self-contained: constants inlined, helpers named, ``_replace`` spelled out."""

    def __init__(
        self, module: _Module, names: Mapping[str, Any], state: str, local: set[str]
    ) -> None:
        self.module, self.names, self.state, self.local = module, names, state, local

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: D102
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "_replace":
            return self._replaced(node, func.value)
        if isinstance(func, ast.Name) and func.id not in self.local:
            target = self.names.get(func.id)
            if target is functions.where and len(node.args) == 3:
                test, yes, no = (self.visit(argument) for argument in node.args)
                return ast.copy_location(ast.IfExp(test, yes, no), node)
            if target in (functions.maximum, functions.minimum):
                name = "max" if target is functions.maximum else "min"
                node.func = ast.copy_location(ast.Name(name, ast.Load()), func)
                node.args = [self.visit(argument) for argument in node.args]
                return node
            if isinstance(target, types.FunctionType) and not self.module.knows(func.id):
                self.module.add(func.id, target, self.state)
                node.args = [self.visit(argument) for argument in node.args]
                return node
        return self.generic_visit(node)

    def _replaced(self, node: ast.Call, owner: ast.expr) -> ast.AST:
        fields = self.module.tuples.get(self.state)
        if fields is None or not isinstance(owner, ast.Name) or node.args:
            raise _refuse(node, "_replace is understood for a state called by its name")
        given = {keyword.arg: self.visit(keyword.value) for keyword in node.keywords}
        if unknown := set(given) - set(fields):
            raise _refuse(node, f"the state has no {unknown.pop()!r}, only {', '.join(fields)}")
        values = [
            given.get(name) or ast.Attribute(ast.Name(owner.id, ast.Load()), name, ast.Load())
            for name in fields
        ]
        call = ast.Call(ast.Name(self.state, ast.Load()), values, [])
        return ast.copy_location(call, node)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: D102
        if node.id in self.local or isinstance(node.ctx, ast.Store):
            return node
        if self.module.knows(node.id):
            return node
        value = self.names.get(node.id)
        if isinstance(value, (bool, int, float)):
            return ast.copy_location(ast.Constant(value), node)
        if value is math or (
            node.id in _BUILTINS and value is getattr(builtins, node.id, None)
        ):
            return node
        if isinstance(value, type) and getattr(value, "_fields", None):
            if list(value._fields) == list(self.module.tuples.get(self.state, ())):
                return ast.copy_location(ast.Name(self.state, ast.Load()), node)
        raise _refuse(node, "a rule may not use this name when compiled")


class _Splice(ast.NodeTransformer):
    """Put rules and snippets into a template."""

    def __init__(
        self,
        module: _Module,
        rules: Mapping[str, Callable[..., Any]],
        snippets: Mapping[str, str],
    ) -> None:
        self.module, self.rules, self.snippets = module, rules, snippets

    def visit_For(self, node: ast.For) -> Any:  # noqa: D102
        call = node.iter
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in self.rules
        ):
            return self._inline(node, self.rules[call.func.id], call)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: D102
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
        renamed = {name: arguments.get(name, f"_{name}") for name in _locals_of(tree)}
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

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: D102
        node.id = self.renamed.get(node.id, node.id)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: D102
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_While = visit_For  # noqa: N815

    def visit_Return(self, node: ast.Return) -> ast.AST:  # noqa: D102
        if self.depth or node.value is not None:
            raise _refuse(node, "a compiled rule may return early only outside of its loops")
        self.returns = True
        return ast.copy_location(ast.Break(), node)

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: D102
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

    def visit_Yield(self, node: ast.Yield) -> ast.AST:  # noqa: D102
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
    key = "\n".join([text, salt, numba.__version__, llvmlite.__version__])
    stem = f"kernel_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    loaded = sys.modules.get(f"hopflow_{stem}") or _import(stem, text)
    return _Located(getattr(loaded, name), module, text, stem)


def _interpret(module: _Module, name: str) -> Callable[..., Any]:
    """Return the kernel as plain Python."""
    text = module.text().replace("from numba import njit", "njit = lambda **_: lambda f: f")
    scope: dict[str, Any] = {}
    exec(compile(text, "<rules>", "exec"), scope)
    kernel: Callable[..., Any] = scope[name]
    return kernel


def _import(stem: str, text: str) -> types.ModuleType:
    path = _folder() / f"{stem}.py"
    if not path.exists():
        handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            with contextlib.suppress(FileExistsError):
                os.link(scratch, path)  # atomic, and never over a file that is there
        finally:
            Path(scratch).unlink(missing_ok=True)
    spec = importlib.util.spec_from_file_location(f"hopflow_{stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import the kernel {path}")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@functools.cache
def _folder() -> Path:
    """Return the first folder of the list that can be written to."""
    for folder in _candidates():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
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
    yield Path(tempfile.gettempdir()) / f"hopflow-{os.getuid() if hasattr(os, 'getuid') else 0}"


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
        reason = message.strip().splitlines()[0]
        for line in reversed(lines):
            if node := places.get(line):
                return f"{node.file}:{node.lineno}: {ast.unparse(node)}: {reason}"  # type: ignore[attr-defined]
        return message
