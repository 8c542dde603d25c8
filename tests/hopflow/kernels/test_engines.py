"""Engines: packages compiled as a whole, their marks, their archive, and the version of Numba that compiles them."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hopflow.kernels import build_callbacks, cache, engine, engines, marks, native
from tests.surface import ROOT, for_each, printed_by, python

# Marks: as plain Python, functions of an engine are what they were, and events are called.


@for_each(["compiled", "inlined", "summing", "entry", "calling_entry", "unaliased_entry"])
def test_a_marked_function_stays_as_it_is(name: str) -> None:
    def double(x: float) -> float:
        return 2.0 * x

    assert getattr(marks, name)(double) is double


def test_events_get_what_they_are_called_with() -> None:
    called: list[tuple[object, ...]] = []

    def event(*given: object) -> None:
        called.append(given)

    marks.call_event(event, "flow", 1.0, 0.1, 2.0, 3.0)
    marks.call_manager(event, "link")
    assert called == [("flow", 1.0, 0.1, 2.0, 3.0), ("link",)]


def test_a_product_and_a_sum_are_rounded_once() -> None:
    """1 + 2^-52 squared is 1 + 2^-51 + 2^-104: the last term is what a rounded product lacks."""
    a = 1.0 + 2.0**-52
    assert marks.multiply_add(a, a, -(a * a)) == 2.0**-104


def test_the_build_has_a_decorator_for_each_mark() -> None:
    code = "import hopflow.kernels.build as b; print(set(b.decorators()) == set(b.marks.__all__))"
    assert printed_by("-c", code, cwd=ROOT).strip() == "True"


# A small engine: compiled as it computes in Python, and compiled again where its source has changed.

LOOP = """
from hopflow.kernels.marks import call_on_array, compiled, inlined, multiply_add, prefetch, summing, unaliased_entry
from small_engine.constants import FACTOR

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

@unaliased_entry
def run(x, event):
    for i in range(1, len(x)):
        prefetch(x, i)
        x[i] = multiply_add(FACTOR, left(x, i), right(x, i))
        call_on_array(event, x, float(i), 0.0, 0.0, 0.0)
    return len(x)
"""
TEXTS = {"__init__": "", "constants": "FACTOR = 2.0\n", "loop": LOOP}


def write(folder: Path, **texts: str) -> Path:
    """Write the engine, as long ago."""
    package = folder / "small_engine"
    package.mkdir(exist_ok=True)
    for name, text in {**TEXTS, **texts}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
        os.utime(package / f"{name}.py", (1e9, 1e9 + len(text)))
    return package


SCRIPT = """
import sys
import numpy as np
from hopflow.kernels import Callback, build_callbacks, cache, engine

STEPS = (1.0, 0.5, 0.25)

def step(x, n):
    return x + STEPS[int(n)]

text = "def apply(w, n, a, b, c):\\n    w[int(n)] = rule(w[int(n)], n)"
callbacks = {
    compiled: build_callbacks({"rule": step}, {}, {"apply": text}, "void(CPointer(float64), float64, float64, float64, float64)", compiled=compiled)["apply"]
    for compiled in (True, False)
}
x = np.array([0.3, -1.0, 2.0])
y = x.copy()
assert engine("small_engine")(x, np.uint64(callbacks[True].address)) == 3
assert engine("small_engine", compiled=False)(y, callbacks[False]) == 3
assert (x == y).all(), (x, y)
if "raise" in sys.argv:
    try:
        engine("small_engine")(np.ones(5), np.uint64(callbacks[True].address))
    except RuntimeError as error:
        print(error)
