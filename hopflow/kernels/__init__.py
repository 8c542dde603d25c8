"""Kernels compiled from templates and rules in plain Python.

A kernel is a template, a plain Python function of hopflow, with the source of rules (user-defined or hopflow's own)
inserted. Both also run uncompiled. Compiled, they become one unit of object code. Its name is the digest of everything
that determines it (`hopflow.kernels.native`). Within a process kernels are cached by the objects from which they were
built, until the globals to which these refer change.

In a template

- ``for s, r in slots(grid): body``, with a generator of the template's module, is replaced by the source of the
  generator, with the body in place of each ``yield``: such a traversal is a template too, shared by several kernels;
- statements such as ``pack(name)`` are replaced by statements that the caller generates as text
  (``snippets``), for example an if-chain over several rules.

Rules may use their arguments, literals, ``where``, ``maximum``, ``minimum``, ``math``, the builtins
that Numba supports, numbers (and tuples of numbers) of their module or of an enclosing function, and
other plain functions written in the same way.

The engines are packages of plain functions (`engine`): a package is compiled as a whole when hopflow is built.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

from hopflow.fork_safety import ForkSafeLock
from hopflow.kernels import native
from hopflow.kernels.arguments import SIGNATURE, Call, flatten, named_tuples, wrapper
from hopflow.kernels.module import Module
from hopflow.kernels.source import KernelError
from hopflow.kernels.splice import Fields, Splice

__all__ = [
    "Callback",
    "Insertions",
    "Kernel",
    "KernelError",
    "build_callbacks",
    "engine",
    "make_kernel",
]

MAX_CACHED = 256
_built: dict[Any, tuple[Any, Module]] = {}
_lock = ForkSafeLock()


class Insertions(TypedDict, total=False):
    """Insertions into a template: arguments of `make_kernel`, by name.

    Attributes
    ----------
    snippets
        Statements, as text, that replace ``name(...)`` statements of the template.
    functions
        Plain functions of rules that the template or the snippets call, by the name used there. They update states
        with ``_replace``: of the NamedTuple type ``<prefix>State`` if the function is called ``<prefix>something``,
        otherwise ``State``.
    helpers
        Further templates that ``template`` calls, callees first.
    tuples
        NamedTuple types defined in the module: name to field names.
    changes
        New names for the increments (`hopflow.changes`) of functions of rules: new name to the name
        of the function, and the fields of the state whose increments are not needed.
    """

    snippets: Mapping[str, str]
    functions: Mapping[str, Callable[..., Any]]
    helpers: Sequence[Callable[..., Any]]
    tuples: Mapping[str, Sequence[str]]
    changes: Mapping[str, tuple[str, Sequence[str]]]


class Callback(NamedTuple):
    """A compiled function that machine code calls by its address."""

    address: int


class Kernel:
    """A function that is compiled for the kinds of its arguments when it is called, or read from a file.

    Arguments are contiguous arrays, records, numbers, and tuples of them (`hopflow.kernels.arguments`). It allocates
    no memory, and returns None, a number, or a tuple of numbers.

    Parameters
    ----------
    name
        For messages.
    unit
        Function that returns, for kinds of arguments, the name of a unit and the function that compiles it.
    """

    def __init__(self, name: str, unit: Callable[[tuple[Any, ...]], tuple[str, Callable[[], native.Unit]]]) -> None:
        self.name, self._unit = name, unit
        self._calls: dict[tuple[Any, ...], Call] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the function.

        Raises
        ------
        RuntimeError
            If the function raised an exception.
        """
        return self.bind(*args)()

    def bind(self, *args: Any) -> Callable[..., Any]:
        """Return a function that runs the kernel with these arguments; arrays must not move.

        Numbers that it is given take the place of the last arguments, which are numbers of the same types.
        """
        kinds: list[Any] = []
        words: list[Any] = []
        flatten(args, kinds, words)
        key = tuple(kinds)
        call = self._calls.get(key)
        if call is None:
            addresses = native.load_unit(*self._unit(key))
            call = self._calls[key] = Call(self.name, addresses["call_with_words"], key, native.check_exceptions)
        return functools.partial(_run, call, call.pack(*words), words, args)


