"""Object code of functions: their arguments and results, exceptions, the archive, the cache, threads and processes."""

from __future__ import annotations

import ast
import ctypes
import importlib
import linecache
import math
import os
import pkgutil
import subprocess
import sys
import threading
import time
import types
import weakref
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hopflow import kernels
from hopflow.kernels import KernelError, build_callbacks, cache, make_kernel, native, stopwatch
from hopflow.kernels.cache import clear, contents
from hopflow.kernels.stopwatch import Stopwatch
from tests.surface import PACKAGES, ROOT, for_each, printed_by

# Each kind of argument arrives, and what is returned comes back.


RECORD = np.dtype([("whole", np.int64), ("real", np.float64), ("row", np.float64, (3,))])


class Pair(NamedTuple):
    """Two numbers of different types."""

    left: float
    right: int


def take_all(group, flag, number, out):
    """Template."""
    matrix, (records, one), pair = group
    out[0] = matrix[1, 2] + 10.0 * matrix.shape[0] + 100.0 * matrix.shape[1]
    out[1] = records[1].real + records[1].row[2]
    out[2] = one.whole + one.real
    out[3] = pair.left - pair.right
    out[4] = 1.0 if flag else -1.0
    one.real = 0.5
    return number + len(records)


def arguments(order="C"):
    """Return one of each."""
    records = np.zeros(4, RECORD)
    records["real"], records["whole"] = [1.5, 2.5, 3.5, 4.5], 7
    records["row"][1] = [1.0, 2.0, 3.0]
    matrix = np.arange(12.0).reshape(3, 4).copy(order=order)
    return (matrix, (records, records[2]), Pair(2.25, -3)), True, 5, np.zeros(5)


EXPECTED = [6.0 + 30.0 + 400.0, 5.5, 10.5, 5.25, 1.0]


@for_each(["C", "F"])
def test_each_kind_of_argument_arrives(order) -> None:
    group, flag, number, out = arguments(order)
    assert make_kernel(take_all)(group, flag, number, out) == 9
    assert out.tolist() == EXPECTED
    assert group[1][0]["real"][2] == 0.5  # a record is a view of its array


def test_other_types_of_numbers_have_code_of_their_own() -> None:
    run = make_kernel(take_all)
    group, _, _, out = arguments()
    assert run(group, False, 0.25, out) == 4.25
    assert out[4] == -1.0
    assert run(group, np.bool_(True), np.int64(3), out) == 7
    assert out[4] == 1.0
    out[:] = 0.0
    group[0].dtype = np.int64  # the same bytes
    assert run(group, True, 5, out) == 9
    assert out[0] == float(group[0][1, 2]) + 430.0


def test_a_call_like_the_one_before_takes_the_values_of_now() -> None:
    run = make_kernel(take_all)
    (matrix, (records, one), pair), flag, number, out = arguments()
    assert run((matrix, (records, one), pair), flag, number, out) == 9
    one = records.copy()[2]
    one["whole"], one["real"] = 70, 0.25
    records.resize(6, refcheck=False)
    matrix = np.arange(100.0, 120.0).reshape(4, 5)
    assert run((matrix, (records, one), Pair(1.0, 4)), False, 6, out) == 12
    assert out.tolist() == [107.0 + 40.0 + 500.0, 5.5, 70.25, -3.0, -1.0]


def test_bound_arguments_stay_where_they_are() -> None:
    group, flag, number, out = arguments()
    call = make_kernel(take_all).bind(group, flag, number, out)
    out_of_call = weakref.ref(out)
    group[0][1, 2] = 7.0
    del out
    assert call() == call() == 9
    array = out_of_call()
    assert array is not None
    assert array[0] == 437.0
    del call, array
    assert out_of_call() is None


def test_a_call_keeps_no_array_alive() -> None:
    group, flag, number, out = arguments()
    make_kernel(take_all)(group, flag, number, out)
    references = [weakref.ref(group[0]), weakref.ref(group[1][0]), weakref.ref(out)]
    del group, out
    assert [reference() for reference in references] == [None] * 3


