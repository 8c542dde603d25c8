"""Long solutions that are interrupted go on from a file; a file of another chain is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hopflow import NotSolvedError
from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid.grids.checkpoints import Checkpoint, checkpoint_of
from markov.multigrid.grids.multigrid import Multigrid
from tests.markov.multigrid.grids.conftest import MODELS, TANDEM, exact, grid_of

ROOT = Path(__file__).resolve().parents[4]


def test_a_solution_goes_on_from_its_file(small, tmp_path):
    path = tmp_path / "x.checkpoint"
    with pytest.raises(NotSolvedError):
        stationary(TANDEM, MatrixFree(max_iterations=3, checkpoint=path))
    assert path.stat().st_size > 8 * exact(TANDEM)[1].size
    answer = stationary(TANDEM, MatrixFree(checkpoint=path))
    alone = stationary(TANDEM, MatrixFree())
    assert 3 < answer.iterations <= alone.iterations + 3
    assert answer.pi == pytest.approx(exact(TANDEM)[0], rel=1e-9)
    assert list(tmp_path.iterdir()) == []


def test_levels_are_laid_out_as_at_a_start_from_nothing(tmp_path, monkeypatch):
    # axes are joined where x has most flow: by that of a file they would be others, and cycles slow
    seen = []

    class Seen(Multigrid):
        def __init__(self, layout, x, team):
            seen.append(x.copy())
            super().__init__(layout, x, team)

    monkeypatch.setattr("markov.multigrid.grids.matrix_free.Multigrid", Seen)
    path = tmp_path / "x.checkpoint"
    with pytest.raises(NotSolvedError):
        stationary(TANDEM, MatrixFree(max_iterations=3, checkpoint=path))
    stationary(TANDEM, MatrixFree(checkpoint=path))
    assert len(seen) == 2
    assert np.array_equal(*seen)


def test_without_a_path_nothing_is_kept():
    kept, x = checkpoint_of(None, grid_of(TANDEM)), np.ones(3)
    kept.load(x)
    kept.passed(5, x)
    kept.save(x)
    kept.delete()
    assert kept.cycles == 0
    assert np.array_equal(x, np.ones(3))


def test_files_are_written_when_the_last_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.checkpoints.EVERY", 0.0)
    kept = Checkpoint(tmp_path / "x", grid_of(TANDEM))
    x, found = np.random.default_rng(2).random(kept.size), np.zeros(kept.size)
    kept.passed(7, x)
    again = Checkpoint(tmp_path / "x", grid_of(TANDEM))
    again.load(found)
    assert again.cycles == 7
    assert np.array_equal(found, x)


def test_other_files_are_refused_and_stay(tmp_path):
    path = tmp_path / "x"
    kept = Checkpoint(path, grid_of(TANDEM))
    kept.save(np.ones(kept.size))
    with pytest.raises(ValueError, match="of another chain"):
        Checkpoint(path, grid_of(MODELS[0]))
    faster = PauseTandem(**{**TANDEM.params._asdict(), "link_rate": 101.0})
    with pytest.raises(ValueError, match="other parameters"):
        Checkpoint(path, grid_of(faster))
    os.truncate(path, path.stat().st_size - 8)
    with pytest.raises(ValueError, match="not whole"):
        Checkpoint(path, grid_of(TANDEM))
    path.write_bytes(b"\x00\xff")
    with pytest.raises(ValueError, match="not a checkpoint"):
        Checkpoint(path, grid_of(TANDEM))
    assert path.read_bytes() == b"\x00\xff"
    with pytest.raises(ValueError, match="no such folder"):
        Checkpoint(tmp_path / "none" / "x", grid_of(TANDEM))
    with pytest.raises(TypeError, match="checkpoint = 3"):
        MatrixFree(checkpoint=3)


PROGRAM = """
import sys
import time
from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid.grids import checkpoints, multigrid
cycle = multigrid.Multigrid.cycle
def told(self):
    cycle(self)
    print("cycle", flush=True)
    time.sleep(float(sys.argv[2]))
multigrid.Multigrid.cycle = told
model = PauseTandem(buffers=(120, 241), high_threshold=180)
answer = stationary(model, MatrixFree(checkpoint=sys.argv[1]), proof=False)
print(answer.iterations, repr(float(answer.throughput)))
"""


@pytest.mark.slow  # processes that load compiled kernels
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_process_that_is_interrupted_goes_on(tmp_path):
    path = tmp_path / "x"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    process = subprocess.Popen([*command, "1"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(4):
        assert process.stdout.readline() == "cycle\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
    done = subprocess.run([*command, "0"], cwd=ROOT, capture_output=True, text=True, check=True)
    cycles, throughput = done.stdout.splitlines()[-1].split()
    model = PauseTandem(buffers=(120, 241), high_threshold=180)
    alone = stationary(model, MatrixFree(), proof=False)
    assert done.stdout.count("cycle") < int(cycles)  # some were those of the first process
    assert float(throughput) == pytest.approx(alone.throughput, rel=1e-11)
    assert list(tmp_path.iterdir()) == []
