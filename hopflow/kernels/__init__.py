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
from typing import Any, NamedTuple

from hopflow.kernels.loading import interpret, is_compiled, load
from hopflow.kernels.module import KERNEL, TEMPLATE, Module
from hopflow.kernels.source import KernelError, parse
from hopflow.kernels.splice import Fields, Splice

__all__ = ["KernelError", "build", "is_built", "shape_of"]

_REMEMBERED = 256
_built: dict[Any, tuple[Callable[..., Any], Module]] = {}
_modules: dict[Any, Module] = {}
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
    checked: bool = False,
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
    checked
        Whether a division by zero raises ZeroDivisionError, as in Python; else it gives what
        hardware gives.
    compiled
        False returns the same spliced text as plain Python: slow, for tests and debugging.

    Raises
    ------
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    parts = _Parts(
        template,
        dict(rules or {}),
        dict(snippets or {}),
        dict(functions or {}),
        tuple(helpers),
        {name: tuple(fields) for name, fields in (tuples or {}).items()},
        dict(changes or {}),
        checked,
    )
    key = (*parts.key(), salt, compiled)
    with _lock:  # also because Python 3.11 does not parse in several threads at once
        if key in _built:
            kernel, module = _built[key]
            if module.is_current():
                return kernel
        module = _written(parts)
        if compiled:
            kernel = load(module, template.__name__, salt)
        else:
            kernel = interpret(module, template.__name__)
        _built[key] = kernel, module
        while len(_built) > _REMEMBERED:
            _built.pop(next(iter(_built)), None)
        return kernel


def is_built(
    template: Callable[..., Any],
    *,
    rules: Mapping[str, Callable[..., Any]] | None = None,
    snippets: Mapping[str, str] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    helpers: Sequence[Callable[..., Any]] = (),
    tuples: Mapping[str, Sequence[str]] | None = None,
    changes: Mapping[str, str] | None = None,
    salt: str = "",
    checked: bool = False,
) -> bool:
    """Return whether `build` with these arguments finds its machine code in the cache folder.

    Raises
    ------
    KernelError
        As `build`.
    """
    parts = _Parts(
        template,
        dict(rules or {}),
        dict(snippets or {}),
        dict(functions or {}),
        tuple(helpers),
        {name: tuple(fields) for name, fields in (tuples or {}).items()},
        dict(changes or {}),
        checked,
    )
    with _lock:
        return is_compiled(_written(parts), template.__name__, salt)


def _written(parts: _Parts) -> Module:
    """Return the module of some parts, written anew when what its names mean has changed."""
    key = parts.key()
    if key not in _modules or not _modules[key].is_current():
        _modules[key] = parts.module()
    while len(_modules) > _REMEMBERED:
        _modules.pop(next(iter(_modules)), None)
    return _modules[key]


class _Parts(NamedTuple):
    """What a kernel is made of; see `build`."""

    template: Callable[..., Any]
    rules: dict[str, Callable[..., Any]]
    snippets: dict[str, str]
    functions: dict[str, Callable[..., Any]]
    helpers: tuple[Callable[..., Any], ...]
    tuples: dict[str, tuple[str, ...]]
    changes: dict[str, str]
    checked: bool

    def key(self) -> tuple[Any, ...]:
        """Return what tells these parts from others."""
        return tuple(tuple(p.items()) if isinstance(p, dict) else p for p in self)

    def module(self) -> Module:
        """Return the module that is to be compiled."""
        named = {self.template.__name__, *(helper.__name__ for helper in self.helpers)}
        module = Module(self.tuples, named)
        for name, function in self.functions.items():
            module.add(name, function, _owner(name, self.tuples))
        for name, of in self.changes.items():
            module.add_change(name, of, self.functions[of], _owner(of, self.tuples))
        splice = Splice(module, self.rules, self.snippets)
        for part in (*self.helpers, self.template):
            if part is not self.template:
                module.called[part, ""] = part.__name__
            tree = module.rewrite(splice.visit(parse(part)), part, None)
            decorator = KERNEL if part is self.template else TEMPLATE
            module.add_tree(Fields.first(tree), decorator)
        module.checked = self.checked
        return module


def shape_of(value: object) -> str:
    """Return a text that two values share only if Numba gives them the same type."""
    if isinstance(value, tuple):
        kind = type(value)  # by its module too: Numba's index of a kernel pickles it by that name
        return f"{kind.__module__}.{kind.__qualname__}({','.join(map(shape_of, value))})"
    if (flags := getattr(value, "flags", None)) is not None and hasattr(value, "dtype"):
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{value.dtype}{value.ndim}{order}"  # type: ignore[attr-defined]
    return type(value).__name__


def _owner(name: str, tuples: Mapping[str, Sequence[str]]) -> str:
    """Return the NamedTuple of the states that the function called ``name`` updates."""
    owners = [t for t in tuples if t.endswith("State") and name.startswith(t[:-5])]
    return max(owners, key=len, default="State")
