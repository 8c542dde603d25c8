"""Stores of sweeps, the grids in them, and fingerprints of the code that made them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, Scenario, all_to_all, links_from
from hopflow import Interrupted, sweep
from hopflow.sources import is_plain, source_of
from hopflow.sweeps.grid import Grid, Row, axis
from hopflow.sweeps.planning import over_grid
from hopflow.sweeps.store import Store, _block
from tests.surface import printed_by, python

ABOUT = {"model": "products"}
ENDINGS = (".zarr", ".nc")


def values(**changed):
    return {"a": [1.0, 2.0, 3.0], "b": list(range(4)), **changed}


def grid(given=None):
    return Grid(given or values(), lambda point: (point["a"], point["b"]))


class Products:
    """Counts what it computes; fails at one point."""

    def __init__(self, fails=None):
        self.fails, self.computed = fails, []

    def __call__(self, points):
        for a, b in points:
            if (a, b) == self.fails:
                raise ArithmeticError("no")
            self.computed.append((a, b))
            pair = np.array([a, b])
            yield Row(
                {"product": ((), a * b, {"units": "1"}), "both": (("which",), pair, {})},
                {"which": (("which",), np.array(["a", "b"]), {})},
            )


@pytest.fixture
def zarr():
    return pytest.importorskip("zarr", reason="needs hopflow[scale]")


@pytest.fixture(params=ENDINGS, ids=[ending[1:] for ending in ENDINGS])
def store(request, tmp_path, zarr):
    if request.param == ".nc":
        pytest.importorskip("h5netcdf", reason="needs hopflow[scale]")
    return tmp_path / f"found{request.param}"


def test_a_store_has_what_memory_would_have(store):
    direct = over_grid(Products(), grid(), about=ABOUT)
    with over_grid(Products(), grid(), about=ABOUT, store=store) as kept:
        assert list(kept.data_vars) == list(direct.data_vars)
        assert kept["product"].attrs == {"units": "1"}
        assert kept.attrs["model"] == "products"
        assert kept.load().equals(direct)


def test_what_is_done_is_not_computed_again(store):
    fails = Products(fails=(2.0, 1))
    with pytest.raises(ArithmeticError):
        over_grid(fails, grid(), about=ABOUT, store=store)
    assert len(fails.computed) == 5
    rest, again = Products(), Products()
    with over_grid(rest, grid(), about=ABOUT, store=store) as kept:
        assert kept.load().equals(over_grid(Products(), grid(), about=ABOUT))
    assert set(rest.computed) == set(grid()) - set(fails.computed)
    over_grid(again, grid(), about=ABOUT, store=store).close()
    assert again.computed == []


def test_a_store_of_something_else_is_refused_and_the_difference_named(store):
    over_grid(Products(), grid(), about=ABOUT, store=store).close()
    wrong = Products()
    other = grid(values(b=[0, 1, 2, 5]))
    with pytest.raises(ValueError, match=r"another sweep: b: \[0, 1, 2, 3\] there, \[0, 1, 2, 5\] "):
        over_grid(wrong, other, about=ABOUT, store=store)
    with pytest.raises(ValueError, match=r"model: products there, sums here$"):
        over_grid(wrong, grid(), about={"model": "sums"}, store=store)
    turned = grid({"b": list(range(4)), "a": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"dimensions in another order, give the parameters in it: a, b$"):
        over_grid(wrong, turned, about=ABOUT, store=store)
    many = grid(values(b=range(100)))
    with pytest.raises(ValueError, match=r"100 values from 0 to 99 \(hash [0-9a-f]{16}\) here"):
        over_grid(wrong, many, about=ABOUT, store=store)
    assert wrong.computed == []


def test_a_result_may_be_an_array_without_entries(store):
    def rows(points):
        for a, b in points:
            yield Row({"none": (("which",), np.zeros(0), {}), "product": ((), a * b, {})}, {})

    few = grid({"a": [1.0], "b": [2]})
    with over_grid(rows, few, about=ABOUT, store=store) as kept:
        assert kept["none"].shape == (1, 1, 0)
        assert kept["product"].values.tolist() == [[2.0]]


def test_other_files_are_left_alone(tmp_path, zarr):
    with pytest.raises(ValueError, match=r"found\.csv'.*must end with \.zarr or \.nc"):
        Store(tmp_path / "found.csv", grid(), ABOUT)
    folder = tmp_path / "notes.zarr"
    folder.mkdir()
    (folder / "note").write_text("mine")
    with pytest.raises(ValueError, match="no Zarr folder"):
        Store(folder, grid(), ABOUT)
    zarr.create_group(tmp_path / "other.zarr")
    with pytest.raises(ValueError, match="holds no sweep"):
        Store(tmp_path / "other.zarr", grid(), ABOUT)
    assert [path.name for path in folder.iterdir()] == ["note"]


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ((5,), (5,)), ((3000,), (1024,)), ((10, 3000), (1, 1024)), ((10, 100, 30), (1, 34, 30)), ((), ()),
    ],
    ids=str,
)  # fmt: skip
def test_blocks_are_consecutive_points(shape, block):
    assert _block(shape) == block


def test_values_that_are_no_numbers_are_texts_on_the_disk(tmp_path, zarr):
    given = {"a": [None, (1, 2)], "b": ["x"], "c": [0.5], "d": [3], "e": [2**70]}
    points = Grid(given, lambda _: (1.0, 2.0))
    with over_grid(Products(), points, about=ABOUT, store=tmp_path / "found.zarr") as kept:
        assert kept["a"].values.tolist() == [None, (1, 2)]
        assert kept["b"].values.tolist() == ["x"]
    import xarray as xr

    with xr.open_zarr(tmp_path / "found.zarr", consolidated=False) as written:
        assert written["a"].values.tolist() == ["None", "(1, 2)"]
        numbers = [written[name].values.tolist() for name in "bcde"]
        assert numbers == [["x"], [0.5], [3], [str(2**70)]]


KILLED = """
import sys
from pathlib import Path
import hopflow.sweeps.store as stores
from hopflow.sweeps.grid import Grid, Row
from hopflow.sweeps.planning import over_grid