def _run(call: Call, packed: bytes, words: list[Any], args: tuple[Any, ...], *last: float) -> Any:
    del args  # referred to for as long as the words hold the addresses of their arrays
    return call(call.pack(*words[: len(words) - len(last)], *last) if last else packed)


def make_kernel(
    template: Callable[..., Any],
    *,
    signature: str = "",
    compiled: bool = True,
    **inserted: Unpack[Insertions],
) -> Any:
    """Return ``template`` compiled, with rules inserted.

    Parameters
    ----------
    template
        The kernel function in plain Python; its globals may be ``math`` and the names below. Functions of a compiled
        template allocate no arrays.
    signature
        Numba's C signature of the template, to return a `Callback` instead of a function.
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
    >>> make_kernel(total, compiled=False)(4)
    6.0
    """
    compiled = compiled and _has_llvmlite()
    parts = _Parts(template, *map(_freeze, map(inserted.get, _Parts._fields[1:])))
    with _lock:  # also because Python 3.11 does not parse in several threads at once
        key = (*parts, signature, compiled)
        if key in _built and _built[key][1].is_current():
            return _built[key][0]
        module, name = parts.module("callback" if signature else "inlined"), template.__name__
        kernel: Any
        if not compiled:
            kernel = module.run_as_python()[name]
        elif signature:
            kernel = _callbacks(module, {name: signature})[name]
        else:
            kernel = Kernel(name, functools.partial(_unit_of, module, name))
        return _remember(key, kernel, module)


def build_callbacks(
    functions: Mapping[str, Callable[..., Any]],
    tuples: Mapping[str, Sequence[str]],
    adapters: Mapping[str, str],
    signature: str,
    *,
    compiled: bool = True,
    floats: bool = False,
) -> dict[str, Any]:
    """Return callbacks that apply plain functions of a rule to an array of numbers.

    Like `make_kernel`, the unit is named by the digest of the text of the functions, of all that they call
    and of the constants that they name: an edited one is compiled again, so that no outdated one is used.

    Parameters
    ----------
    functions
        Plain functions by the name under which the adapters call them.
    tuples
        NamedTuple types that the module defines, name to field names; ``State`` is that of states
        which the functions update with ``_replace``.
    adapters
        Name to the text of a function ``def name(...)`` of ``signature``, which calls ``functions``.
    signature
        Numba's C signature of the adapters.
    compiled
        False returns plain Python functions.
    floats
        Whether all fields of ``State`` are floats, so that whole numbers may be written without a point.

    Returns
    -------
    dict
        By name of the adapter: a `Callback`, or the Python function.

    Raises
    ------
    KernelError
        Naming the file and line of the rule that cannot be compiled.
    """
    key = (*map(_freeze, (functions, tuples, adapters)), signature, compiled, floats)
    callbacks: dict[str, Any]
    with _lock:
        if key in _built and _built[key][1].is_current():
            callbacks = _built[key][0]
            return callbacks
        module = Module({name: tuple(fields) for name, fields in tuples.items()}, set(adapters), floats=floats)
        for name, function in functions.items():
            module.add(name, function, "State")
        for name, text in adapters.items():
            module.add_text(name, text, "callback")
        if compiled:
            callbacks = _callbacks(module, dict.fromkeys(adapters, signature))
        else:
            definitions = module.run_as_python()
            callbacks = {name: definitions[name] for name in adapters}
        _remember(key, callbacks, module)
        return callbacks


@functools.cache
def _has_llvmlite() -> bool:
    """Return whether machine code can be loaded: in a browser templates run as plain Python."""
    return importlib.util.find_spec("llvmlite") is not None


