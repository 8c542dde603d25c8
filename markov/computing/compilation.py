"""Templates compiled for the kinds of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow.kernels import build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["bound_kernel", "compiled"]


def compiled(
    template: Callable[..., Any], types: str = "", helpers: Sequence[Callable[..., Any]] = (), snippets: Any = None
) -> Callable[..., Any]:
    """Return a template compiled; see `hopflow.kernels.build`."""
    return build(template, helpers=helpers, snippets=snippets or {})


def bound_kernel(
    template: Callable[..., Any], *arguments: Any, helpers: Sequence[Callable[..., Any]] = (), **snippets: str
) -> Callable[[], Any]:
    """Return calls of a template, compiled, with these arguments, and some statements spliced in."""
    return build(template, helpers=helpers, snippets=snippets).bind(*arguments)


def remembered(template: Callable[..., Any], helpers: Sequence[Callable[..., Any]] = ()) -> Callable[..., Any]:
    """Return a template compiled."""
    return compiled(template, "", helpers)
