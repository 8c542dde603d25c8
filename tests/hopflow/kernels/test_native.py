"""Loading of kernels and callbacks, their cache, a start of Numba, and the time that all this takes."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from hopflow import kernels
from hopflow.kernels import (
    build,
    build_callbacks,
    callbacks,
    jit,
    loading,
    machine_code,
    plain_jit,
    stopwatch,
)
from hopflow.kernels.cache import clear, contents
from hopflow.kernels.stopwatch import Stopwatch
from tests.surface import HANG, for_each, printed_by

# Compiled kernels on disk: where they are kept, and processes that share them.


def test_folder_is_the_first_writable_one(tmp_path, monkeypatch):
    occupied = tmp_path / "a file"
    occupied.write_text("")
    order = ["HOPFLOW_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"]
    below = [".", "hopflow", "hopflow", ".cache/hopflow"]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for bad in range(5):
        for n, name in enumerate(order):
            unusable = f"{occupied}/{n}" if n % 2 else ""  # cannot be made, or is not set
            monkeypatch.setenv(name, unusable if n < bad else str(tmp_path / f"good {n}"))
        loading.folder.cache_clear()
        last = tmp_path / "temporary" / f"hopflow-{os.getuid()}"
        expected = tmp_path / f"good {bad}" / below[bad] if bad < 4 else last
        assert loading.folder() == expected
        assert expected.is_dir()
    assert last.stat().st_mode & 0o077 == 0

    loading.folder.cache_clear()
    monkeypatch.setattr(loading, "_user", lambda: os.getuid() + 1)
    last.rename(tmp_path / "temporary" / f"hopflow-{os.getuid() + 1}")  # somebody else's folder
    with pytest.raises(OSError, match="set HOPFLOW_CACHE_DIR"):
        loading.folder()
    loading.folder.cache_clear()


SCRIPT = """
import sys
sys.path[:0] = [sys.argv[1]]
from collections import namedtuple
from hopflow.kernels import build, loading

def template(n):
    s, total = State(0), 0.0
    for x in range(n):
        for target, rate in rules(s, s):
            total += target.i * rate
    return total

def rules(s, q):
    for i in range(s.i + 3):
        yield s._replace(i=i), 0.5

kernel = build(template, rules={"rules": rules}, tuples={"State": ("i",)})
print(kernel(4), loading.folder(), sep="\\n")
"""


@pytest.fixture
def start(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def process(environment):
        merged = {**os.environ, "NUMBA_CACHE_DIR": None, **environment}
        return subprocess.Popen(
            [sys.executable, str(script), str(Path(kernels.__file__).parents[2])],
            env={name: value for name, value in merged.items() if value is not None},
            stdout=subprocess.PIPE,
            text=True,
        )

    return process


def outcome(running):
    out, _ = running.communicate(timeout=HANG)
    assert running.returncode == 0
    total, folder = out.splitlines()
    return float(total), Path(folder)


RIGHT = 4 * (0 + 1 + 2) * 0.5


@pytest.mark.slow
def test_two_processes_compile_at_once_and_a_third_compiles_nothing(tmp_path, start):
    folder = tmp_path / "kernels of two"
    environment = {"HOPFLOW_CACHE_DIR": str(folder)}
    both_at_once = [start(environment) for _ in range(2)]
    assert [outcome(running) for running in both_at_once] == [(RIGHT, folder)] * 2

    def stamps():
        return {p.name: p.stat().st_mtime_ns for p in folder.rglob("*") if p.suffix != ".pyc"}

    before = stamps()
    assert len(list(folder.glob("*.py"))) == 1
    assert len([name for name in before if name.endswith(".nbi")]) == 1
    assert any(name.endswith(".nbc") for name in before)
    assert outcome(start(environment)) == (RIGHT, folder)
    assert stamps() == before


def test_without_a_usable_home(tmp_path, start):
    occupied = tmp_path / "a file"
    occupied.write_text("")
    environment = {
        "HOPFLOW_CACHE_DIR": str(occupied / "below"),
        "XDG_CACHE_HOME": None,
        "HOME": str(occupied),
        "TMPDIR": str(tmp_path),
    }
    assert outcome(start(environment)) == (RIGHT, tmp_path / f"hopflow-{os.getuid()}")


ROOT = Path(__file__).resolve().parents[3]
MOVED = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
from {module} import Step
from hopflow.kernels import build, shape_of


def grow(step, n):
    total = 0.0
    for k in range(n):
        total += step.by
    return total


arguments = Step(0.5), 4
print(build(grow, salt=shape_of(arguments))(*arguments))
"""
STEP = "from typing import NamedTuple\nclass Step(NamedTuple):\n    by: float\n"


