"""Templates compiled once per types of their arguments, and when that is worth it."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from hopflow.kernels import build, build_entry, shape_of
from hopflow.kernels.records import layout_of, plain
from markov.computing import costs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["bound_kernel", "by_numpy", "compiled", "remembered", "without_numba"]


def compiled(
    template: Callable[..., Any],
    types: str = "",
    helpers: Sequence[Callable[..., Any]] = (),
    snippets: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Return a template compiled for some types of its arguments, or as plain Python without Numba.

    ``snippets`` are statements for `hopflow.kernels.build`.
    """
    if not costs.has_numba():
        return (
            build(template, helpers=helpers, snippets=snippets or {}, compiled=False)
            if snippets or helpers
            else template
        )
    return build(template, helpers=helpers, snippets=snippets or {}, salt=types)


def bound_kernel(
    template: Callable[..., Any],
    *arguments: Any,
    helpers: Sequence[Callable[..., Any]] = (),
    **snippets: str,
) -> Callable[[], Any]:
    """Return a call of a template, compiled, with these arguments, and some statements spliced in.

    Records among the arguments become plain tuples, and records again inside.
    """
    if not costs.has_numba():
        run = compiled(template, "", helpers, snippets)
        return lambda: run(*arguments)
    layouts, given = tuple(map(layout_of, arguments)), plain(arguments)
    kinds = {"helpers": helpers, "snippets": snippets, "records": layouts}
    kernel = build(template, salt=shape_of(given), **kinds)  # type: ignore[arg-type]
    return lambda: kernel(*given)


@cache
def remembered(
    template: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()
) -> Callable[..., Any]:
    """Return a template compiled for any types of its arguments, or as plain Python without Numba.

    It allocates nothing: its machine code is loaded from a file, without Numba, where that was compiled before.
    """
    return build_entry(template, helpers) if costs.has_numba() else template


def without_numba(
    seconds: float, template: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()
) -> bool:
    """Return whether to use NumPy for work of ``seconds``, since loading what compiles the template takes longer."""
    return by_numpy(seconds, lambda: remembered(template, helpers))


def by_numpy(seconds: float, kernel: Callable[[], Any]) -> bool:
    """Return whether to use NumPy for work of ``seconds``, since loading a kernel, an `Entry`, takes longer.

    That is its machine code, or Numba where it was not compiled before. Work that NumPy has done counts too: a sweep
    over many small chains loads it once they have taken as long as that, and so never takes twice as long as with the better choice.
    """
    if not costs.has_numba():
        return True
    if "numba" in sys.modules:
        return False
    spent = _spent["by NumPy"] + seconds
    if spent >= costs.LOADING_CODE and (spent >= costs.LOADING or kernel().is_compiled):
        return False
    _spent["by NumPy"] = spent
    return True


_spent = {"by NumPy": 0.0}
