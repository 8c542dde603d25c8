"""Functions that others call have no machine code of their own; the whole computes what Python computes."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodegen
from numba.core.errors import TypingError
from numba.core.postproc import PostProcessor
from numba.np import arrayobj

from hopflow.kernels import package

compilers = pytest.importorskip(
    "hopflow.kernels.compilers",
    reason="older Numba compiles by its own passes",
    exc_type=ImportError,
)
_Part = compilers._Part

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

@compiled
def length(records):
    return len(records)

@summing
def right(x, i):
    return left(x, i) - shared(x, i) ** 2
"""


def forget(alias: str) -> None:
    """Let a compiled package be imported and loaded anew."""
    package.loop_of.cache_clear()
    for name in [name for name in sys.modules if name.startswith(alias)]:
        del sys.modules[name]


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
    package.loop_of.cache_clear()
    yield folder.name
    package._written.cache_clear()
    package.loop_of.cache_clear()


def test_only_the_entry_is_optimised_and_its_cached_code_computes_the_same(written) -> None:
    x = np.array([0.3, -1.0, 2.0, 0.0, 1e-3])
    expected = x.copy()
    assert package.loop_of(written, compiled=False)(expected) == len(x)
    for hits in (0, 1):  # compiled, then from the cache
        loop = package.loop_of(written)
        found = x.copy()
        assert loop(found) == len(x)
        np.testing.assert_array_equal(found, expected)
        alias = package.compiled_package(written).__name__
        assert (f"{alias}.parts" in sys.modules) == (hits == 0)
        if hits == 0:
            parts = sys.modules[f"{alias}.parts"]
            for part in (parts.left, parts.right, parts.shared):
                (compiled,) = part.overloads.values()
                assert isinstance(compiled.library, _Part)
            (whole,) = loop.dispatcher.overloads.values()
            assert not isinstance(whole.library, _Part)
        forget(alias)


def test_numba_is_as_before_when_a_kernel_is_compiled_or_is_not(written) -> None:
    replaced = [*compilers.REMEMBERED, (PostProcessor, "run")]
    before = [owner.__dict__[name] for owner, name in replaced]
    package.loop_of(written)(np.array([0.3, -1.0, 2.0]))
    assert [owner.__dict__[name] for owner, name in replaced] == before
    alias = package.compiled_package(written).__name__
    with pytest.raises(TypingError):
        sys.modules[f"{alias}.loop"].run("no array")
    assert [owner.__dict__[name] for owner, name in replaced] == before
    forget(alias)


def test_indices_of_a_counting_entry_do_not_count_from_the_end(written, tmp_path) -> None:
    """Its machine code does not look at their signs."""
    folder = tmp_path / "kernel_of_counts"
    folder.mkdir()
    loop = "from .jit import {0}\n\n@{0}\ndef run(x, k):\n    x[k] *= 2.0\n"
    before, codes = arrayobj.fix_integer_index, {}
    for entry in ("entry", "counting_entry"):
        texts = {"__init__": "", "jit": f"{entry} = lambda f: f\n", "loop": loop.format(entry)}
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)
        package._written.cache_clear()
        package.loop_of.cache_clear()
        run = package.loop_of(folder.name)
        x = np.array([0.3, -1.0])
        run(x, 1)
        assert x.tolist() == [0.3, -2.0]
        (codes[entry],) = run.dispatcher.inspect_llvm().values()
        assert arrayobj.fix_integer_index is before
        forget(package.compiled_package(folder.name).__name__)
    assert len(codes["counting_entry"]) < len(codes["entry"])