def run_moved(folder: Path, module: str) -> str:
    """Run a kernel whose argument's type is in a module, in a process of its own."""
    script = folder / "script.py"
    script.write_text(
        MOVED.format(root=str(ROOT), here=str(folder), module=module), encoding="utf-8"
    )
    return printed_by(script, env={"HOPFLOW_CACHE_DIR": str(folder / "cache")}).strip()


@pytest.mark.slow
def test_a_type_that_moves_between_modules(tmp_path):
    """Numba's index of a kernel names the modules of its arguments' types, as after an upgrade."""
    (tmp_path / "before.py").write_text(STEP, encoding="utf-8")
    assert run_moved(tmp_path, "before") == "2.0"
    (tmp_path / "before.py").rename(tmp_path / "after.py")
    assert run_moved(tmp_path, "after") == "2.0"


@pytest.mark.slow  # of callbacks, below, which are loaded by the same functions, it is quick
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_what_cannot_be_read_is_compiled_anew(tmp_path, suffix):
    (tmp_path / "before.py").write_text(STEP, encoding="utf-8")
    assert run_moved(tmp_path, "before") == "2.0"
    kept = list((tmp_path / "cache" / "__pycache__").glob(f"kernel_*{suffix}"))
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:20] + b"nothing that can be read")
    assert run_moved(tmp_path, "before") == "2.0"


def twice(monkeypatch, place: Path) -> float:
    """Return 2.0 * 1.5 by a callback that is built as in a new process."""
    monkeypatch.setattr(loading, "folder", lambda: place)
    callbacks._built.clear()
    for name in [name for name in sys.modules if name.startswith("hopflow_kernel_")]:
        monkeypatch.delitem(sys.modules, name)
    text = {"twice": "def twice(w, a):\n    w[0] = 2.0 * a"}
    found = callbacks.build_callbacks({}, {}, text, "void(CPointer(float64), float64)")
    value = ctypes.c_double()
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.c_double)
    call(found["twice"].address)(ctypes.byref(value), 1.5)
    return value.value


def test_a_callback_is_loaded_without_numba_and_compiled_anew_where_its_file_is_not_whole(
    tmp_path, monkeypatch
) -> None:
    """A bit that has changed, an end that is missing, and no line of JSON."""
    assert twice(monkeypatch, tmp_path) == 3.0
    (kept,) = tmp_path.glob("kernel_*.code")
    with monkeypatch.context() as patch:
        patch.setattr(loading, "_import", None)
        assert twice(patch, tmp_path) == 3.0
        whole = kept.read_bytes()
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 1
        for content in (bytes(damaged), whole[:-100], b"nothing that can be read"):
            kept.write_bytes(content)
            assert machine_code.load_file(kept) is None
    assert twice(monkeypatch, tmp_path) == 3.0
    assert machine_code.load_file(kept)


def test_threads_that_load_at_the_same_time_share_one_engine(tmp_path, monkeypatch) -> None:
    """The machine code of an engine that nobody keeps goes with it."""
    assert twice(monkeypatch, tmp_path) == 3.0
    (kept,) = tmp_path.glob("kernel_*.code")
    made: list[object] = []

    def make() -> object:
        made.append(object())
        time.sleep(0.05)  # in which the others come
        return engine

    engine = machine_code._engine()
    monkeypatch.setattr(machine_code, "_engine", functools.cache(make))
    together, found = threading.Barrier(4), list[object]()

    def load() -> None:
        together.wait()
        found.append(machine_code.load_file(kept))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(found) == 4
    assert None not in found