stores.MAX_BLOCK_POINTS, stores.SECONDS_BETWEEN_WRITES = 16, 0.0
log = open(sys.argv[2], "a")

def slow(points):
    for n, (a, b) in enumerate(points):
        if n == 120:
            sys.stdin.read()  # waits to be killed, or continues at the end of its input
        print(a, b, file=log, flush=True)
        yield Row({"product": ((), a * b, {})}, {})

grid = Grid({"a": range(20), "b": range(20)}, lambda point: (point["a"], point["b"]))
over_grid(slow, grid, about={"model": "slow"}, store=sys.argv[1]).close()
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_written(store, tmp_path):
    """Killed three times at any moment; what is computed twice is at most what was not yet written."""
    log = tmp_path / "log"
    command = [sys.executable, "-c", KILLED, str(store), str(log)]
    seen = []
    for _ in range(3):
        before = len(log.read_text().split("\n")) if log.exists() else 0
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
        while process.poll() is None and (not log.exists() or len(log.read_text().split("\n")) < before + 60):
            time.sleep(0.005)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        seen.append(len(log.read_text().split("\n")) - 1)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    computed = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    assert len(set(computed)) == 400
    assert len(computed) <= 400 + 3 * 2  # each time a point in hand, and one being written
    import xarray as xr

    engine = "zarr" if store.suffix == ".zarr" else "h5netcdf"
    options = {"consolidated": False} if engine == "zarr" else {}
    with xr.open_dataset(store, engine=engine, **options) as kept:
        np.testing.assert_array_equal(kept["product"], np.outer(range(20), range(20)))
        assert "b" in json.loads(kept.attrs["sweep"])
    assert not Path(f"{store}.partial").exists()