def test_arrays_of_an_unaliased_entry_are_apart_and_references_not_counted(
    written, tmp_path
) -> None:
    """What it reads of one array is not read again after it wrote to another; nothing is kept or leaked."""
    folder = tmp_path / "kernel_of_two"
    folder.mkdir()
    loop = "from .jit import {0}\n\n@{0}\ndef run(x, y):\n    y[0] = x[0] + 1.0\n    y[1] = x[0]\n"
    codes = {}
    for entry in ("counting_entry", "unaliased_entry"):
        texts = {"__init__": "", "jit": f"{entry} = lambda f: f\n", "loop": loop.format(entry)}
        for name, text in texts.items():
            (folder / f"{name}.py").write_text(text)
        package._written.cache_clear()
        package.loop_of.cache_clear()
        run = package.loop_of(folder.name)
        x, y = np.array([0.3, -1.0]), np.zeros(2)
        run(x, y)
        before = sys.getrefcount(x), sys.getrefcount(y)
        for _ in range(10):
            run(x, y)
        assert (sys.getrefcount(x), sys.getrefcount(y)) == before
        assert y.tolist() == [1.3, 0.3]
        whole = weakref.ref(x)
        del x
        gc.collect()
        assert whole() is None
        (codes[entry],) = run.dispatcher.inspect_llvm().values()
        forget(package.compiled_package(folder.name).__name__)
    reads = {entry: code.count("load double") for entry, code in codes.items()}
    assert reads["unaliased_entry"] < reads["counting_entry"]


def test_calls_pass_only_the_words_of_arrays_that_are_read(written, tmp_path) -> None:
    """A function that others call is hidden, so that LLVM drops arguments; one by one they were 7 words per array."""
    folder = tmp_path / "kernel_with_a_call"
    folder.mkdir()
    loop = (
        "from .jit import compiled, calling_entry, inlined\n\n"
        "@compiled\ndef last(x, y, k):\n    y[k] = 2.0\n    return x[k]\n\n"
        "@inlined\ndef middle(x, y, k):\n    return last(x, y, k) + last(x, y, k + 1)\n\n"
        "@calling_entry\ndef run(x, y, k):\n    y[0] = middle(x, y, k)\n"
    )
    jit = "".join(f"{name} = lambda f: f\n" for name in ("compiled", "calling_entry", "inlined"))
    for name, text in {"__init__": "", "jit": jit, "loop": loop}.items():
        (folder / f"{name}.py").write_text(text)
    package._written.cache_clear()
    package.loop_of.cache_clear()
    run = package.loop_of(folder.name)
    x, y = np.array([0.3, -1.0, 0.5]), np.zeros(3)
    run(x, y, 1)
    assert y.tolist() == [-0.5, 2.0, 2.0]
    (code,) = run.dispatcher.inspect_llvm().values()
    hidden = (line for line in code.splitlines() if line.startswith("define internal"))
    (head,) = (line for line in hidden if "4last" in line)  # the name of the function, mangled
    assert (
        head.count("%arg.") <= 5
    )  # two addresses with the steps between items, and k: not 15 words
    forget(package.compiled_package(folder.name).__name__)


def test_names_of_machine_code_do_not_grow_with_the_fields_of_records(written) -> None:
    many = np.zeros(3, dtype=[(f"field_of_a_long_name_{n}", float) for n in range(50)])
    assert package.loop_of(written).dispatcher
    alias = package.compiled_package(written).__name__
    parts = sys.modules[f"{alias}.parts"]
    names = []
    for records in (many, many[["field_of_a_long_name_0", "field_of_a_long_name_1"]].copy()):
        parts.length.compile((numba.typeof(records),))
        names = [each.fndesc.mangled_name for each in parts.length.overloads.values()]
    assert max(map(len, names)) < 300
    assert len(set(names)) == 2
    forget(alias)


def test_a_numba_without_what_is_replaced_is_refused() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "hopflow.kernels.compilers")
        patch.delattr(CPUCodegen, "_pass_builder")
        with pytest.raises(ImportError, match="no CPUCodegen"):
            importlib.import_module("hopflow.kernels.compilers")


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
    forget(alias)


def test_contexts_that_were_read_are_kept() -> None:
    """One that were freed could leave its id to another, which would be taken for read."""

    class Context:
        pass

    calls = 0

    def plain(_context: Any) -> None:
        nonlocal calls
        calls += 1

    memory = compilers._Memory()
    refresh = memory.refresh_once(plain)
    context = Context()
    alive = weakref.ref(context)
    refresh(context)
    refresh(context)
    del context
    gc.collect()
    assert alive() is not None
    refresh(Context())
    assert calls == 2