@pytest.mark.parametrize("signature", ["void(CPointer(float64), float64)", ""])
def test_what_is_in_the_cache_folder_is_known_to_be_compiled(signature, tmp_path, monkeypatch):
    """A callback and a function of Python's: before, in this process, and in the next."""
    monkeypatch.setattr(loading, "folder", lambda: tmp_path)

    def halved(w, a):
        w[0] = 0.5 * a

    def forget() -> None:
        kernels._built.clear()
        for name in [name for name in sys.modules if name.startswith("hopflow_kernel_")]:
            monkeypatch.delitem(sys.modules, name)

    forget()
    assert not kernels.is_built(halved, signature=signature)
    numbers = np.zeros(1)
    built = kernels.build(halved, signature=signature)
    if signature:
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(built.address)
        call(numbers.ctypes.data, 3.0)
    else:
        built(numbers, 3.0)
    assert numbers[0] == 1.5
    assert kernels.is_built(halved, signature=signature)
    forget()
    assert kernels.is_built(halved, signature=signature)
    for file in tmp_path.rglob("kernel_*"):
        if file.suffix in {".code", ".nbi"}:
            file.unlink()
    assert not kernels.is_built(halved, signature=signature)


def test_code_that_needs_what_the_process_has_not_is_not_loaded(tmp_path, monkeypatch) -> None:
    """LLVM would end the process."""
    assert twice(monkeypatch, tmp_path) == 3.0
    (kept,) = tmp_path.glob("kernel_*.code")
    line, _, content = kept.read_bytes().partition(b"\n")
    digest, sizes, external, functions = json.loads(line)
    assert set(external) <= {"memset", "memcpy"} or all(
        hasattr(ctypes.pythonapi, name) for name in external
    )
    kept.write_bytes(
        json.dumps([digest, sizes, ["no_such_function"], functions]).encode() + b"\n" + content
    )
    assert machine_code.load_file(kept) is None


def test_another_format_of_object_files_needs_numba_first() -> None:
    assert machine_code._external(b"\xcf\xfa\xed\xfe") == {"numba_unpickle"}


def test_machine_code_is_of_a_processor_and_of_what_numba_is_told(monkeypatch) -> None:
    before = machine_code.processor()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    machine_code.processor.cache_clear()
    assert machine_code.processor() != before
    monkeypatch.delenv("NUMBA_CPU_NAME")
    machine_code.processor.cache_clear()
    assert machine_code.processor() == before


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


# Size and removal of the compiled kernels on disk.


def triple(x):
    """Template."""
    return 3.0 * x