print(x.tolist(), len(cache.names("code/")), "numba" in sys.modules, "hopflow.kernels.build" in sys.modules)
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the engine in a process of its own with a cache of this test's."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {
        "HOPFLOW_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def process(*words: str) -> tuple[list[str], str]:
        done = python(script, *words, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr

    return process


@pytest.mark.slow
def test_an_engine_is_compiled_once_and_again_when_edited(run, tmp_path) -> None:
    write(tmp_path)
    (first,), announced = run()
    assert announced == "compiling small_engine, once ...\n"
    assert first.endswith("2 True False")  # Numba compiled the callback here
    (again,), silent = run()
    assert silent == ""
    assert again == first.replace("True", "False")
    write(tmp_path, constants="FACTOR = 4.0\n")
    (edited,), announced = run()
    assert announced == "compiling small_engine, once ...\n"
    assert edited.endswith("3 False False")
    assert edited.split("]")[0] != first.split("]")[0]


@pytest.mark.slow
def test_an_exception_in_a_callback_of_an_engine_is_raised_by_the_engine(run, tmp_path) -> None:
    write(tmp_path)
    (message, _), _ = run("raise")
    assert message.startswith("small_engine.loop.run: a compiled function raised an exception")


def test_what_an_engine_shares_with_other_packages_is_part_of_its_name(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "homes").mkdir()
    home = tmp_path / "homes" / "gains.py"
    write(tmp_path, constants="from homes.gains import GAIN\n\nFACTOR = GAIN\n")
    names = []
    for gain in ("0.5", "0.25", "0.5"):
        home.write_text(f"GAIN = {gain}\n")
        os.utime(home, (1e9, 1e9))
        engines.source_digest.cache_clear()
        names.append(engines.unit_name("small_engine", "loop", ()))
    engines.source_digest.cache_clear()
    forget_modules("small_engine", "homes")
    assert names[0] == names[2] != names[1]


def forget_modules(*prefixes: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in prefixes]:
        del sys.modules[name]


def test_kinds_of_arguments_are_part_of_its_name(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path)
    real, whole = np.dtype(float), np.dtype(int)
    names = {engines.unit_name("small_engine", "loop", kinds) for kinds in ((real, 1), (real, 2), (whole, 1))}  # fmt: skip
    engines.source_digest.cache_clear()
    forget_modules("small_engine")
    assert len(names) == 3


def test_an_engine_that_was_edited_after_the_process_started_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = write(tmp_path) / "loop.py"
    os.utime(file, (time.time() + 1.0, time.time() + 1.0))
    with pytest.raises(ImportError, match=r"loop.py was edited after this process started: start"):
        engine("small_engine")(np.ones(3), np.uint64(0))
    engine.cache_clear()
    engines.source_digest.cache_clear()
    forget_modules("small_engine")


def test_an_engine_that_does_not_compile_says_why(tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    text = "from hopflow.kernels.marks import entry\n\n@entry\ndef run(x):\n    return x.no_such_attribute\n"
    write(tmp_path, loop=text)
    with pytest.raises(ImportError) as caught:
        engine("small_engine")(np.ones(3))
    assert str(caught.value)
    engine.cache_clear()
    engines.source_digest.cache_clear()
    forget_modules("small_engine")


def test_an_unknown_package_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_engine"):
        engine("no_such_engine")


# The version of Numba.

OTHER_NUMBA = """
import numba
numba.__version__ = "0.99.0"
import hopflow.kernels.build
"""


def test_another_numba_than_the_pinned_one_is_refused_by_its_version() -> None:
    done = python("-c", OTHER_NUMBA, cwd=ROOT)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    pinned = pinned_numba()
    assert last == (
        f"ImportError: hopflow's own functions are compiled by Numba {pinned}, and 0.99.0 is installed: pip install numba=={pinned}"
    )


def pinned_numba() -> str:
    text = (ROOT / "hopflow" / "kernels" / "build.py").read_text(encoding="utf-8")
    version = re.search(r'^NUMBA = "(.*)"$', text, re.MULTILINE)
    assert version is not None
    return version[1]


def test_numba_is_pinned_to_one_version_in_three_places() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"numba=={pinned_numba()}" in settings["build-system"]["requires"]
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"numba=={pinned_numba()}" in constraints


# The archive: hopflow's own functions, compiled when it is built.


def test_a_unit_comes_from_the_archive_before_the_cache(tmp_path, monkeypatch) -> None:
    """And where the archive is damaged, it is compiled."""
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_addresses", {})
    text = "def apply(w):\n    w[0] = 2.0"
    signature = "void(CPointer(float64))"

    def build() -> None:
        monkeypatch.setattr(native, "_addresses", {})
        importlib.import_module("hopflow.kernels")._built.clear()
        build_callbacks({}, {}, {"apply": text}, signature)

    build()
    (name,) = cache.names("code/")
    content = cache.read(name)
    assert content is not None
    folder = tmp_path / "objects"
    folder.mkdir()
    archive = folder / f"{native.level()}.zip"
    monkeypatch.setattr(native, "ARCHIVES", folder)
    for damaged in (False, True):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(name.removeprefix("code/").partition("-")[0], content)
        if damaged:
            whole = bytearray(archive.read_bytes())
            whole[len(whole) // 3] ^= 1
            archive.write_bytes(whole)
        native._archive.cache_clear()
        cache.clear()
        build()
        assert len(cache.names("code/")) == damaged
    native._archive.cache_clear()


def archive_is_current() -> bool:
    """Return whether this checkout has an archive of its own source for this machine."""
    code = (
        "import hopflow.kernels.build as b; from hopflow.kernels.native import ARCHIVES, level;"
        "print(b._is_current(ARCHIVES / f'{level()}.zip', b._source_digest()))"
    )
    return printed_by("-c", code, cwd=ROOT).strip() == "True"


WITHOUT_NUMBA = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ModuleNotFoundError(f"no {name} here", name=name)

sys.meta_path.insert(0, Missing())
"""
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
QUESTIONS = [
    "dfcmodel: credits in a fabric",
    "dfcmodel: fluid",
    "markov: of a chain of one's own",
    "responsefn: rates of Reno()",
]


@pytest.mark.slow
def test_questions_are_answered_from_the_archive_without_numba(tmp_path) -> None:
    """By an empty cache, into which no code comes."""
    if not archive_is_current():
        pytest.skip("this checkout has no archive of its source: python -m hopflow.kernels.build")
    script = tmp_path / "script.py"
    environment = {
        "HOPFLOW_CACHE_DIR": str(tmp_path / "cache"), "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    questions = [
        f"from {package}.first_uses import short_calls\nshort_calls()[{name!r}]()"
        for package, name in (question.split(": ", 1) for question in QUESTIONS)
    ]
    for code in [*EXAMPLES, *questions]:
        script.write_text(f"{WITHOUT_NUMBA}\n{code}")
        done = python(script, env=environment, cwd=tmp_path)
        assert done.returncode == 0, (code, done.stderr)
        assert "compiling" not in done.stderr
    assert not list((tmp_path / "cache").glob("code/*"))


@pytest.mark.parametrize(
    ("level", "own"), [("x86-64-v3", "x86-64-v3"), ("aarch64", "x86-64-v3"), ("aarch64", "aarch64")]
)
def test_numba_writes_code_for_processors_that_it_knows(level, own) -> None:
    """LLVM warns of an unknown processor, and writes code for none. Of arm64 only the name can be tested here."""
    if importlib.metadata.version("numba") != pinned_numba():
        pytest.skip(f"hopflow.kernels.build needs Numba {pinned_numba()}")
    from hopflow.kernels import build

    name = build.processor(level, own)
    if not own.startswith("x86-64"):
        assert name == "generic"
        return
    code = (
        "from llvmlite import binding; binding.initialize_native_target(); "
        f"binding.Target.from_default_triple().create_target_machine(cpu={name!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "not a recognized processor" not in done.stderr


ANSWERS = """
import importlib, platform, sys
import numpy as np
from dfcmodel import Fluid, Packets, PathOptions, coexist, simulate, takano2006
from hopflow.kernels import native
from markov import PauseTandem, stationary
from responsefn import CUBIC, Reno, Vegas

for package in ("dfcmodel", "responsefn", "markov"):
    for ask in importlib.import_module(f"{package}.first_uses").short_calls().values():
        ask()
chain = takano2006("1")
print(*np.asarray(stationary(PauseTandem()).pi).tolist())
print(*simulate(chain, Packets(seed=1), duration=0.5).queued.mean(axis=0).tolist())
print(*coexist([Reno(), CUBIC()], rtt=0.04, bandwidth=2000.0, buffer=80, options=PathOptions(duration=20.0)).sent[:, -1].tolist())
print(*simulate(chain, Fluid(), duration=0.5).queued.mean(axis=0).tolist())
print(*CUBIC().rate(np.geomspace(1e-5, 0.1, 20), 0.1).tolist(), *Vegas().rate([1e-3, 1e-2], 0.1, bandwidth=1e3).tolist())
assert "numba" not in sys.modules
print(platform.machine(), native.level())
"""


@pytest.mark.slow
def test_arm64_has_the_answers_of_this_machine(tmp_path) -> None:
    """Object code is written here for arm64, and loaded by a Python for arm64: docs/compilation.md."""
    other = os.environ.get("HOPFLOW_ARM64_PYTHON")
    if other is None:
        pytest.skip("HOPFLOW_ARM64_PYTHON does not name a Python for arm64")
    for package in ("hopflow", "dfcmodel", "markov", "responsefn"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.zip"))
    environment = {"PYTHONPATH": str(tmp_path), "HOPFLOW_CACHE_DIR": str(tmp_path / "cache")}
    built = python("-m", "hopflow.kernels.build", "aarch64", env=environment, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    environment = {**os.environ, **environment}
    done = subprocess.run(
        [other, "-c", ANSWERS], capture_output=True, text=True, env=environment, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    *found, machine = done.stdout.splitlines()
    assert machine == "aarch64 aarch64"
    *expected, _ = printed_by("-c", ANSWERS, cwd=ROOT).splitlines()
    for own, given in zip(expected, found, strict=True):
        np.testing.assert_allclose(
            np.array(given.split(), float), np.array(own.split(), float), rtol=1e-9, atol=1e-14, err_msg=given
        )
    assert not list((tmp_path / "cache").glob("code/*"))
