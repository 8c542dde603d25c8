"""Blocks of rows are apart, and threads that do them change no bit."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from hopflow.executing import cores
from markov.multigrid.grids.grids import Grid
from markov.multigrid.grids.loops import teams
from markov.multigrid.grids.loops.teams import Team
from tests.markov.multigrid.grids.conftest import TANDEM, finest, grid_layout, matrix_of


def three_axes():
    """Return a grid whose transitions lead to other rows along both of its first axes."""
    steps = [(1, -1, 0), (-1, 0, 1), (0, 1, -2), (0, 0, 1)]
    others, rows = np.zeros(4, dtype=np.int64), np.zeros((1, 4), dtype=np.int64)
    begin = np.array([0, 4])
    return Grid((9, 5, 4), 1, begin, np.array(steps), others, rows, np.zeros(45, dtype=np.int64))


@pytest.mark.parametrize("grid", [grid_layout(TANDEM).into[0], three_axes()], ids=["two", "three"])
def test_no_state_is_reached_from_two_blocks(blocks, grid):
    found = teams.row_blocks(grid)
    assert len(found.apart) == 2
    row = grid.shape[-1] * grid.width
    owners = np.repeat(np.arange(len(grid.row_kind)), row)
    ahead = set((grid.steps[:, :-1] @ grid.strides[:-1]).tolist())
    reached = []
    for span in found.apart:
        own = np.flatnonzero(np.isin(owners, range(*map(int, span))))
        reached.append({int(s) for step in {0, *ahead} for s in own + step})
    assert not reached[0] & reached[1]
    rows = sorted(n for span in (*found.apart, *found.between) for n in range(*map(int, span)))
    assert rows == list(range(len(grid.row_kind)))


def test_small_grids_and_those_of_one_row_are_one_block(monkeypatch):
    grid, _ = grid_layout(TANDEM).into
    assert teams.row_blocks(grid).apart == ((0, len(grid.row_kind)),)
    monkeypatch.setattr(teams, "LARGE", 1)  # rows are too few for transitions that lead so far
    assert teams.row_blocks(grid).apart == ((0, len(grid.row_kind)),)


def test_a_team_does_every_call_once_and_in_several_threads(monkeypatch):
    monkeypatch.setattr(teams, "cores", lambda: 2)
    names, both = set(), threading.Barrier(2, timeout=20.0)

    def call(n):
        if n < 2:
            both.wait()  # both threads have one of the first two
        names.add(threading.current_thread().name)
        return n * n

    with Team(2) as team:
        assert team.do([lambda n=n: call(n) for n in range(5)]) == [0, 1, 4, 9, 16]
    assert len(names) == 2


def test_there_are_never_more_threads_than_cores(monkeypatch):
    assert Team(10**6).threads <= cores()
    monkeypatch.setattr(teams, "cores", lambda: 1)
    assert Team().threads == 1


def test_after_ctrl_c_nothing_goes_on(monkeypatch):
    monkeypatch.setattr(teams, "cores", lambda: 2)
    done, begun = [], threading.Event()

    def other():
        begun.set()
        time.sleep(0.05)
        done.append(1)

    def interrupted():
        begun.wait(20.0)
        raise KeyboardInterrupt

    def first():  # the main thread is the one that Ctrl-C reaches
        (interrupted if threading.current_thread() is threading.main_thread() else other)()

    with Team(2) as team, pytest.raises(KeyboardInterrupt):
        team.do([first, first, lambda: done.append(2)])
    assert done == [1]


def test_a_sweep_by_blocks_is_gauss_seidel_in_their_order(plain, blocks, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.levels.REPEATS", 1)
    layout = grid_layout(TANDEM)
    x = np.random.default_rng(3).random(layout.into[0].size)
    expected, level = x.copy(), finest(x)
    inflow = matrix_of(*layout.into).toarray()
    out = matrix_of(*layout.out).toarray().sum(axis=1)
    row = layout.into[0].shape[-1] * layout.into[0].width
    spans = (*level.blocks.apart, *level.blocks.between)
    assert len(spans) == 3
    for s in (s for a, b in spans for s in range(int(a) * row, int(b) * row)):
        expected[s] = inflow[s] @ expected / out[s] if out[s] else 0.0
    level.forward()
    assert x == pytest.approx(expected, rel=1e-12)