def refusals() -> list[tuple[int, Any, str]]:
    """Return a position among `arguments`, what stands there, and why it is refused."""
    (matrix, records, pair), _, _, _ = arguments()
    return [
        (0, (matrix, list(records), pair), "an argument of type list"),
        (0, (None, records, pair), "an argument of type NoneType"),
        (2, 1j, r"an argument of type complex: must be an array, a tuple, or one of bool, int, float"),
        (2, np.float32(1.0), "an argument of type float32"),
        (2, "5", "an argument of type str"),
    ]  # fmt: skip


def sums(x: Any, out: Any) -> None:
    """Write sums of rows (a template)."""
    for i in range(len(x)):
        out[i] = 0.0
        for j in range(x.shape[1]):
            out[i] += x[i, j]


@pytest.mark.parametrize("part", [np.s_[:, 1:3], np.s_[::2, ::-1], np.s_[::-1, :1], np.s_[2:0:-1, ::2]])
def test_arrays_that_are_not_contiguous_are_read_and_written_where_they_are(part: Any) -> None:
    matrix, out = np.arange(20.0).reshape(4, 5)[part], np.full(8, np.nan)
    make_kernel(sums)(matrix, out[: 2 * len(matrix) : 2])
    assert out[: 2 * len(matrix) : 2].tolist() == matrix.sum(axis=1).tolist()
    assert np.isnan(out[1::2]).all()


def test_arguments_of_other_types_are_refused() -> None:
    for position, value, why in refusals():
        given: list[Any] = list(arguments())
        given[position] = value
        with pytest.raises(TypeError, match=why):
            make_kernel(take_all)(*given)


def test_arguments_with_which_the_function_cannot_be_compiled_are_refused() -> None:
    group, flag, number, out = arguments()
    for wrong in ((*group, 1), group[:2], (group[0].ravel(), *group[1:])):
        with pytest.raises(KernelError):
            make_kernel(take_all)(wrong, flag, number, out)
    with pytest.raises(KernelError, match="argument"):
        make_kernel(take_all)(group, flag, number)
    assert not out.any()


def test_two_named_tuples_of_one_name_have_the_same_fields() -> None:
    other = namedtuple("Pair", "z")  # noqa: PYI024
    with pytest.raises(TypeError, match="two types called Pair differ in their fields"):
        make_kernel(several)(Pair(1.0, 2), other(1.0))


def several(a, b):
    """Template: results of all kinds."""
    return a, b > a, None, b


def nothing(a):
    """Template."""
    a[0] += 1.0


def one_of(a):
    """Template."""
    return a > 2.0


ONE = np.uint64(1)


def masked(word, mask):
    """Template: numbers without a sign."""
    return (word ^ mask) >> ONE, word + ONE


def test_results_come_back_as_python_s() -> None:
    values = make_kernel(several)(1, 2.5)
    assert values == (1, True, None, 2.5)
    assert list(map(type, values)) == [int, bool, type(None), float]
    numbers = np.zeros(1)
    assert make_kernel(nothing)(numbers) is None
    assert numbers[0] == 1.0
    assert make_kernel(one_of)(3.0) is True
    word, mask = np.uint64(2**63 + 5), np.uint64(7)
    assert make_kernel(masked)(word, mask) == ((2**63 + 2) >> 1, 2**63 + 6)


def in_a_list(x):
    """Template: allocates memory."""
    return [x, x]


def test_a_function_that_allocates_memory_is_refused() -> None:
    with pytest.raises((KernelError, NotImplementedError), match=r"NRT|cannot return"):
        make_kernel(in_a_list)(1.0)


# Exceptions in machine code are raised by the caller.

SIGNATURE = "void(CPointer(float64), float64)"
STEPS = (1.0, 0.5, 0.25)


def at(numbers, n):
    """Template: an index beyond a tuple raises."""
    numbers[0] = STEPS[n]


def of_a_rule(x):
    """Return a step."""
    return STEPS[int(x)]


def callbacks(function, *, compiled: bool = True):
    text = "def apply(w, x):\n    w[0] = rule(x)"
    return build_callbacks({"rule": function}, {}, {"apply": text}, SIGNATURE, compiled=compiled)


def test_an_exception_in_a_function_is_raised_once() -> None:
    numbers, kernel = np.zeros(1), make_kernel(at)
    with pytest.raises(RuntimeError, match="at: a compiled function raised an exception; run it as"):
        kernel(numbers, 3)
    kernel(numbers, 1)
    assert numbers[0] == 0.5


