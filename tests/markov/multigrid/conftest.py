"""Small chains on grids, whose kernels run as plain Python; and random pause chains."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov import GTH, ChainModel, PauseChain, PauseTandem, stationary
from markov.generators.plain import Calls
from markov.generators.regions import find_regions
from markov.multigrid import levels
from markov.multigrid.grid import lay_out
from markov.multigrid.levels import Finest
from markov.multigrid.model import GridModel

TANDEM = PauseTandem(buffers=(7, 8), high_threshold=6, low_threshold=4)
MODELS = [PauseTandem(buffers=(7, 7), high_threshold=5, recovery="up"), TANDEM]
CHAIN = PauseChain(hops=2, buffers=(2, 8, 7), high_threshold=5)


class Batches(ChainModel):
    """A queue with arrivals of one or three packets, and a server that is on or off."""

    class State(NamedTuple):
        on: int
        n: int

    class Params(NamedTuple):
        ends: bool = False

    def space(self):
        return {"on": range(2), "n": range(-2, 14)}

    def start(self):
        return self.State(1, -2)

    @staticmethod
    def rules(s, q):
        if s.n < 11:
            yield s._replace(n=s.n + 3), 0.25
        if s.n < 13:
            yield s._replace(n=s.n + 1), 0.5
        if s.n > 0 and s.on:
            yield s._replace(n=s.n - 1), 2.0
        if s.n == 13 or (s.n > 0 and not q.ends):
            yield s._replace(on=1 - s.on), 0.5


def on_grid(pi, model=TANDEM):
    """Return numbers over the states that count as numbers over the grid."""
    places = grid_of(model).states
    x, begin = np.zeros(len(places.marks)), 0
    for _, indices in places.blocks():
        x[indices] = pi[begin : begin + len(indices)]
        begin += len(indices)
    return x


def finest(x, model=TANDEM):
    """Return the finest level of a model, for numbers over its grid."""
    layout = grid_of(model).layout
    return Finest(*layout.into, layout.combinations >= 0, x, unroll=False)


class Machines(ChainModel):
    """Machines that fail and are repaired, what they make, and a shop that is open or not: all rates by counts."""

    class State(NamedTuple):
        open: int
        up: int
        made: int

    class Params(NamedTuple):
        machines: int = 9
        room: int = 11

    def space(self):
        return {"open": range(2), "up": range(self.machines + 1), "made": range(self.room + 1)}

    def start(self):
        return self.State(1, 0, 0)

    @staticmethod
    def rules(s, q):
        if s.up < q.machines:
            yield s._replace(up=s.up + 1), (q.machines - s.up) * 0.7
            yield s._replace(up=s.up + 1), 0.1
        if s.up > 0:
            yield s._replace(up=s.up - 1), 0.11 * s.up
        if s.made < q.room:
            yield s._replace(made=s.made + 1), s.up / 3 + 0.2
        if s.made > 0 and s.open == 1:
            yield s._replace(made=s.made - 1), min(s.made, 4) * 0.8
            yield s._replace(open=0), 0.3 / (1 + s.made)
        if s.open == 0:
            yield s._replace(open=1), 0.05 * s.made * (s.made + 1) + 0.1


MACHINES = Machines()


@pytest.fixture
def plain(monkeypatch):
    """Run the kernels as plain Python: unsigned numbers wrap, which NumPy reports."""
    for module in ("levels", "model", "proofs"):
        monkeypatch.setattr(f"markov.multigrid.{module}.bound_kernel", run_interpreted)
    with np.errstate(over="ignore"):
        yield


@pytest.fixture
def interpreted(monkeypatch):
    """Run the kernels of levels as plain Python, with statements spliced in."""
    monkeypatch.setattr(levels, "bound_kernel", run_interpreted)
    with np.errstate(over="ignore"):
        yield


def run_interpreted(kernel, *arguments, helpers=(), **snippets):
    """Return a call of a template as plain Python."""
    function = make_kernel(kernel, helpers=helpers, snippets=snippets, compiled=False)
    return lambda: function(*arguments)


@pytest.fixture
def blocks(monkeypatch):
    """Divide the rows of small grids into two blocks; return what sets the least size of those that are."""

    def least(states):
        monkeypatch.setattr(levels, "MIN_DIVIDED_STATES", states)

    monkeypatch.setattr(levels, "BLOCKS", 2)
    monkeypatch.setattr(levels, "MIN_BLOCK_RATIO", 0)
    least(1)
    return least


@pytest.fixture
def small(monkeypatch, plain):
    """Several levels on chains of a few hundred states."""
    for module in ("solver", "proofs"):
        monkeypatch.setattr(f"markov.multigrid.{module}.COARSEST_LEVEL_STATES", 20)


@cache
def grid_layout(model):
    """Return a model's layout, without looking which states count."""
    space = model._space
    regions = find_regions(Calls(model, space), space, 2000)
    start = space.codes([model.start()])[:, 0].tolist()
    return lay_out(regions, space.low, space.shape, start)


@cache
def grid_of(model):
    """Return a model on its grid."""
    return GridModel(model)


@cache
def exact(model):
    """Return the stationary vector by elimination, right in every digit, and the chain."""
    answer = stationary(model, GTH())
    return answer.pi, answer.chain


def matrix_of(grid, rates=None):
    """Return the entries of a grid as a matrix: one row for each state."""
    kinds = grid.rows[grid.row_kind].ravel()
    rows, columns, values = [], [], []
    for cell, (kind, place) in enumerate(zip(kinds.tolist(), np.ndindex(*grid.shape), strict=True)):
        rate = None if rates is None else rates.at_cell(place)[0]
        for slot in range(grid.width):
            k = kind * grid.width + slot
            s = cell * grid.width + slot
            for e in range(grid.begin[k], grid.begin[k + 1]):
                rows.append(s)
                columns.append(s + int(grid.step[e]))
                values.append(1.0 if rate is None else rate[e])
    return sp.csr_matrix((values, (rows, columns)), shape=(grid.size, grid.size))


def random_tandem(rng):
    """Return a pause tandem with thresholds anywhere, and rates over three decades."""

    def rate():
        return float(10.0 ** rng.uniform(-1.0, 2.0))

    buffers = rng.integers(20, 61, 2).tolist()
    high = int(rng.integers(1, buffers[1] + 1))
    low = int(rng.integers(1, high + 1)) if rng.random() < 0.5 else None
    return PauseTandem(
        buffers=tuple(buffers),
        high_threshold=high,
        low_threshold=low,
        link_rate=rate(),
        paused_rate=rate(),
        bottleneck_rate=rate(),
        arrival_rates=tuple(rate() for _ in range(int(rng.integers(1, 9)))),
        rtt=1.0 / rate(),
    )
