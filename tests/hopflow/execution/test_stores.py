"""Stores: what was computed is there after an interruption, and is never mixed with something else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hopflow import Interrupted
from hopflow.execution.grids import Grid, Row
from hopflow.execution.stores import Store, _block
from hopflow.execution.sweeping import over_grid

ABOUT = {"model": "products"}
zarr = pytest.importorskip("zarr", reason="needs hopflow[scale]")
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


@pytest.fixture(params=ENDINGS, ids=[ending[1:] for ending in ENDINGS])
def store(request, tmp_path):
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
    with pytest.raises(
        ValueError, match=r"another sweep: b: \[0, 1, 2, 3\] there, \[0, 1, 2, 5\] "
    ):
        over_grid(wrong, other, about=ABOUT, store=store)
    with pytest.raises(ValueError, match=r"model: products there, sums here$"):
        over_grid(wrong, grid(), about={"model": "sums"}, store=store)
    turned = grid({"b": list(range(4)), "a": [1.0, 2.0, 3.0]})
    with pytest.raises(
        ValueError, match=r"dimensions in another order, give the parameters in it: a, b$"
    ):
        over_grid(wrong, turned, about=ABOUT, store=store)
    many = grid(values(b=range(100)))
    with pytest.raises(ValueError, match=r"100 values from 0 to 99 \(hash [0-9a-f]{16}\) here"):
        over_grid(wrong, many, about=ABOUT, store=store)
    assert wrong.computed == []


def test_other_files_are_left_alone(tmp_path):
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
        ((5,), (5,)),
        ((3000,), (1024,)),
        ((10, 3000), (1, 1024)),
        ((10, 100, 30), (1, 34, 30)),
        ((), ()),
    ],
    ids=str,
)
def test_blocks_are_consecutive_points(shape, block):
    assert _block(shape) == block


def test_values_that_are_no_numbers_are_texts(tmp_path):
    given = {"a": [None, (1, 2)], "b": ["x"]}
    points = Grid(given, lambda _: (1.0, 2.0))
    with over_grid(Products(), points, about=ABOUT, store=tmp_path / "found.zarr") as kept:
        assert kept["a"].values.tolist() == ["None", "(1, 2)"]
        assert kept["b"].values.tolist() == ["x"]


KILLED = """
import sys, time
from pathlib import Path
import hopflow.execution.stores as stores
from hopflow.execution.grids import Grid, Row
from hopflow.execution.sweeping import over_grid

stores.POINTS, stores.SECONDS_BETWEEN_WRITES = 16, 0.0
log = open(sys.argv[2], "a")

def slow(points):
    for a, b in points:
        time.sleep(0.001)
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
        process = subprocess.Popen(command)
        while process.poll() is None and (
            not log.exists() or len(log.read_text().split("\n")) < before + 60
        ):
            time.sleep(0.005)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        seen.append(len(log.read_text().split("\n")) - 1)
    subprocess.run(command, check=True)
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
import hopflow.execution.stores as stores
from hopflow.execution.grids import Grid, Row
from hopflow.execution.sweeping import over_grid

def rows(points):
    for x in points:
        yield Row({"x": (("place",), np.full(200, float(x)), {})}, {})

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
def test_memory_does_not_grow_with_the_points(tmp_path):
    """Four times the points, 1600 bytes of results each: 19 MB more would be kept, 40 bytes are."""
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, check=True
    )
    few, many = map(int, run.stdout.split())
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
