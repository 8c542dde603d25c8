"""A package compiled as a whole: its copy, its entries, their arguments, and the machine code of its functions."""

from __future__ import annotations

import gc
import importlib
import sys
import warnings
import weakref
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodegen
from numba.core.errors import TypingError
from numba.core.pythonapi import PythonAPI
from numba.core.types.functions import Dispatcher
from numba.np import arrayobj

from hopflow.kernels import package

# A package compiled as a whole: its copy stands under the hash of its sources.


def write(folder, factor: str):
    """Write a kernel package whose constant stands in a helper module."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text("")
    (folder / "jit.py").write_text("compiled = entry = lambda f: f\n")
    (folder / "constants.py").write_text(f"FACTOR = {factor}\n")


def test_an_edited_constant_of_another_module_gives_another_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    places = []
    for factor in ("1.0", "0.5", "1.0"):
        write(tmp_path / "kernel_of_test", factor)
        package._written.cache_clear()
        places.append(package._written("kernel_of_test"))
    package._written.cache_clear()
    assert places[0] == places[2] != places[1]
    assert "FACTOR = 0.5" in (places[1] / "constants.py").read_text()


def test_a_module_that_only_imports_has_the_text_of_the_other_one(tmp_path, monkeypatch) -> None:
    """A constant has one home; an edit of it gives another folder."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "homes").mkdir()
    places = []
    for gain in ("0.5", "0.25"):
        write(tmp_path / "sharing_kernel", "1.0")
        text = f"from hopflow.kernels.marks import inlined\n\nGAIN = {gain}\n"
        (tmp_path / "homes" / "gains.py").write_text(text)
        (tmp_path / "sharing_kernel" / "gains.py").write_text("from homes.gains import GAIN\n")
        package._written.cache_clear()
        places.append(package._written("sharing_kernel"))
    package._written.cache_clear()
    assert places[0] != places[1]
    copied = (places[1] / "gains.py").read_text()
    assert copied == "from .jit import inlined\n\nGAIN = 0.25\n"
    (tmp_path / "sharing_kernel" / "gains.py").write_text(
        "from homes.gains import GAIN\n\ndef f(x): return GAIN * x\n"
    )
    with pytest.raises(ImportError, match=r"imports homes.gains: .* must have nothing else"):
        package._written("sharing_kernel")


def test_an_unknown_package_is_refused() -> None:
    with pytest.raises(ImportError, match="no package 'no_such_kernel'"):
        package.compiled_package("no_such_kernel")


