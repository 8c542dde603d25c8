"""Pickled results in the cache folder, each under a key of everything that the result depends on.

The digest of an entry and its owner are examined before it is unpickled (`hopflow.kernels.cache`), and so is its key: a pickle
of other code is not loaded.
"""

from __future__ import annotations

import pickle
from typing import Any

from hopflow.kernels import cache


def read(name: str, key: str) -> Any:
    """Return the value of an entry; None if it is absent, damaged or was written under another key."""
    payload = cache.read(name)
    start = _line(key)
    if payload is None or not payload.startswith(start):
        return None
    try:
        return pickle.loads(memoryview(payload)[len(start) :])
    except Exception:  # noqa: BLE001 - a class of a library that is installed no more can raise anything
        return None


def write(name: str, key: str, value: object) -> bool:
    """Write an entry instead of an older one; return whether there was space for it."""
    return cache.write(name, _line(key) + pickle.dumps(value))


def _line(key: str) -> bytes:
    return f"{key}\n".encode()
