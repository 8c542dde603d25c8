"""Kernels bound to their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow.kernels import make_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["bound_kernel"]


def bound_kernel(
    template: Callable[..., Any],
    *arguments: Any,
    helpers: Sequence[Callable[..., Any]] = (),
    **snippets: str,
) -> Callable[[], Any]:
    """Return a kernel, compiled from a template with spliced statements, as a call without arguments."""
    call: Callable[[], Any] = make_kernel(template, helpers=helpers, snippets=snippets).bind(*arguments)
    return call
