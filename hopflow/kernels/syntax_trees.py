"""Syntax trees of Python's texts, one at a time."""

from __future__ import annotations

import ast
import threading
from typing import Any

__all__ = ["syntax_tree"]

_parsing = threading.RLock()


def syntax_tree(text: str, mode: str = "exec") -> Any:
    """Return what `ast.parse` does, while no other thread is in here.

    CPython 3.11 counts the depth of the tree that it makes for all threads together, and raises SystemError where a
    collection of garbage lets another thread parse meanwhile.
    """
    with _parsing:
        return ast.parse(text, mode=mode)