MEMORY = """
import sys, tracemalloc
import numpy as np
import hopflow.sweeps.store as stores
from hopflow.sweeps.grid import Grid, Row
from hopflow.sweeps.planning import over_grid

def rows(points):
    for x in points:
        yield Row({"y": (("place",), np.full(200, float(x)), {})}, {})

def peak(points, folder):
    grid = Grid({"x": range(points)}, lambda point: point["x"])
    over_grid(rows, grid, about={}, store=f"{folder}/{points}.zarr").close()

peak(100, sys.argv[1])
peaks = []
for points in (4_000, 16_000):
    tracemalloc.start()
    peak(points, sys.argv[1])
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
print(*peaks)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_points(tmp_path, zarr):
    """Four times the points, 1600 bytes of results each: 19 MB more would be kept, 40 bytes are."""
    few, many = map(int, printed_by("-c", MEMORY, tmp_path).split())
    assert many - few < 12_000 * 150


def test_ctrl_c_names_the_store_and_the_same_call_goes_on(store):
    class Stopped(Products):
        def __call__(self, tasks):
            for n, row in enumerate(super().__call__(tasks)):
                if n == 1:
                    raise KeyboardInterrupt
                yield row

    stopped = Stopped()
    where = store.name + (".partial" if store.suffix == ".nc" else "")
    said = rf"of 12 points are in .*{where}; the same call computes the rest$"
    with pytest.raises(Interrupted, match=said):
        over_grid(stopped, grid(), about=ABOUT, store=store)
    with over_grid(Products(), grid(), about=ABOUT, store=store) as kept:
        assert kept.load().equals(over_grid(Products(), grid(), about=ABOUT))


# What is written is what was given: the same as in memory, or refused at the first value that cannot be stored.

POOL = {
    "int": lambda r: int(r.integers(-5, 5)),
    "float": lambda r: float(r.normal()),
    "nan": lambda r: float("nan"),
    "bool": lambda r: bool(r.integers(2)),
    "small": lambda r: np.float32(r.normal()),
    "byte": lambda r: np.uint8(r.integers(200)),
    "text": lambda r: "ä" * int(r.integers(0, 40)),
    "mixture": lambda r: [1, "one", None, 0.5][r.integers(4)],
    "huge": lambda r: 2 ** int(r.integers(50, 66)),
    "complex": lambda r: complex(r.normal(), 1.0),
    "array": lambda r: np.asarray(r.normal()),
    "object": lambda r: Path("a"),
    "list": lambda r: [1, 2],
}


class RandomRows:
    """Rows with a few names, each of one kind or of two; some names are missing at some points."""

    def __init__(self, seed: int) -> None:
        r = np.random.default_rng(seed)
        usual, kinds = list(POOL)[: 7 if seed % 2 else len(POOL)], {}
        for name in "abc"[: r.integers(1, 4)]:
            chosen = r.choice(usual, size=r.integers(1, 3), replace=False).tolist()
            kinds[name] = [*chosen, "missing"] if r.random() < 0.2 else chosen
        points = int(r.integers(2, 9)), int(r.integers(1, 4))
        self.values = {"x": list(range(points[0])), "y": list(range(points[1]))}
        self.rows = []
        for _ in range(points[0] * points[1]):
            drawn = {name: str(r.choice(several)) for name, several in kinds.items()}
            self.rows.append({n: POOL[kind](r) for n, kind in drawn.items() if kind != "missing"})
        self.computed: list[int] = []

    def __call__(self, numbers):
        for n in numbers:
            self.computed.append(n)
            yield Row({name: ((), value, {}) for name, value in self.rows[n].items()}, {})

    def sweep(self, store=None):
        width = len(self.values["y"])
        points = Grid(self.values, lambda point: point["x"] * width + point["y"])
        return over_grid(self, points, about=ABOUT, store=store)


def _check_random_rows(seed: int, store: Path) -> bool:
    """Return whether rows were stored; they are then as in memory, and otherwise refused at a point, before which all are kept."""
    rows = RandomRows(seed)
    try:
        with rows.sweep(store) as stored:
            direct = RandomRows(seed).sweep()
            assert stored.load().equals(direct)
            assert {n: v.dtype for n, v in stored.items()} == {n: v.dtype for n, v in direct.items()}
        with RandomRows(seed).sweep(store) as again:
            assert again.load().equals(direct)
        return True
    except ValueError as error:
        refusal = str(error)
    last = rows.computed[-1]
    x, y = divmod(last, len(rows.values["y"]))
    assert re.search(rf": [abc] at x = {x}, y = {y} is .*; the points before are kept$", refusal)
    further = RandomRows(seed)
    with pytest.raises(ValueError, match="the points before are kept"):
        further.sweep(store)
    assert further.computed == [last]
    return False


@pytest.mark.parametrize("seed", range(8))
def test_random_values_are_as_in_memory_or_refused_at_their_point(seed, store):
    _check_random_rows(seed, store)


@pytest.mark.slow
def test_two_hundred_sweeps_of_random_values(store, tmp_path):
    stored = [_check_random_rows(seed, tmp_path / f"{seed}{store.suffix}") for seed in range(200)]
    assert 50 < sum(stored) < 150


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1, "a"], "value at x = 1 is 'a': a store keeps numbers of at most 64 bits, truth values and texts, one of"),
        (["a", None], "value at x = 1 is None: a store keeps"),
        ([{"a": "b"}, {"b": 1}], "a at x = 1 is missing: only numbers may be, which are NaN there"),
        ([{"a": 1}, {"a": 1, "b": "c"}], "b at x = 1 is 'c': had no value at earlier points"),
        ([[1, 2], 3], r"value at x = 0 is \[1, 2\]: must be a single number or text; return a Dataset"),
        ([{"x": 2.0}, 1], "x at x = 0 is 2.0: x is a parameter of the sweep; give the result another name"),
        ([{"a/b": 2.0}, 1], "a/b at x = 0 is 2.0: the name of a result in a store must be a text: printable"),
        ([{".zattrs": 2.0}, 1], "the name of a result in a store must be a text"),
        ([{"_done": 2.0}, 1], "the name of a result in a store must be a text"),
        ([{3: 2.0}, 1], "3 at x = 0 is 2.0: the name of a result in a store must be a text"),
        ([2**63, -1], "value at x = 1 is -1: a store keeps"),
        ([2**70, 1], "value at x = 0 is 1180591620717411303424: a store keeps"),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_the_first_value_that_cannot_be_stored_is_named(rows, said, store):
    with pytest.raises(ValueError, match=f"^store = .*: .*{said}.*; the points before are kept$"):
        sweep(lambda x: rows[x], x=[0, 1], store=store)


def test_dimensions_and_coordinates_that_differ_are_refused_in_memory_too(store):
    import xarray as xr

    class Curve:
        def __init__(self, size, start):
            self.size, self.start = size, start

        def to_xarray(self):
            time = np.arange(self.size) + self.start
            return xr.Dataset({"rate": ("time", np.ones(self.size))}, {"time": time})

    for options in ({}, {"store": store}):
        with pytest.raises(
            ValueError,
            match=r"rate at x = 3 is .*: has the dimensions time: 3, at earlier points time: 2",
        ):
            sweep(lambda x: Curve(x, 0), x=[2, 3], **options)
        with pytest.raises(ValueError, match=r"time at y = 1 is .*: differs from the coordinate at earlier points"):
            sweep(lambda y: Curve(2, y), y=[0, 1], **{n: store.with_stem("y") for n in options})


def test_units_that_xarray_would_decode_stay_numbers(store):
    def rows(points):
        for a, b in points:
            yield Row(
                {
                    "wait": ((), a * b, {"units": "seconds"}),
                    "day": ((), 3, {"units": "days since 2000-01-01"}),
                },
                {},
            )

    direct = over_grid(rows, grid(), about=ABOUT)
    with over_grid(rows, grid(), about=ABOUT, store=store) as kept:
        assert kept.load().equals(direct)
        assert kept["wait"].attrs == direct["wait"].attrs


# A damaged store is named; it is never read as other numbers.


def _files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def _read_or_refused(store: Path, direct) -> bool:
    """Return whether a store was read, with the numbers that were written; otherwise the error names it."""
    try:
        with over_grid(Products(), grid(), about=ABOUT, store=store) as kept:
            assert kept.load().equals(direct)
            assert kept["product"].attrs == direct["product"].attrs
        return True
    except ValueError as error:
        refusal = str(error)
    assert refusal.startswith(f"store = {str(store)!r}: ")
    return False


@pytest.mark.parametrize("flips", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_no_flipped_bit_of_a_store_is_read_as_other_numbers(flips, store):
    direct = over_grid(Products(), grid(), about=ABOUT, store=store).load()
    direct.close()
    random = np.random.default_rng(flips)
    kinds = [kind for kind in ("product", "both", "_done", "which") for _ in range(flips // 8)]
    for kind in [*kinds, *["any"] * (flips - len(kinds))]:
        files = _files(store)
        chosen = [file for file in files if file.parent.name == kind] or files
        path = chosen[random.integers(len(chosen))]
        content = path.read_bytes()
        damaged = bytearray(content)
        damaged[random.integers(len(content))] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        read = _read_or_refused(store, direct)
        assert not (read and kind in ("product", "both") and store.suffix == ".zarr")
        path.write_bytes(content)
    assert _read_or_refused(store, direct)


def test_a_missing_file_of_a_store_is_not_read_as_nan(tmp_path, zarr):
    store = tmp_path / "found.zarr"
    direct = over_grid(Products(), grid(), about=ABOUT, store=store).load()
    for path in _files(store):
        content = path.read_bytes()
        for shorter in (None, b"", content[: len(content) // 2]):
            path.unlink() if shorter is None else path.write_bytes(shorter)
            read = _read_or_refused(store, direct)
            is_harmless = path.parent.name == "_done" and path.name.startswith(("0", ".checksums"))
            assert read == (
                is_harmless and shorter is None
            )  # without the marks computed again, without the record read
            path.write_bytes(content)
    (store / "product" / "0.0").unlink()
    said = r"product/0.0 is missing; without .*/_done/0.0 the same call computes its points again$"
    with pytest.raises(ValueError, match=said):
        over_grid(Products(), grid(), about=ABOUT, store=store)
    (store / "_done" / "0.0").unlink()
    assert _read_or_refused(store, direct)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_process_killed_while_it_replaces_an_array_leaves_the_old_one(tmp_path, zarr, monkeypatch, count):
    """Killed before the first, the second renaming, and not at all."""

    def rows(points, last=0.5):
        for a, b in points:
            yield Row({"n": ((), 1 if (a, b) != (2.0, 1) else last, {})}, {})

    few, usual = grid({"a": [1.0, 2.0], "b": [0, 1]}), Path.rename
    direct, store, renamed = over_grid(rows, few, about=ABOUT), tmp_path / "found.zarr", []

    def rename(path, target):
        if path.parent.name.endswith(".zarr.new") or path.parent.name.endswith(".zarr"):
            renamed.append(path)
            if len(renamed) == count:
                raise SystemExit
        return usual(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(Store, "__exit__", lambda *_: None)
    with contextlib.suppress(SystemExit):
        over_grid(rows, few, about=ABOUT, store=store).close()
    monkeypatch.undo()
    assert len(renamed) == min(count, 2)
    with over_grid(rows, few, about=ABOUT, store=store) as kept:
        assert kept.load().equals(direct)
    assert list(tmp_path.iterdir()) == [store]


STOPPED = """
import os, signal, sys
from hopflow import sweep