def test_an_exception_in_a_callback_is_met_by_its_caller(capfd) -> None:
    numbers = np.zeros(1)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)
    call(callbacks(of_a_rule)["apply"].address)(numbers.ctypes.data, 8.0)
    with pytest.raises(RuntimeError, match="a rule: a compiled function raised an exception"):
        native.check_exceptions("a rule")
    native.check_exceptions("a rule")
    assert capfd.readouterr() == ("", "")


# Functions of rules as C callbacks: same numbers compiled and plain.


def doubled(x):
    """Return twice a number."""
    return 2.0 * x


@for_each([False, True])
def test_a_callback_applies_the_function(compiled: bool) -> None:
    numbers = np.zeros(1)
    callback = callbacks(doubled, compiled=compiled)["apply"]
    if not compiled:
        callback(numbers, 3.0)
    else:
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(callback.address)
        call(numbers.ctypes.data, 3.0)
    assert numbers[0] == 6.0


# Functions of `math`: as in Python, or refused.

MATH = [name for name, function in vars(math).items() if isinstance(function, types.BuiltinFunctionType)]
RULES = """
import math

def result_of(x):
    return float(math.NAME(ARGUMENTS))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", MATH)
def test_a_function_of_math_has_its_value_or_is_refused(name: str, tmp_path) -> None:
    """Machine code calls nothing that does less in another process than in Numba's own."""
    file = tmp_path / "rules.py"
    for arguments in ("x", "x, 2.5", "x, 2.5, 0.5", "int(x)", "x, int(2.0 * x)", "int(x), 3"):
        file.write_text(RULES.replace("NAME", name).replace("ARGUMENTS", arguments))
        linecache.checkcache()
        scope: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), scope)  # noqa: S102
        function, values, numbers = scope["result_of"], (0.5, 1.5, 3.0, 7.25), np.zeros(1)
        try:
            expected = [function(x) for x in values]
            address = callbacks(function)["apply"].address
        except (ValueError, TypeError, ArithmeticError, KernelError):
            continue
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(address)
        for x, value in zip(values, expected, strict=True):
            call(numbers.ctypes.data, x)
            assert numbers[0] == pytest.approx(value, rel=1e-15), (arguments, x)


def parts_of_a_number(x):
    """Return x, from its mantissa and exponent, plus one unit in the last place of 1."""
    mantissa, exponent = math.frexp(x)
    return 0.25 * math.ldexp(mantissa, exponent + 2) + (math.nextafter(1.0, 2.0) - 1.0)


def of_gamma(x):
    """Call a function that has no code outside of Numba."""
    return math.gamma(x)


def test_mantissas_and_exponents_are_as_in_python() -> None:
    numbers = np.zeros(1)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(callbacks(parts_of_a_number)["apply"].address)
    for x in (1.0, 0.3, 1e-300, 5e-324, 1234.5):
        call(numbers.ctypes.data, x)
        assert numbers[0] == parts_of_a_number(x)
    with pytest.raises(KernelError, match=r"test_native.py:\d+: math.gamma: a compiled rule may not use this function"):
        callbacks(of_gamma)


# Names that code calls outside of itself: each of them is called by one of two functions.

OUTSIDE = """
import math
import numpy as np

def raises(x, n):
    choices = (1.0, 2.0)
    carray(x, 3)[0] = choices[int(n)]

def splits(x, n):
    y = carray(x, 3)
    mantissa, exponent = math.frexp(np.float32(n))
    y[0] = math.ldexp(np.float32(mantissa), exponent + 2) + math.nextafter(np.float32(n), np.float32(0.0))
    mantissa, exponent = math.frexp(n)
    y[1] = math.ldexp(mantissa, exponent + 2) + math.nextafter(n, 0.0)
"""


@pytest.fixture(scope="module")
def outside() -> tuple[native.Unit, str]:
    """The unit of both functions, and its name; compiled again where `native` was edited."""
    name = native.digest(OUTSIDE, Path(native.__file__).read_text(encoding="utf-8"))
    signatures = dict.fromkeys(("raises", "splits"), "void(CPointer(float64), float64)")
    entry = f"code/{name}-tests"
    content = cache.read(entry)
    if content is None:
        content = native.encode_unit(native.Compiler().compile(name, OUTSIDE, signatures))
        cache.write(entry, content)
    return native.decode_unit(content), name