def test_a_first_compilation_is_announced_once(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    write(tmp_path / "announced_kernel", "1.0")
    code = "from .jit import entry\n\n@entry\ndef run(): return 1\n"
    (tmp_path / "announced_kernel" / "loop.py").write_text(code)
    package._written.cache_clear()
    package.engine.cache_clear()
    monkeypatch.setattr(package, "folder", lambda: tmp_path)
    loop = package.engine("announced_kernel")
    assert not capsys.readouterr().err  # before it is called for the first time
    assert loop() == 1
    assert "compiling announced_kernel, once on this machine" in capsys.readouterr().err
    package.engine.cache_clear()  # as in another process
    assert package.engine("announced_kernel")() == 1
    assert not capsys.readouterr().err
    package._written.cache_clear()
    package.engine.cache_clear()


def test_a_bar_counts_functions_up_to_the_entry(monkeypatch) -> None:
    """The bar ends, and the listener goes, when the entry is compiled."""
    from numba.core import event

    shown: list[Any] = []

    class Bar:
        n = 0

        def __init__(self, **given: Any) -> None:
            self.total = given["total"]
            self.closed = False
            shown.append(self)

        def update(self, more: int) -> None:
            self.n += more

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(package, "progress_bar", Bar)
    entry, other = object(), object()
    package.show_progress("dfcmodel.packets.kernel", entry)  # type: ignore[arg-type]
    for each in (other, entry, other):
        event.start_event("numba:compile", {"dispatcher": each})
        event.end_event("numba:compile", {"dispatcher": each})
    (bar,) = shown
    assert (bar.n, bar.closed) == (2, True)
    assert bar.total > 200  # functions of the kernel of packets


# Calls of compiled functions by address: each kind of argument arrives, and what is returned comes back.


RECORD = np.dtype([("whole", np.int64), ("real", np.float64), ("row", np.float64, (3,))])
LOOP = """
from .jit import entry

@entry
def run(given, flag, number, out):
    matrix, (records, one), pair = given
    out[0] = matrix[1, 2] + 10.0 * matrix.shape[0] + 100.0 * matrix.shape[1]
    out[1] = records[1].real + records[1].row[2]
    out[2] = one.whole + one.real
    out[3] = pair.left - pair.right
    out[4] = 1.0 if flag else -1.0
    one.real = 0.5
    return number + len(records)
"""


class Pair(NamedTuple):
    """Two numbers of different types."""

    left: float
    right: int


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return the function of a kernel package that takes one of each."""
    folder = tmp_path / "kernel_of_arguments"
    folder.mkdir()
    for name, text in {"__init__": "", "jit": "entry = lambda f: f\n", "loop": LOOP}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "folder", lambda: tmp_path)
    package._written.cache_clear()
    package.engine.cache_clear()
    yield lambda *given: package.engine(folder.name)(*given)
    package._written.cache_clear()
    package.engine.cache_clear()


def arguments(order="C"):
    """Return one of each."""
    records = np.zeros(4, RECORD)
    records["real"], records["whole"] = [1.5, 2.5, 3.5, 4.5], 7
    records["row"][1] = [1.0, 2.0, 3.0]
    matrix = np.arange(12.0).reshape(3, 4).copy(order=order)
    return (matrix, (records, records[2]), Pair(2.25, -3)), True, 5, np.zeros(5)


EXPECTED = [6.0 + 30.0 + 400.0, 5.5, 10.5, 5.25, 1.0]


def test_each_kind_of_argument_arrives_compiled_and_from_the_file(run, monkeypatch) -> None:
    for compiles in (True, False):
        if not compiles:
            package.engine.cache_clear()
            monkeypatch.setattr(package, "compiled_package", None)
        given = arguments()
        assert run(*given) == 9
        assert given[-1].tolist() == EXPECTED
        assert given[0][1][0]["real"][2] == 0.5  # a record is a view of its array
        before = [sys.getrefcount(each) for each in given[0][1]]
        run(*given)
        assert [sys.getrefcount(each) for each in given[0][1]] == before


def test_other_types_of_arguments_have_machine_code_of_their_own(run) -> None:
    """The order of an array, its stride, a number's type: the compiler is told, and answers are right."""
    transposed = arguments("F")
    assert run(*transposed) == 9
    assert transposed[-1].tolist() == EXPECTED
    (given, flag, _, _), wide = arguments(), np.zeros(10)
    run(given, flag, 5, wide[::2])
    assert wide[::2].tolist() == EXPECTED
    assert not wide[1::2].any()
    (given, _, _, out) = arguments()
    assert run(given, False, 0.25, out) == 4.25
    assert out[4] == -1.0


def test_what_may_not_be_written_is_not_written(run) -> None:
    given, flag, number, out = arguments()
    run(given, flag, number, out)
    out[:] = 0.0
    out.flags.writeable = False
    with pytest.raises(Exception, match="readonly"):
        run(given, flag, number, out)
    assert not out.any()


def test_a_type_of_number_that_has_no_word_is_refused(run) -> None:
    given, flag, _, out = arguments()
    with pytest.raises(TypeError, match=r"complex.*np.float64"):
        run(given, flag, 1j, out)


def test_a_call_like_the_one_before_takes_the_fields_of_now(run) -> None:
    """Arrays replaced, resized and written between two calls: what is in memory counts, not what was."""
    (matrix, (records, one), pair), flag, number, out = arguments()
    assert run((matrix, (records, one), pair), flag, number, out) == 9
    one = records.copy()[2]
    one["whole"], one["real"] = 70, 0.25
    records.resize(6, refcheck=False)
    matrix = np.arange(100.0, 120.0).reshape(4, 5)
    assert run((matrix, (records, one), Pair(1.0, 4)), np.bool_(False), 6, out) == 12
    assert out.tolist() == [107.0 + 40.0 + 500.0, 5.5, 70.25, -3.0, -1.0]


@pytest.mark.parametrize("what", ["type", "flags", "dimensions", "order", "record"])
def test_arguments_changed_in_place_are_of_another_kind(run, what) -> None:
    """The same objects as in the call before, whose fields say something else."""
    given, flag, number, out = arguments()
    (matrix, (records, _one), _) = given
    assert run(given, flag, number, out) == 9
    before = out.copy()
    if what == "type":
        matrix.dtype = np.int64  # the same bytes
        assert run(given, flag, number, out) == 9
        assert out[0] == float(matrix[1, 2]) + 430.0
    elif what == "flags":
        out.flags.writeable = False
        with pytest.raises(Exception, match="readonly"):
            run(given, flag, number, out)
        assert out.tolist() == before.tolist()
    elif what == "dimensions":
        matrix.shape = (12,)
        with pytest.raises(Exception, match="ndex"):  # Numba refuses two indices of one dimension
            run(given, flag, number, out)
    elif what == "order":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy advises against it
            matrix.strides = (8, 24)
        assert run(given, flag, number, out) == 9
        assert out[0] == matrix[1, 2] + 430.0 != before[0]
    else:
        other = np.zeros(1, [("real", np.float64), ("whole", np.int64)])[0]
        other["real"], other["whole"] = 0.125, 3
        assert run((matrix, (records, other), Pair(0.0, 0)), flag, number, out) == 9
        assert out[2] == 3.125


def test_other_tuples_than_in_the_call_before_are_refused(run) -> None:
    """A list, a longer tuple, an array or nothing at all in the place of what was there."""
    (matrix, pair_of_records, pair), flag, number, out = arguments()
    run((matrix, pair_of_records, pair), flag, number, out)
    out[:] = 0.0
    with pytest.raises(TypeError, match="an argument of type list"):
        run((matrix, list(pair_of_records), pair), flag, number, out)
    with pytest.raises(TypeError, match="an argument of type NoneType"):
        run((None, pair_of_records, pair), flag, number, out)
    for wrong in ((*pair, 1), (pair.left,), np.array([2.25, -3.0])):
        with pytest.raises(Exception, match=r"ull|unpack|attribute|Invalid"):
            run((matrix, pair_of_records, wrong), flag, number, out)
    with pytest.raises(Exception, match="argument"):
        run((matrix, pair_of_records, pair), flag, number)
    assert not out.any()


def test_a_call_keeps_no_array_alive(run) -> None:
    given, flag, number, out = arguments()
    run(given, flag, number, out)
    kept = [weakref.ref(given[0]), weakref.ref(given[1][0]), weakref.ref(out)]
    del given, out
    assert [each() for each in kept] == [None] * 3


# Functions that others call have no machine code of their own; the whole computes what Python computes.


@pytest.fixture
def compilers():
    """Return the module that replaces parts of Numba, where this Numba has them."""
    reason = "older Numba compiles by its own passes"
    return pytest.importorskip("hopflow.kernels.compilers", reason=reason, exc_type=ImportError)


LOOP_OF_PARTS = """
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
    package.engine.cache_clear()
    for name in [name for name in sys.modules if name.startswith(alias)]:
        del sys.modules[name]


@pytest.fixture
def written(tmp_path, monkeypatch, compilers):
    """Write a kernel package in which one function is reached by three ways."""
    folder = tmp_path / "kernel_of_parts"
    folder.mkdir()
    jit = "compiled = entry = inlined = summing = lambda f: f\n"
    texts = {"__init__": "", "jit": jit, "parts": PARTS, "loop": LOOP_OF_PARTS}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    (tmp_path / "cache").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "folder", lambda: tmp_path / "cache")
    package._written.cache_clear()
    yield folder.name
    package._written.cache_clear()


def test_only_the_entry_is_optimised_and_its_cached_code_computes_the_same(
    written, compilers
) -> None:
    x = np.array([0.3, -1.0, 2.0, 0.0, 1e-3])
    expected = x.copy()
    assert package.engine(written, compiled=False)(expected) == len(x)
    for hits in (0, 1):  # compiled, then from the cache
        loop = package.engine(written)
        found = x.copy()
        assert loop(found) == len(x)
        np.testing.assert_array_equal(found, expected)
        alias = package.compiled_package(written).__name__
        assert (f"{alias}.parts" in sys.modules) == (hits == 0)
        if hits == 0:
            parts = sys.modules[f"{alias}.parts"]
            for part in (parts.left, parts.right, parts.shared):
                (compiled,) = part.overloads.values()
                assert isinstance(compiled.library, compilers._Part)
            (whole,) = loop.dispatcher.overloads.values()
            assert not isinstance(whole.library, compilers._Part)
        forget(alias)


def test_numba_is_as_before_when_a_kernel_is_compiled_or_is_not(written, compilers) -> None:
    replaced = [(PythonAPI, "gil_ensure"), (Dispatcher, "get_call_type")]
    before = [owner.__dict__[name] for owner, name in replaced]
    package.engine(written)(np.array([0.3, -1.0, 2.0]))
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
        run = package.engine(folder.name)
        x = np.array([0.3, -1.0])
        run(x, 1)
        assert x.tolist() == [0.3, -2.0]
        (codes[entry],) = run.dispatcher.inspect_llvm().values()
        assert arrayobj.fix_integer_index is before
        forget(package.compiled_package(folder.name).__name__)
    assert len(codes["counting_entry"]) < len(codes["entry"])


def test_arrays_of_an_unaliased_entry_are_apart_and_references_not_counted(written, tmp_path):
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
        run = package.engine(folder.name)
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
    run = package.engine(folder.name)
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
    assert package.engine(written).dispatcher
    alias = package.compiled_package(written).__name__
    parts = sys.modules[f"{alias}.parts"]
    names = []
    for records in (many, many[["field_of_a_long_name_0", "field_of_a_long_name_1"]].copy()):
        parts.length.compile((numba.typeof(records),))
        names = [each.fndesc.mangled_name for each in parts.length.overloads.values()]
    assert max(map(len, names)) < 300
    assert len(set(names)) == 2
    forget(alias)


def test_a_numba_without_what_is_replaced_is_refused(compilers) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "hopflow.kernels.compilers")
        patch.delattr(CPUCodegen, "_pass_builder")
        with pytest.raises(ImportError, match="no CPUCodegen"):
            importlib.import_module("hopflow.kernels.compilers")


def test_a_numba_whose_inner_modules_have_moved_compiles_by_its_own_passes(
    written, monkeypatch, compilers
):
    monkeypatch.setitem(sys.modules, "hopflow.kernels.compilers", None)
    found = np.array([0.3, -1.0, 2.0])
    expected = found.copy()
    package.engine(written, compiled=False)(expected)
    loop = package.engine(written)
    loop(found)
    np.testing.assert_array_equal(found, expected)
    alias = package.compiled_package(written).__name__
    (left,) = sys.modules[f"{alias}.parts"].left.overloads.values()
    assert not isinstance(left.library, compilers._Part)
    forget(alias)
