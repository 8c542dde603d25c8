"""Kernels compiled from templates and rules in plain Python.

A kernel is a template, a plain Python function of hopflow, with the source of rules (user-defined or
hopflow's own) inserted. Both also run uncompiled. Compiled, they become one module, named by the hash
of everything that determines its machine code, stored in the cache folder and imported with Numba's
cache beside it. Equal source gives the same file on every machine; a file is never rewritten, so that
no process loads an outdated or incomplete kernel. Within a process a kernel is looked up by the
objects from which it was built, as long as the globals that they refer to are unchanged.

In a template

- ``for target, rate in rules(s, q): body`` is replaced by the source of the generator ``rules``, with
  the body in place of each ``yield``;
- ``for s, r in slots(grid): body``, with a generator of the template's module, is replaced in the same way: such a
  traversal is a template too, and one serves several kernels;
- statements such as ``pack(name)`` are replaced by statements that the caller generates as text
  (``snippets``), for example an if-chain over several rules.

Rules may use their arguments, literals, ``where``, ``maximum``, ``minimum``, ``math``, the builtins
that Numba supports, numbers (and tuples of numbers) of their module or of an enclosing function, and
other plain functions written in the same way.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

from hopflow.kernels.callbacks import build_callbacks
from hopflow.kernels.entries import Entry
from hopflow.kernels.loading import import_text, interpret, is_compiled, load, load_entry
from hopflow.kernels.module import KERNEL, PLAIN_KERNEL, TEMPLATE, Module, callback
from hopflow.kernels.package import compiled_package, is_compiled_package, loop_of
from hopflow.kernels.records import Layout, definitions, rebuild
from hopflow.kernels.source import KernelError
from hopflow.kernels.splice import Fields, Splice

__all__ = [
    "Insertions",
    "KernelError",
    "build",
    "build_callbacks",
    "build_entry",
    "compiled_package",
    "is_built",
    "is_compiled_package",
    "loop_of",
    "shape_of",
]

_REMEMBERED = 256
_built: dict[Any, tuple[Callable[..., Any], Module]] = {}
_modules: dict[Any, Module] = {}
_lock = threading.RLock()


class Insertions(TypedDict, total=False):
    """What is inserted into a template, and how it runs: arguments of `build` and `is_built`, by name.

    Attributes
    ----------
    rules
        Generators to inline, by the name under which the template iterates over them.
    snippets
        Statements, as text, that replace ``name(...)`` statements of the template.
    functions
        Plain functions of rules that the template or the snippets call, by the name used there. The
        states that they update with ``_replace`` have the NamedTuple type ``<prefix>State`` for a
        function called ``<prefix>something``, otherwise ``State``.
    helpers
        Further templates that ``template`` calls, each after those that it calls; they must not
        allocate arrays.
    tuples
        NamedTuple types defined in the module: name to field names.
    changes
        New names for the increments (`hopflow.changes`) of functions of rules: new name to the name
        of the function, and the fields of the state whose increments are not needed.
    checked
        Whether rules do as plain Python does or raise an exception (`hopflow.kernels.checking`), where
        a whole number, function or index of theirs may be none to a compiler; otherwise IEEE arithmetic and
        64-bit integers apply. Whole numbers among the fields of states and parameters are below 2^52.
    signature
        Numba's C signature of the template, to return a C callback: an object with ``address``, which
        compiled packages call (`hopflow.kernels.jit.call_on_array`), instead of a function.
    records
        The layouts of the template's arguments (`hopflow.kernels.records.layout_of`): those with records
        are passed as plain tuples, and the template must not allocate arrays. Empty: all as they are.
    """

    rules: Mapping[str, Callable[..., Any]]
    snippets: Mapping[str, str]
    functions: Mapping[str, Callable[..., Any]]
    helpers: Sequence[Callable[..., Any]]
    tuples: Mapping[str, Sequence[str]]
    changes: Mapping[str, tuple[str, Sequence[str]]]
    checked: bool
    signature: str
    records: Sequence[Layout | None]


def build(
    template: Callable[..., Any],
    *,
    salt: str = "",
    compiled: bool = True,
    **inserted: Unpack[Insertions],
) -> Callable[..., Any]:
    """Return ``template`` compiled, with rules inserted.

    Parameters
    ----------
    template
        The kernel function in plain Python; its globals may be ``math`` and the names below.
    salt
        Text that distinguishes argument types (see `shape_of`): one signature per module.
    compiled
        False returns the same source as plain Python: slow, for tests and debugging.
    **inserted
        See `Insertions`.

    Raises
    ------
    KernelError
        Naming the file and the line of the rule that cannot be compiled.

    Examples
    --------
    >>> def total(n):
    ...     s = 0.0
    ...     for i in range(n):
    ...         s += i
    ...     return s
    >>> build(total, compiled=False)(4)
    6.0
    """
    parts = _parts(template, inserted)
    key = (*parts.key(), salt, compiled)
    with _lock:  # also because Python 3.11 does not parse in several threads at once
        if key in _built:
            kernel, module = _built[key]
            if module.is_current():
                return kernel
        module = _written(parts)
        if not compiled:
            kernel = interpret(module, template.__name__)
        elif parts.signature:
            kernel = getattr(import_text(module), template.__name__)
        else:
            kernel = load(module, template.__name__, salt)
        _built[key] = kernel, module
        while len(_built) > _REMEMBERED:
            _built.pop(next(iter(_built)), None)
        return kernel


def build_entry(template: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()) -> Entry:
    """Return ``template``, which must not allocate arrays, compiled for any types of arguments as they come.

    Its machine code is loaded from a file, without Numba, where that was compiled before. Arguments as for `build`.
    """
    parts = _parts(template, {"helpers": helpers})
    with _lock:
        return load_entry(_written(parts), template.__name__)


def is_built(
    template: Callable[..., Any], *, salt: str = "", **inserted: Unpack[Insertions]
) -> bool:
    """Return whether the machine code that `build` needs for these arguments is in the cache folder.

    Raises
    ------
    KernelError
        As `build`.
    """
    parts = _parts(template, inserted)
    with _lock:
        return is_compiled(_written(parts), template.__name__, salt, parts.signature)


def _written(parts: _Parts) -> Module:
    """Return the module for some parts, rewritten if the objects its names refer to have changed."""
    key = parts.key()
    if key not in _modules or not _modules[key].is_current():
        _modules[key] = parts.module()
    while len(_modules) > _REMEMBERED:
        _modules.pop(next(iter(_modules)), None)
    return _modules[key]


class _Parts(NamedTuple):
    """Constituents of a kernel; see `build`."""

    template: Callable[..., Any]
    rules: dict[str, Callable[..., Any]]
    snippets: dict[str, str]
    functions: dict[str, Callable[..., Any]]
    helpers: tuple[Callable[..., Any], ...]
    tuples: dict[str, tuple[str, ...]]
    changes: dict[str, tuple[str, tuple[str, ...]]]
    checked: bool
    signature: str
    records: tuple[Layout | None, ...]

    def key(self) -> tuple[Any, ...]:
        """Return a key that identifies these parts."""
        return tuple(tuple(p.items()) if isinstance(p, dict) else p for p in self)

    def module(self) -> Module:
        """Return the module to be compiled."""
        named = {self.template.__name__, *(helper.__name__ for helper in self.helpers)}
        records = definitions(self.records) if any(self.records) else {}
        module = Module(self.tuples | records, named, checked=self.checked)
        for name, function in self.functions.items():
            module.add(name, function, _owner(name, self.tuples))
        for name, (of, omitted) in self.changes.items():
            module.add_change(name, of, self.functions[of], _owner(of, self.tuples), omitted)
        splice = Splice(module, self.rules, self.snippets)
        entry = callback(self.signature) if self.signature else KERNEL
        entry = PLAIN_KERNEL if any(self.records) else entry
        for part in (*self.helpers, self.template):
            if part is not self.template:
                module.called[part, ""] = part.__name__
            tree = module.rewrite(splice.spliced(part), part, None)
            tree = Fields.first(tree)
            if part is self.template and any(self.records):
                tree = rebuild(tree, self.records)
            module.add_tree(tree, entry if part is self.template else TEMPLATE)
        return module


def _parts(template: Callable[..., Any], given: Insertions) -> _Parts:
    """Return what a kernel is made of."""
    return _Parts(
        template,
        dict(given.get("rules") or {}),
        dict(given.get("snippets") or {}),
        dict(given.get("functions") or {}),
        tuple(given.get("helpers") or ()),
        {name: tuple(fields) for name, fields in (given.get("tuples") or {}).items()},
        {
            name: (of, tuple(omitted))
            for name, (of, omitted) in (given.get("changes") or {}).items()
        },
        given.get("checked", False),
        given.get("signature", ""),
        tuple(given.get("records") or ()),
    )


def shape_of(value: object) -> str:
    """Return a text that is equal for two values only if Numba gives them the same type.

    >>> shape_of(1.5)
    'float'
    """
    if isinstance(value, tuple):
        cls = type(value)  # with its module: Numba's index of a kernel pickles the type by name
        return f"{cls.__module__}.{cls.__qualname__}({','.join(map(shape_of, value))})"
    if (flags := getattr(value, "flags", None)) is not None and hasattr(value, "dtype"):
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{_name_of(value.dtype)}{value.ndim}{order}"  # type: ignore[attr-defined]
    return type(value).__name__


@functools.cache
def _name_of(dtype: Any) -> str:
    """Return the name of a type of NumPy's, which NumPy composes at each call."""
    return str(dtype)


def _owner(name: str, tuples: Mapping[str, Sequence[str]]) -> str:
    """Return the NamedTuple type of the states that the function called ``name`` updates."""
    owners = [t for t in tuples if t.endswith("State") and name.startswith(t[:-5])]
    return max(owners, key=len, default="State")