def test_code_calls_each_runtime_function_that_has_a_stub(outside) -> None:
    assert set(outside[0].outside) == {f"hopflow.{name}" for name in native.RUNTIME_FUNCTIONS}


def test_code_calls_each_function_of_the_c_library(outside) -> None:
    """Their results are those of float32 and float64: a stub instead answers otherwise."""
    unit, name = outside
    assert all(f"\0{function}\0".encode() in b"".join(unit.objects) for function in native.C_FUNCTIONS.values())
    numbers = np.zeros(3)
    address = native.load_unit(name, lambda: unit)["splits"]
    for n in (0.3, 1.0, 1234.5):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(address)(numbers.ctypes.data, n)
        single = np.float32(n)
        assert numbers[0] == float(np.float32(4.0) * single + np.nextafter(single, np.float32(0.0)))
        assert numbers[1] == 4.0 * n + math.nextafter(n, 0.0)


def halve(numbers, a):
    """Template."""
    numbers[0] = 0.5 * a


def test_a_template_with_a_signature_is_a_callback() -> None:
    numbers = np.zeros(1)
    address = make_kernel(halve, signature=SIGNATURE).address
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(address)(numbers.ctypes.data, 3.0)
    assert numbers[0] == 1.5


# Entries of the cache: loaded without Numba, and absent where they are not whole.


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty folder for entries."""
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    forget(monkeypatch)
    return tmp_path / "cache"


def forget(monkeypatch) -> None:
    """Let units be loaded again, as in another process."""
    monkeypatch.setattr(native, "_addresses", {})
    monkeypatch.setattr(kernels, "_built", {})


def triple(x):
    """Template."""
    return 3.0 * x


def test_an_entry_is_loaded_by_the_next_process_and_compiled_again_where_it_is_not_whole(
    empty_cache, monkeypatch
) -> None:
    assert make_kernel(triple)(1.5) == 4.5
    (name,) = cache.names("code/")
    file = empty_cache / f"{name}.hopflow"
    whole = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(native, "compiler", None)
        forget(patch)
        assert make_kernel(triple)(1.5) == 4.5
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for content in (bytes(damaged), whole[:-100], b"", b"nothing that can be read"):
        file.write_bytes(content)
        forget(monkeypatch)
        assert make_kernel(triple)(1.5) == 4.5
        assert cache.read(name) == cache.read(cache.names("code/")[0]) is not None


def test_entries_are_counted_and_removed(empty_cache) -> None:
    assert make_kernel(triple)(1.5) == 4.5
    before = contents()
    assert before.entries == 1
    assert before.size > 1000
    assert clear() == before
    assert contents().entries == 0


def test_a_unit_without_its_function_is_refused(empty_cache) -> None:
    """Its address would be 0, which was called."""
    assert make_kernel(triple)(1.5) == 4.5
    content = cache.read(cache.names("code/")[0])
    assert content is not None
    unit = native.decode_unit(content)._replace(symbols={"call_with_words": "hopflow.no_such_function"})
    with pytest.raises(ImportError, match="object code without 'call_with_words'"):
        native.load_unit("of_a_test", lambda: unit)


def test_options_that_change_code_are_part_of_an_entry_s_name(empty_cache, monkeypatch) -> None:
    names = []
    for variable, value in (
        ("NUMBA_NUM_THREADS", "1"), ("NUMBA_NUM_THREADS", "4"), ("NUMBA_DISABLE_PERFORMANCE_WARNINGS", "1"),
        ("NUMBA_BOUNDSCHECK", "1"), ("NUMBA_OPT", "1"),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            for option in native.NUMBA_SETTINGS:
                patch.delenv(option, raising=False)
            patch.setenv(variable, value)
            forget(patch)
            native._target_digest.cache_clear()
            assert make_kernel(triple)(1.5) == 4.5
        names.append(set(cache.names("code/")))
    native._target_digest.cache_clear()
    assert list(map(len, names)) == [1, 1, 1, 2, 3]


def test_the_level_of_this_machine_is_one_that_is_built() -> None:
    assert native.level() in {*native.CPU_LEVELS, "aarch64", "x86-64"}


def test_threads_load_a_unit_once(empty_cache) -> None:
    compiled: list[str] = []
    make_kernel(triple)(1.5)
    content = cache.read(cache.names("code/")[0])
    assert content is not None

    def compile_() -> native.Unit:
        compiled.append("once")
        time.sleep(0.05)  # in which the others come
        return native.decode_unit(content)

    together, addresses = threading.Barrier(4), list[Any]()
    native._addresses.clear()

    def load() -> None:
        together.wait()
        addresses.append(native.load_unit("of_a_test", compile_)["call_with_words"])

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled == ["once"]
    assert len(set(addresses)) == 1


# Processes that share entries, have no room for them, or are forked.

SCRIPT = """
import sys
sys.path[:0] = [sys.argv[1]]
from hopflow.kernels import make_kernel, cache