def square(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return x * x

sweep(square, x=range(5), store=sys.argv[1])
"""


def test_ctrl_c_of_a_script_prints_one_sentence(store):
    done = python("-c", STOPPED, store)
    assert done.returncode != 0
    where = store.name + (".partial" if store.suffix == ".nc" else "")
    assert re.fullmatch(
        rf"hopflow.Interrupted: 3 of 5 points are in .*{where}; the same call computes the rest\n",
        done.stderr,
    )


FULL = """
import resource, sys
import numpy as np
from hopflow import sweep

def rows(x):
    return 0.0 if x < 512 else float(np.random.default_rng(x).random())  # 2 kB in a chunk

import zarr
import hopflow.sweeps.store as stores
stores.MAX_BLOCK_POINTS = 256
usual = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1800, usual[1]))
try:
    sweep(rows, x=range(1000), store=sys.argv[1])
except OSError:
    print(zarr.open(sys.argv[1], mode="r")["_done"][:].sum())
resource.setrlimit(resource.RLIMIT_FSIZE, usual)
data = sweep(rows, x=range(1000), store=sys.argv[1])
print(data.equals(sweep(rows, x=range(1000))))
"""


def test_a_full_disk_leaves_the_points_before(tmp_path, zarr):
    assert printed_by("-c", FULL, tmp_path / "found.zarr").split() == ["512", "True"]


# Functions over grids of values: every result in its place, whatever the order; points, coordinates, what is refused.


def test_every_result_is_in_its_place():
    with ThreadPoolExecutor(2) as pool:
        found = over_grid(Products(), grid(), about={"what": "products"}, executor=pool)
    assert found.attrs == {"what": "products"}
    assert found["product"].dims == ("a", "b")
    assert found["both"].dims == ("a", "b", "which")
    assert found["which"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["product"], np.outer([1.0, 2.0, 3.0], range(4)))
    assert found["both"].sel(a=3.0, b=2, which="b") == 2.0
    assert found.identical(over_grid(Products(), grid(), about={"what": "products"}))


def test_complete_points_outlive_ctrl_c():
    def interrupted(points):
        for a, b in points:
            if (a, b) == (2.0, 1):
                raise KeyboardInterrupt
            yield Row({"product": ((), a * b, {}), "name": ((), f"{a} {b}", {})}, {})

    with pytest.raises(Interrupted, match="5 of 12 points complete") as error:
        over_grid(interrupted, grid(), about={})
    kept = error.value.result
    assert kept["product"].values.ravel().tolist()[:5] == [0.0, 1.0, 2.0, 3.0, 0.0]
    assert kept["product"].isnull().sum() == 7
    assert kept["name"].values.ravel().tolist()[4:6] == ["2.0 0", None]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"executor": 2}, "^executor = 2: must be an Executor of concurrent.futures"),
        ({"store": 3}, "^store = 3: must be a path that ends in .zarr or .nc"),
    ],
)
def test_what_is_no_executor_and_no_path_is_refused(given, said):
    with pytest.raises(TypeError, match=said):
        over_grid(Products(), grid(), about={}, **given)


def test_points_are_in_order_the_last_name_fastest():
    points = grid()
    assert len(points) == 12
    assert list(points)[:5] == [(1.0, 0), (1.0, 1), (1.0, 2), (1.0, 3), (2.0, 0)]
    assert points[11] == (3.0, 3)
    assert list(Grid({}, lambda point: point)) == [{}]


@pytest.mark.parametrize(
    ("values", "said"),
    [(2.0, r"^a = 2\.0: values to sweep"), ("12", "^a = '12'"), ([], r"^a = \[\]: at least one")],
)
def test_what_is_no_list_of_values_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        Grid({"a": values}, dict)


def test_coordinates():
    assert axis([1, 2.5]) == [1, 2.5]
    assert axis(["a"]) == ["a"]
    assert axis([(1, 2), None]).dtype == object
    assert axis([1, "all"]).tolist() == [1, "all"]  # no numbers as strings
    units = Grid({"a": [1.0], "b": [2]}, dict, {"a": "s"}).coords()
    assert units == {"a": ("a", [1.0], {"units": "s"}), "b": ("b", [2], {})}


# Fingerprints of code: they change with the code that makes a result, and with nothing else.


MODULE = """
from typing import NamedTuple

