"""Templates compiled once per types of their arguments, and when that is worth it."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from hopflow.kernels import build
from markov.computing import costs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["compiled", "remembered", "without_numba"]


def compiled(
    template: Callable[..., Any], types: str = "", helpers: Sequence[Callable[..., Any]] = ()
) -> Callable[..., Any]:
    """Return a template compiled for some types of its arguments, or as it is without Numba."""
    if not costs.has_numba():
        return template
    return build(template, helpers=helpers, salt=types)


remembered = cache(compiled)


def without_numba(seconds: float) -> bool:
    """Return whether to use NumPy for work of ``seconds``, since loading Numba takes longer."""
    return not costs.has_numba() or ("numba" not in sys.modules and seconds < costs.LOADING)
