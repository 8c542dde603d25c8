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

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hopflow.kernels.loading import interpret, load
from hopflow.kernels.module import KERNEL, TEMPLATE, Module
from hopflow.kernels.source import KernelError, parse
from hopflow.kernels.splice import Fields, Splice

__all__ = ["KernelError", "build", "shape_of"]

_REMEMBERED = 256
_built: dict[Any, tuple[Callable[..., Any], Module]] = {}
_lock = threading.RLock()


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
        Further templates that ``template`` calls, in the order of their dependence; they make no
        arrays.
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
        module = Module(tuples, {template.__name__, *(helper.__name__ for helper in helpers)})
        for name, function in functions.items():
            module.add(name, function, _owner(name, tuples))
        for name, of in changes.items():
            module.add_change(name, of, functions[of], _owner(of, tuples))
        splice = Splice(module, rules, snippets)
        for part in (*helpers, template):
            if part is not template:
                module.called[part, ""] = part.__name__
            tree = module.rewrite(splice.visit(parse(part)), part, None)
            module.add_tree(Fields.first(tree), KERNEL if part is template else TEMPLATE)
        if compiled:
            kernel = load(module, template.__name__, salt)
        else:
            kernel = interpret(module, template.__name__)
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