def template(n):
    s, total = State(0), 0.0
    for x in range(n):
        total += step(s, x).i * 0.5
    return total

def rule(s, x):
    return s._replace(i=s.i + x)

kernel = make_kernel(template, functions={"step": rule}, tuples={"State": ("i",)})
if "fork" in sys.argv:
    import os, threading
    from hopflow.kernels import native
    kernel(4)
    native._addresses.clear()
    thread = threading.Thread(target=native.load_unit, args=("missing", lambda: threading.Event().wait(2)), daemon=True)
    thread.start()
    child = os.fork()
    if child == 0:
        kernel._calls.clear()
        os._exit(int(kernel(4) != 3.0))
    assert os.waitpid(child, 0)[1] == 0
if "limit" in sys.argv:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(kernel(4), cache.folder(), "numba" in sys.modules, sep="\\n")
"""


@pytest.fixture
def start(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def process(environment, *words):
        merged = {**os.environ, "NUMBA_CACHE_DIR": None, **environment}
        return subprocess.Popen(
            [sys.executable, str(script), str(ROOT), *words],
            env={name: value for name, value in merged.items() if value is not None},
            stdout=subprocess.PIPE,
            text=True,
        )

    return process


def outcome(running):
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 0
    total, folder, imported = out.splitlines()
    assert float(total) == (0 + 1 + 2 + 3) * 0.5
    return Path(folder), imported == "True"


def files_of(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_two_processes_compile_at_once_and_a_third_compiles_nothing(tmp_path, start):
    folder = tmp_path / "kernels of two"
    environment = {"HOPFLOW_CACHE_DIR": str(folder)}
    both_at_once = [start(environment) for _ in range(2)]
    assert [outcome(running) for running in both_at_once] == [(folder, True)] * 2
    before = files_of(folder)
    assert len(before) == 1
    assert outcome(start(environment)) == (folder, False)
    assert files_of(folder) == before


def test_without_a_usable_home(tmp_path, start):
    occupied = tmp_path / "a file"
    occupied.write_text("")
    environment = {
        "HOPFLOW_CACHE_DIR": str(occupied / "below"),
        "XDG_CACHE_HOME": None,
        "HOME": str(occupied),
        "TMPDIR": str(tmp_path),
    }
    assert outcome(start(environment))[0] == tmp_path / f"hopflow-{os.getuid()}"


def test_without_room_the_answer_is_right_and_nothing_is_left_behind(tmp_path, start):
    pytest.importorskip("resource")
    folder = tmp_path / "full"
    assert outcome(start({"HOPFLOW_CACHE_DIR": str(folder)}, "limit")) == (folder, True)
    assert files_of(folder) == {}


def test_without_any_folder_the_answer_is_right(empty_cache, monkeypatch):
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert make_kernel(triple)(1.5) == 4.5
    assert not empty_cache.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_another_thread_loads_code(tmp_path, start):
    outcome(start({"HOPFLOW_CACHE_DIR": str(tmp_path / "cache")}, "fork"))


def test_a_first_run_with_compiled_kernels_imports_neither_numba_nor_xarray() -> None:
    """In a new process; what a run is compared with was compiled."""
    code = (
        "import sys; from dfcmodel import simulate, takano2006;"
        "print(simulate(takano2006('1'), level='fluid', duration=0.05).delivered.sum());"
        "print('numba' in sys.modules, 'xarray' in sys.modules)"
    )
    first, second = (printed_by("-c", code).split() for _ in range(2))
    assert first[0] == second[0]
    assert second[1:] == ["False", "False"]


# A user's rule whose entries are damaged: each bit flipped in a process of its own.

FLIPS = """
import os, random, shutil, signal, sys
import numba
from typing import NamedTuple
from hopflow import maximum, where
from hopflow.kernels import cache
from responsefn import WindowRule

