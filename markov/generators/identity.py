"""Rules that ask what a number is, and not only how large: a stand-in for it gives another answer.

Rules run on stand-ins for whole numbers (`regions`, `sets`), which answer comparisons, arithmetic and
``isinstance`` as numbers do. ``is`` and ``type`` cannot be answered, nor noticed: they are looked for in the
bytecode, so that rules without a source text are covered.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from markov.models.identity_operands import UNKNOWN, identity_comparisons, is_no_number

__all__ = ["asks_for_identity", "is_of_user", "names_of", "used_by"]

_CALLS = {"PRECALL", "CALL", "CALL_KW", "KW_NAMES", "PUSH_NULL"}


def asks_for_identity(rules: Callable[..., Any], q: Any = None) -> bool:
    """Whether rules, or functions that they call, may compare numbers by ``is`` or ask for their ``type``.

    Comparisons with what is no number, such as None or a member of an Enum, count for nothing.
    """
    seen: set[int] = set()
    left = [(_plain(rules), True)]
    while left:
        function, is_rule = left.pop()
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        if _asks(function, is_rule):
            return True
        owners = (type(getattr(rules, "__self__", None)), type(q))
        left += [(_plain(value), False) for value in used_by(function, owners)]
    return False


def used_by(function: types.FunctionType, owners: Iterable[type] = ()) -> Iterator[Any]:
    """Yield functions that the names of a function refer to, in containers and modules of users too."""
    values = [value for name in names_of(function.__code__) if (value := _named(function, name)) is not UNKNOWN]
    names = set(names_of(function.__code__))
    for value in values:
        if isinstance(value, types.ModuleType) and is_of_user(value.__name__):
            yield from (found for name in names if callable(found := getattr(value, name, None)))
        elif isinstance(value, dict):
            yield from filter(callable, value.values())
        elif isinstance(value, (list, tuple)):
            yield from filter(callable, value)
        elif callable(value):
            yield value
    for owner in owners:
        yield from (found for name in names if callable(found := getattr(owner, name, None)))


def _plain(value: Any) -> types.FunctionType | None:
    """Return the Python function behind a method, a partial or a decorator; None: there is none."""
    while isinstance(value, functools.partial):
        value = value.func
    value = getattr(value, "__func__", value)
    try:
        value = inspect.unwrap(value)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, types.FunctionType) else None


def is_of_user(module: str) -> bool:
    """Return whether a module is part of neither Python nor NumPy and SciPy."""
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in {"numpy", "scipy"}


@functools.lru_cache(maxsize=256)
def names_of(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that a code object and those within refer to, beside its own variables."""
    inner = [names_of(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return tuple({*code.co_names, *code.co_freevars, *(name for names in inner for name in names)})


def _named(function: types.FunctionType, name: str) -> Any:
    """Return what a name that is not a local variable refers to."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:  # not assigned yet
            return UNKNOWN
    if name in function.__globals__:
        return function.__globals__[name]
    builtins: Any = function.__globals__.get("__builtins__", {})
    return (builtins if isinstance(builtins, dict) else vars(builtins)).get(name, UNKNOWN)


def _asks(function: types.FunctionType, is_rule: bool) -> bool:
    return any(_asks_in(code, function, is_rule) for code in _codes(function.__code__))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _asks_in(code: types.CodeType, function: types.FunctionType, is_rule: bool) -> bool:
    for operands in identity_comparisons(code):
        values = [operand.value(functools.partial(_named, function)) for operand in operands]
        if not any(map(is_no_number, values)):
            return True
    steps = [step for step in dis.get_instructions(code) if step.opname not in {"CACHE", "RESUME"}]
    state = code.co_varnames[: code.co_argcount][:2] if is_rule and code is function.__code__ else ()
    for k, step in enumerate(steps):
        if step.argval == "type" and step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            after = [s for s in steps[k + 1 : k + 4] if s.opname != "PUSH_NULL"]
            if len(after) < 2 or after[1].opname not in _CALLS or after[0].argval not in state:
                return True
    return False