def test_kernels_are_counted_and_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    loading.folder.cache_clear()
    try:
        assert contents() == (tmp_path, 0, 0)
        assert build(triple)(1.5) == 4.5
        (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
        found = contents()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert found.entries == 1
        assert found.size == sum(path.stat().st_size for path in files) - len("mine") > 1000
        assert clear() == found
        assert contents() == (tmp_path, 0, 0)
        assert (tmp_path / "notes.txt").is_file()
    finally:
        loading.folder.cache_clear()


# Numba starts without SciPy's linear algebra, and finds it when it needs it.

SCRIPT_NUMBA_START = """
import sys
from hopflow.kernels.numba_start import start_numba
start_numba()
from numba.np import arraymath, linalg
print("scipy.linalg" in sys.modules, arraymath._HAVE_BLAS)
linalg.ensure_blas()
print("scipy.linalg" in sys.modules)
"""


@pytest.mark.slow
def test_the_linear_algebra_of_scipy_is_loaded_where_it_is_needed() -> None:
    assert printed_by("-c", SCRIPT_NUMBA_START).split() == ["False", "True", "True"]


# Functions of rules as C callbacks: same numbers compiled and plain, an edited constant met anew.

SIGNATURE = "void(CPointer(float64), float64)"


def doubled(x):
    """Return twice a number."""
    return 2.0 * x


def built(function, *, compiled: bool):
    text = "def apply(w, x):\n    w[0] = rule(x)"
    return build_callbacks({"rule": function}, {}, {"apply": text}, SIGNATURE, compiled=compiled)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_callback_applies_the_function(compiled: bool) -> None:
    numbers = np.zeros(1)
    callback = built(doubled, compiled=compiled)["apply"]
    if not compiled:
        callback(numbers, 3.0)
    else:
        pointer = ctypes.POINTER(ctypes.c_double)
        call = ctypes.CFUNCTYPE(None, pointer, ctypes.c_double)(callback.address)
        call(numbers.ctypes.data_as(pointer), 3.0)
    assert numbers[0] == 6.0


def several(x):
    """Return three times a number, in a way that the passes for kernel packages do not know."""
    return sum([x for _ in range(3)])


def test_what_the_fewer_passes_cannot_do_all_of_numba_s_do() -> None:
    numbers = np.zeros(1)
    callback = built(several, compiled=True)["apply"]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(callback.address)
    call(numbers.ctypes.data, 1.5)
    assert numbers[0] == 4.5


# As plain Python, functions of a kernel package are what they were, and events are called.


@for_each([
    "compiled", "inlined", "summing", "entry", "counting_entry", "calling_entry", "unaliased_entry",
])  # fmt: skip
def test_a_function_stays_as_it_is(name: str) -> None:
    def double(x: float) -> float:
        return 2.0 * x

    assert getattr(plain_jit, name)(double) is double


def test_events_get_what_they_are_called_with() -> None:
    called: list[tuple[object, ...]] = []

    def event(*given: object) -> None:
        called.append(given)

    plain_jit.call_event(event, "flow", 1.0, 0.1, 2.0, 3.0)
    plain_jit.call_manager(event, "link")
    assert called == [("flow", 1.0, 0.1, 2.0, 3.0), ("link",)]


def test_a_product_and_a_sum_are_rounded_once() -> None:
    """1 + 2^-52 squared is 1 + 2^-51 + 2^-104: what a rounded product lacks is found."""
    a = 1.0 + 2.0**-52
    assert plain_jit.multiply_add(a, a, -(a * a)) == 2.0**-104


# The decorators of a compiled package and those of its plain copy have the same names.


def test_both_offer_the_same_names() -> None:
    assert jit.__all__ == plain_jit.__all__


def test_sums_may_be_reordered_only_where_they_are_exact() -> None:
    """Rounding to the quantum needs strict arithmetic; sums of multiples of it do not."""
    assert jit.summing(lambda x: x).targetoptions["fastmath"] == {"reassoc"}
    assert "fastmath" not in jit.inlined(lambda x: x).targetoptions


# Times that a user is told are those of the computation, not of loading or compiling its kernels.


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


def test_compilation_by_numba_counts_as_loading() -> None:
    """A function compiles at its first call, within what is timed."""
    from hopflow.kernels.numba_start import start_numba

    start_numba()
    import numba

    double = numba.njit(lambda x: 2.0 * x)
    watch = Stopwatch()
    double(1.0)
    first = watch.loading()
    double(2.0)
    assert 0.0 < first == watch.loading()


COLD = """
import time
from hopflow.kernels.stopwatch import Stopwatch
from dfcmodel import Packets, ensemble, simulate, takano2006
from markov import Multilevel, PauseTandem, stationary
network, chain = takano2006("1"), PauseTandem(buffers=(30, 60), high_threshold=45)
for call in (
    lambda: simulate(network, Packets(), duration=0.05),
    lambda: stationary(chain, Multilevel()),
    lambda: ensemble(network, 2, level="fluid", duration=0.02),
):
    watch, began = Stopwatch(), time.process_time()
    told = call().seconds
    print(told, watch.seconds(), watch.loading(), time.process_time() - began)
"""


@pytest.mark.slow  # compiles the packet level and the multilevel method: about 40 s of CPU time
def test_first_calls_with_an_empty_cache_do_not_report_the_compilation(tmp_path) -> None:
    """Each compiles for 2 s of CPU time or more and computes for 0.1 s or less."""
    empty = dict.fromkeys(("HOPFLOW_CACHE_DIR", "NUMBA_CACHE_DIR"), str(tmp_path))
    printed = printed_by("-c", COLD, env=empty)
    for line in printed.splitlines():
        told, computing, loading, cpu = map(float, line.split())
        assert told <= computing, printed  # a busy machine makes both longer
        assert loading > 0.5 * cpu > 0.5, (
            printed
        )  # compilation, which takes most of the CPU time, counts as loading