def _remember(key: Any, built: Any, module: Module) -> Any:
    """Cache ``built``, with its module, under ``key`` and return it."""
    _built[key] = built, module
    while len(_built) > MAX_CACHED:
        _built.pop(next(iter(_built)), None)
    return built


def _callbacks(module: Module, signatures: Mapping[str, str]) -> dict[str, Any]:
    """Return the callbacks of a module."""
    text = module.text()
    name = native.digest(text, repr(sorted(signatures.items())))

    def compile_() -> native.Unit:
        with module.locate_errors(name):
            return native.compiler.compile(name, text, signatures)

    addresses = native.load_unit(name, compile_)
    return {function: Callback(addresses[function]) for function in signatures}


def _unit_of(module: Module, function: str, kinds: tuple[Any, ...]) -> tuple[str, Callable[[], native.Unit]]:
    """Return the name of the unit of a kernel for kinds of arguments, and the function that compiles it."""
    call, dtypes = wrapper(function, kinds)
    classes = {name: c._fields for name, c in named_tuples(kinds).items() if not module.knows(name)}
    records = "".join(f"{name} = namedtuple({name!r}, {list(fields)!r})\n" for name, fields in classes.items())
    text = f"{module.text()}{records}{call}"
    name = native.digest(text, repr(dtypes))

    def compile_() -> native.Unit:
        with module.locate_errors(name):
            return native.compiler.compile(name, text, {"call_with_words": SIGNATURE}, dtypes)

    return name, compile_


@functools.cache
def engine(package: str, module: str = "loop", *, compiled: bool = True) -> Any:
    """Return function ``run`` of a module of a package of plain functions: a `Kernel`, or plain Python.

    Parameters
    ----------
    package
        Its modules mark their functions by `hopflow.kernels.marks`, and import nothing beyond the standard library,
        NumPy and such modules.
    module
        One of its modules.
    compiled
        False returns the function as it is, hundreds of times slower, for tests.
    """
    function: Callable[..., Any] = importlib.import_module(f"{package}.{module}").run
    if not compiled:
        return function
    from hopflow.kernels import engines

    return Kernel(f"{package}.{module}.run", functools.partial(engines.unit_of, package, module))


class _Parts(NamedTuple):
    """Constituents of a kernel; see `make_kernel`."""

    template: Callable[..., Any]
    snippets: Any
    functions: Any
    helpers: Any
    tuples: Any
    changes: Any

    def module(self, decorator: str) -> Module:
        """Return the module to be compiled; its last function is the template, with this decorator."""
        tuples = {name: tuple(fields) for name, fields in self.tuples}
        functions, snippets = dict(self.functions), dict(self.snippets)
        named = {self.template.__name__, *(helper.__name__ for helper in self.helpers)}
        module = Module(tuples, named)
        for name, function in self.functions:
            module.add(name, function, _owner(name, tuples))
        for name, (of, omitted) in self.changes:
            module.add_change(name, of, functions[of], _owner(of, tuples), omitted)
        splice = Splice(module, snippets)
        for part in (*self.helpers, self.template):
            if part is not self.template:
                module.called[part, ""] = part.__name__
            tree = Fields.first(module.rewrite(splice.splice(part), part, None))
            module.add_tree(tree, decorator if part is self.template else "inlined")
        return module


def _freeze(value: Any) -> Any:
    """Convert a mapping or a sequence to nested tuples, a hashable key."""
    if isinstance(value, Mapping):
        return tuple(
            (key, tuple(map(_freeze, item)) if isinstance(item, list | tuple) else item) for key, item in value.items()
        )
    return tuple(value) if isinstance(value, list | tuple) else value or ()


def _owner(name: str, tuples: Mapping[str, Sequence[str]]) -> str:
    """Return the NamedTuple type of the states that the function called ``name`` updates."""
    owners = [t for t in tuples if t.endswith("State") and name.startswith(t[:-5])]
    return max(owners, key=len, default="State")
