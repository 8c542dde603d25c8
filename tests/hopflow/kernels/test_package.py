"""A package compiled as a whole: its copy, its entries, their arguments."""

from __future__ import annotations

import sys
import warnings
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

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
        text = f"from hopflow.kernels.plain_jit import inlined\n\nGAIN = {gain}\n"
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
    package.loop_of.cache_clear()
    monkeypatch.setattr(package, "folder", lambda: tmp_path)
    loop = package.loop_of("announced_kernel")
    assert not capsys.readouterr().err  # before it is called for the first time
    assert loop() == 1
    assert "compiling announced_kernel, once on this machine" in capsys.readouterr().err
    package.loop_of.cache_clear()  # as in another process
    assert package.loop_of("announced_kernel")() == 1
    assert not capsys.readouterr().err
    package._written.cache_clear()
    package.loop_of.cache_clear()


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
    package.loop_of.cache_clear()
    yield lambda *given: package.loop_of(folder.name)(*given)
    package._written.cache_clear()
    package.loop_of.cache_clear()


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
            package.loop_of.cache_clear()
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