from dfcmodel import Flow, Scenario, dumbbell
from markov import explore
from responsefn import WindowRule

LIMIT = 20
TABLE = {"rate": 1000.0}


class Base(WindowRule):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=s.cwnd * half())


class Mine(Base):
    class Params(NamedTuple):
        a: float = 1.0


def half():
    return 0.5  # of the window


def scenario(buffer=LIMIT):
    links = dumbbell(1, rate=TABLE["rate"], delay=0.01, access_rate=1e5, access_delay=1e-3, buffer=buffer)
    return Scenario("one", links, [Flow("f", ("s1", "left", "right", "d1"), Mine())], duration=0.5)


def moves(s, q):
    if s.n < LIMIT:
        yield s._replace(n=s.n + 1), q.up
    if s.n:
        yield s._replace(n=s.n - 1), 3.0 * q.up


def chain():
    return explore(moves, start={"n": 0}, params={"up": 1.0})


def unused():
    return 3
"""
THINGS = ("scenario", "Mine", "called", "rule", "chain")
CHANGES = {
    "a method": ("q.a / s.cwnd", "2.0 * q.a / s.cwnd", {"scenario", "Mine", "called", "rule"}),
    "a function that a method calls": (
        "return 0.5",
        "return 0.7",
        {"scenario", "Mine", "called", "rule"},
    ),
    "a parameter's default": ("a: float = 1.0", "a: float = 2.0", set(THINGS) - {"chain"}),
    "a constant": ("LIMIT = 20", "LIMIT = 21", {"scenario", "called", "chain"}),
    "a table": ("1000.0}", "1001.0}", {"scenario", "called"}),
    "a comment": ("# of the window", "# of it", set()),
    "a function that is not called": ("return 3", "return 4", set()),
    "rates of a chain": ("3.0 * q.up", "4.0 * q.up", {"chain"}),
}


def loaded(text: str, folder) -> dict[str, Any]:
    file = folder / f"own_models_{hash(text)}.py"
    file.write_text(text)
    space = {"__name__": "own_models", "__file__": str(file)}
    exec(compile(text, str(file), "exec"), space)  # noqa: S102
    return space


def fingerprints(text: str, folder) -> dict[str, str]:
    space = loaded(text, folder)
    made = {
        "called": space["scenario"](),
        "rule": space["Mine"](),
        "chain": space["chain"]().chain.model,
    }
    return {name: source_of(made.get(name, space.get(name))) for name in THINGS}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_source_is_noticed_where_it_is_used(what, tmp_path) -> None:
    old, new, where = CHANGES[what]
    assert MODULE.count(old) == 1
    before = fingerprints(MODULE, tmp_path)
    after = fingerprints(MODULE.replace(old, new), tmp_path)
    assert {name for name in THINGS if before[name] != after[name]} == where


def test_what_has_the_same_source_has_the_same_fingerprint(tmp_path) -> None:
    from markov import PauseTandem

    assert fingerprints(MODULE, tmp_path) == fingerprints(MODULE, tmp_path)
    assert source_of(PauseTandem) == source_of(PauseTandem)
    assert source_of(PauseTandem).startswith("PauseTandem ")
    assert source_of(PauseTandem()) != source_of(PauseTandem(rtt=2.0))


def test_a_store_of_another_rule_is_refused(tmp_path, zarr) -> None:
    def swept(text: str) -> object:
        store = tmp_path / "found.zarr"
        return sweep(loaded(text, tmp_path)["scenario"], buffer=[5], levels="packets", store=store)

    first = swept(MODULE)
    assert swept(MODULE).equals(first)
    with pytest.raises(
        ValueError,
        match=r"is of another sweep: the code of scenario, or a function, class or constant that it leads to, has changed",
    ):
        swept(MODULE.replace("return 0.5", "return 0.7"))


def test_other_values_are_not_taken_for_other_code(tmp_path, zarr) -> None:
    """Texts, numbers and seeds of a call are named as what they are; objects among them lead to code."""
    scenario = loaded(MODULE, tmp_path)["scenario"]

    def swept(**given: object) -> object:
        options = {"buffer": [5], "seed": 1, **given}
        return sweep(scenario, levels="packets", store=tmp_path / "found.zarr", **options)

    swept()
    with pytest.raises(ValueError, match=r"another sweep: buffer: \[5\] there, \[6\] here; sweep further"):
        swept(buffer=[6])
    with pytest.raises(ValueError, match=r"another sweep: seed: 1 there, 2 here$"):
        swept(seed=2)
    assert is_plain([(5, 20), ("5pkt", None)])
    assert not is_plain([(5, loaded)])


def test_columns_of_flows_and_links_are_read() -> None:
    def ring(rate: float, sizes: int) -> Scenario:
        links = links_from([1, 2, 3], [2, 3, 1], rate=rate, delay=1e-3, buffer=50)
        flows = all_to_all((1, 2, 3), sizes=sizes, source=CBR(100.0), links=links)
        return Scenario("ring", links, flows, duration=1.0)

    cases = [(1e4, 10), (1e4, 10), (1e4, 11), (2e4, 10)]
    found = [source_of(ring(*case)) for case in cases]
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_values_of_arrays_and_tables_are_read() -> None:
    import pandas as pd

    for make in (np.array, pd.Series, lambda values: np.array([*values, None])):
        assert source_of(abs, make([1.0, 2.0])) == source_of(abs, make([1.0, 2.0]))
        assert source_of(abs, make([1.0, 2.0])) != source_of(abs, make([1.0, 3.0]))


def test_an_array_in_the_place_of_another_is_refused(tmp_path, zarr):
    """Each of the folders, copied over each other one."""
    path = tmp_path / "s.zarr"
    points = Grid({"x": [1, 2, 3], "y": [1, 2, 3]}, dict)

    def rows(tasks):
        for task in tasks:
            yield Row({"z": ((), float(task["x"]), {}), "w": ((), float(task["y"]), {})}, {})

    over_grid(rows, points, about={}, store=path).close()
    folders = [folder for folder in path.iterdir() if folder.is_dir()]
    assert len(folders) == 5
    for source, target in itertools.permutations(folders, 2):
        copy = tmp_path / "copy.zarr"
        shutil.copytree(path, copy)
        shutil.rmtree(copy / target.name)
        shutil.copytree(source, copy / target.name)
        with pytest.raises(
            ValueError, match=rf"copy\.zarr/{target.name}/\.zattrs has no right checksum: it is damaged"
        ):
            over_grid(rows, points, about={}, store=copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("kind", ["arrays", "blocks", "coordinates"])
def test_a_chunk_in_the_place_of_another_is_refused(tmp_path, zarr, kind):
    """Chunks of one shape, each with a right checksum, exchanged between arrays, blocks and coordinates."""
    path, points = tmp_path / "s.zarr", Grid({"x": list(range(2048))}, dict)

    def rows(tasks):
        for task in tasks:
            x = float(task["x"])
            names = {name: (("which",), np.array(texts), {}) for name, texts in (("n", ["a", "b"]), ("m", ["c", "d"]))}
            yield Row({"z": ((), x, {}), "w": ((), -x, {}), "v": (("which",), np.array([x, 1.0]), {})}, names)

    with over_grid(rows, points, about={}, store=path) as direct:
        direct.load()
    first, second = {
        "arrays": (path / "z" / "0", path / "w" / "0"),
        "blocks": (path / "z" / "0", path / "z" / "1"),
        "coordinates": (path / "n" / "0", path / "m" / "0"),
    }[kind]
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    with pytest.raises(ValueError, match=rf"s\.zarr/{first.parent.name}/0 is not the file that was written there"):
        over_grid(rows, points, about={}, store=path)
    first.write_bytes(contents[0])
    second.write_bytes(contents[1])
    with over_grid(rows, points, about={}, store=path) as restored:
        assert restored.load().equals(direct)


WRITER = """
import sys
from hopflow.sweeps.grid import Grid, Row
from hopflow.sweeps.planning import over_grid


