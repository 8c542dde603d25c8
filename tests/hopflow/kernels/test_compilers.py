"""Functions that others call have no machine code of their own; the whole computes what Python computes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hopflow.kernels import package
from hopflow.kernels.compilers import _Part

LOOP = """
from .jit import compiled, entry
from .parts import left, right

@entry
def run(x):
    for i in range(len(x)):
        x[i] = left(x, i) + right(x, i)
    return len(x)
"""
PARTS = """
from .jit import compiled, inlined, summing

@inlined
def shared(x, i):
    return x[i] / 3.0 if x[i] > 0.0 else max(x[i - 1], 1.5)

@compiled
def left(x, i):
    s = 0.0
    for j in range(i):
        s += shared(x, j)
    return s

@summing
def right(x, i):
    return left(x, i) - shared(x, i) ** 2
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a kernel package in which one function is reached by three ways."""
    folder = tmp_path / "kernel_of_parts"
    folder.mkdir()
    jit = "compiled = entry = inlined = summing = lambda f: f\n"
    texts = {"__init__": "", "jit": jit, "parts": PARTS, "loop": LOOP}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    (tmp_path / "cache").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "folder", lambda: tmp_path / "cache")
    package._written.cache_clear()
    yield folder.name
    package._written.cache_clear()


def test_only_the_entry_is_optimised_and_its_cached_code_computes_the_same(written) -> None:
    x = np.array([0.3, -1.0, 2.0, 0.0, 1e-3])
    expected = x.copy()
    assert package.loop_of(written, compiled=False)(expected) == len(x)
    for hits in (0, 1):  # compiled, then from the cache
        loop = package.loop_of(written)
        found = x.copy()
        assert loop(found) == len(x)
        np.testing.assert_array_equal(found, expected)
        assert sum(loop.stats.cache_hits.values()) == hits
        alias = package.compiled_package(written).__name__
        if hits == 0:
            parts = sys.modules[f"{alias}.parts"]
            for part in (parts.left, parts.right, parts.shared):
                (compiled,) = part.overloads.values()
                assert isinstance(compiled.library, _Part)
            assert not isinstance(next(iter(loop.overloads.values())).library, _Part)
        for name in [name for name in sys.modules if name.startswith(alias)]:
            del sys.modules[name]


def test_a_numba_whose_inner_modules_have_moved_compiles_by_its_own_passes(
    written, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "hopflow.kernels.compilers", None)
    found = np.array([0.3, -1.0, 2.0])
    expected = found.copy()
    package.loop_of(written, compiled=False)(expected)
    loop = package.loop_of(written)
    loop(found)
    np.testing.assert_array_equal(found, expected)
    alias = package.compiled_package(written).__name__
    (left,) = sys.modules[f"{alias}.parts"].left.overloads.values()
    assert not isinstance(left.library, _Part)
    for name in [name for name in sys.modules if name.startswith(alias)]:
        del sys.modules[name]