class Gentle(WindowRule):
    class Params(NamedTuple):
        kept: float = 0.8125

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.000030517578125 / s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        after = maximum(2.0, q.kept * s.cwnd)
        return s._replace(cwnd=after, ssthresh=after)

def in_a_child(body):
    child = os.fork()
    if child == 0:
        try:
            os._exit(body())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def answer():
    return Gentle().rate(0.01, 0.1)

reader, writer = os.pipe()
before = set(cache.names("code/"))
assert in_a_child(lambda: os.write(writer, repr(answer()).encode()) and 0) == 0
expected = os.read(reader, 100).decode()
files = [cache.folder() / f"{name}.hopflow" for name in sorted(set(cache.names("code/")) - before)]
assert files
random.seed(1)
for n in range(int(sys.argv[1])):
    file = files[n % len(files)]
    whole = file.read_bytes()
    damaged = bytearray(whole)
    # every other one in the head, which is a hundredth of an entry
    damaged[random.randrange(len(whole) if n % 2 else 400)] ^= 1 << random.randrange(8)
    file.write_bytes(damaged)
    status = in_a_child(lambda: int(repr(answer()) != expected))
    assert status == 0, (n, status)
    assert file.read_bytes() != bytes(damaged), n
    file.write_bytes(whole)
print(expected, len(files))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("flips", [4, pytest.param(120, marks=pytest.mark.slow)])
def test_flipped_bits_in_the_entries_of_a_rule_change_no_answer(flips, tmp_path) -> None:
    """One that is damaged is absent, and compiled again. Engines come from the archive, or from the entries of this cache."""
    printed_by("-c", "from responsefn import Reno; print(Reno().rate(0.01, 0.1))")
    folder = cache.folder()
    assert folder is not None
    script = tmp_path / "flips.py"
    script.write_text(FLIPS)
    copied = tmp_path / "cache"
    copied.mkdir(mode=0o700)
    (copied / "code").mkdir(mode=0o700)
    for file in folder.glob("code/*.hopflow"):
        (copied / "code" / file.name).write_bytes(file.read_bytes())
        (copied / "code" / file.name).chmod(0o600)
    environment = {"HOPFLOW_CACHE_DIR": str(copied), "PYTHONPATH": str(ROOT)}
    rate, files = printed_by(script, flips, env=environment).split()
    assert float(rate) > 0.0
    assert int(files) >= 1


# What answers questions uses documented names of Numba only, and never the module that builds.

DOCUMENTED = {"carray", "cfunc", "extending", "farray", "njit", "types"}
"""Of Numba; of `numba.extending` `intrinsic` and `overload`, and all types."""
UNDOCUMENTED_OPTIONS = {"_nrt", "pipeline_class"}


def all_modules() -> list[str]:
    """Return all modules but the one that builds."""
    names = list(PACKAGES)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names += [module.name for module in pkgutil.walk_packages(path, f"{package}.")]
    return [name for name in names if name != "hopflow.kernels.build"]