def rows(tasks):
    for task in tasks:
        print("writes", flush=True)
        sys.stdin.readline()
        yield Row({"z": ((), float(task["x"]), {})}, {})


over_grid(rows, Grid({"x": [1.0, 2.0]}, dict), about={}, store=sys.argv[1])
"""


def test_a_second_process_is_refused_and_the_first_is_named(tmp_path, zarr):
    path = tmp_path / "s.zarr"
    points = Grid({"x": [1.0, 2.0]}, dict)

    def rows(tasks):
        for task in tasks:
            with pytest.raises(ValueError, match=rf"process {os.getpid()}, this one, writes to it"):
                over_grid(rows, points, about={}, store=path)
            yield Row({"z": ((), float(task["x"]), {})}, {})

    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "writes\n"
        with pytest.raises(
            ValueError, match=rf"s\.zarr': process {first.pid} on .* writes to it; one process at a time"
        ):
            over_grid(rows, points, about={}, store=path)
        first.kill()
    with over_grid(rows, points, about={}, store=path) as data:  # a killed process holds no lock
        assert data.z.to_numpy().tolist() == [1.0, 2.0]
    assert not path.with_name("s.zarr.lock").exists()


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="needs a folder that cannot be written")
def test_a_complete_file_is_read_in_a_folder_that_cannot_be_written(tmp_path, zarr):
    path = tmp_path / "s.nc"
    points = Grid({"x": [1.0, 2.0]}, dict)

    def rows(tasks):
        for task in tasks:
            yield Row({"z": ((), float(task["x"]), {})}, {})

    over_grid(rows, points, about={}, store=path).close()
    tmp_path.chmod(0o500)
    try:
        with over_grid(rows, points, about={}, store=path) as data:
            assert data.z.to_numpy().tolist() == [1.0, 2.0]
    finally:
        tmp_path.chmod(0o700)
