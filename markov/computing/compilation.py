"""Templates compiled once per types of their arguments."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from hopflow.kernels import build, build_entry, shape_of
from hopflow.kernels.records import layout_of, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["bound_kernel", "compiled", "remembered"]


def compiled(
    template: Callable[..., Any],
    types: str = "",
    helpers: Sequence[Callable[..., Any]] = (),
    snippets: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Return a template compiled for some types of its arguments.

    ``snippets`` are statements for `hopflow.kernels.build`.
    """
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
    layouts, given = tuple(map(layout_of, arguments)), plain(arguments)
    kinds = {"helpers": helpers, "snippets": snippets, "records": layouts}
    kernel = build(template, salt=shape_of(given), **kinds)  # type: ignore[arg-type]
    return lambda: kernel(*given)


@cache
def remembered(
    template: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()
) -> Callable[..., Any]:
    """Return a template compiled for any types of its arguments.

    It allocates nothing: its machine code is loaded from a file, without Numba, where that was compiled before.
    """
    return build_entry(template, helpers)