def file_of(name: str) -> Path:
    path = ROOT / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def names_of(tree: ast.AST) -> set[str]:
    """Return the dotted names that a module imports, with the attributes that it reads of them."""
    found, aliases = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.add(alias.name)
                local = alias.asname or alias.name.partition(".")[0]
                aliases[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found.add(f"{node.module}.{alias.name}")
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, _, rest = ast.unparse(node).partition(".")
            if root in aliases:
                found.add(f"{aliases[root]}.{rest}")
    return found


def is_documented(name: str) -> bool:
    """Return whether a dotted name is a documented one of Numba or llvmlite, or of neither."""
    package, *rest = name.split(".")
    if package == "llvmlite":
        return not rest or rest[0] in {"binding", "ir"}
    if package != "numba" or not rest:
        return True
    if any(part.startswith("_") for part in rest) or rest[0] not in DOCUMENTED:
        return False
    return rest[0] != "extending" or rest[1:] in ([], ["intrinsic"], ["overload"])


def test_names_that_are_not_documented_are_found() -> None:
    text = "import numba as nb\nfrom numba.core import types\nnb.njit, nb.types.int64, nb.np.x, nb._dynfunc"
    assert {name for name in names_of(ast.parse(text)) if not is_documented(name)} == {
        "numba.core.types", "numba.np", "numba.np.x", "numba._dynfunc",
    }  # fmt: skip


def sources_with(*words: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the modules whose source has one of some words, parsed: parsing all takes ten seconds."""
    for name in all_modules():
        text = file_of(name).read_text(encoding="utf-8")
        if any(word in text for word in words):
            yield name, ast.parse(text)


def test_only_the_build_uses_names_of_numba_that_are_not_documented() -> None:
    for name, tree in sources_with("numba", "llvmlite"):
        names = names_of(tree)
        assert [found for found in names if not is_documented(found)] == [], name
        if any(found.startswith("numba") for found in names):
            options = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
            options |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            assert not options & UNDOCUMENTED_OPTIONS, name


def test_nothing_imports_the_build() -> None:
    for name, tree in sources_with("build"):
        assert not [n for n in names_of(tree) if n.startswith("hopflow.kernels.build.")], name
        assert "hopflow.kernels.build" not in {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        } | {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}, name


IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:  # of an extra that is not installed
        if error.name.partition(".")[0] in {"hopflow", "dfcmodel", "markov", "responsefn", "validation"}:
            raise
print(sorted(name for name in sys.modules if name.partition(".")[0] == "numba" or name == "hopflow.kernels.build"))
"""


def test_no_module_imports_numba_when_it_is_imported() -> None:
    names = [name for name in all_modules() if not name.endswith("__main__")]
    assert printed_by("-c", IMPORT_ALL, *names, cwd=ROOT).splitlines()[-1] == "[]"


# Times that a user is told are those of the computation, not of loading or compiling kernels.


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets, and no loading before it."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(stopwatch, "_intervals", stopwatch._Intervals())
    return now


def test_loading_is_left_out_once_however_it_is_nested(clock) -> None:
    watch = Stopwatch()
    clock[0] = 1.0
    with stopwatch.loading():
        clock[0] = 2.0
        with stopwatch.loading():
            clock[0] = 4.0
        assert (watch.seconds(), watch.loading()) == (1.0, 3.0)
        clock[0] = 5.0
    clock[0] = 7.0
    assert (watch.seconds(), watch.loading()) == (3.0, 4.0)
    later = Stopwatch()
    clock[0] = 8.0
    assert (later.seconds(), later.loading()) == (1.0, 0.0)


def test_threads_that_load_at_the_same_time_count_once(clock) -> None:
    watch, other = Stopwatch(), stopwatch.loading()
    thread = threading.Thread(target=other.__enter__)
    with stopwatch.loading():
        clock[0] = 1.0
        thread.start()
        thread.join()
        clock[0] = 2.0
    clock[0] = 3.0
    other.__exit__(None, None, None)
    clock[0] = 4.0
    assert (watch.seconds(), watch.loading()) == (1.0, 3.0)


def test_an_error_ends_the_loading(clock) -> None:
    watch = Stopwatch()

    @stopwatch.loading()
    def fails() -> None:
        clock[0] = 1.0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    clock[0] = 2.0
    assert watch.seconds() == 1.0


def quadruple(x):
    """Template."""
    return 4.0 * x


def test_compilation_counts_as_loading(empty_cache) -> None:
    """A function compiles at its first call, within what is timed."""
    watch, kernel = Stopwatch(), make_kernel(quadruple)
    kernel(1.0)
    first = watch.loading()
    kernel(2.0)
    assert 0.0 < first == watch.loading()


def test_objects_for_arm64_are_written_on_any_machine() -> None:
    """Machine 183 in the header of ELF (AArch64); loading them needs one."""
    from llvmlite import binding

    unit = native.assemble([("twice", "hopflow.twice", binding.parse_assembly(TWICE), set())], "aarch64")
    assert unit.objects[0][:4] == b"\x7fELF"
    assert int.from_bytes(unit.objects[0][18:20], "little") == 183


TWICE = """
define double @hopflow.twice(double %x) {
  %y = fadd double %x, %x
  ret double %y
}
"""
