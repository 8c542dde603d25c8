"""Kernels with their arguments, as calls that take none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import shape_of
from markov.computing.compilation import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["ONE", "bound_kernel", "unsigned"]

ONE = np.uint64(1)


def bound_kernel(
    kernel: Callable[..., Any],
    *arguments: Any,
    helpers: Sequence[Callable[..., Any]] = (),
    **snippets: str,
) -> Callable[[], Any]:
    """Return a call of a kernel, compiled, with these arguments, and some statements spliced in."""
    run = compiled(kernel, shape_of(arguments), helpers, snippets)
    return lambda: run(*arguments)


def unsigned(numbers: Any) -> NDArray[np.uint64]:
    """Return whole numbers as the kernels take them: negative ones wrap."""
    return np.ascontiguousarray(np.asarray(numbers, dtype=np.int64).astype(np.uint64))
