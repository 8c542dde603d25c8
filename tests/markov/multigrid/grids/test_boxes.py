"""Boxes of cells: states that are moved apart, and what is refused."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from markov import ChainModel, PauseTandem, explore
from markov.multigrid.grids.boxes import Unsuitable
from tests.markov.multigrid.grids.conftest import grid_layout


def test_states_up_and_down_do_not_take_room_where_they_are_never_entered():
    model = PauseTandem(buffers=(20, 30), high_threshold=20, low_threshold=11)
    layout = grid_layout(model)
    assert layout.into[0].size == explore(model).chain.size
    assert layout.into[0].width == 2  # the TCP states
    assert layout.shift[:, 1].tolist() == [0, 0, 10, 10]  # down, from the tenth packet on


class Wide(ChainModel):
    """A queue and five switches of three positions."""

    class State(NamedTuple):
        n: int
        k: tuple[int, int, int, int, int]

    def space(self):
        return {"n": range(20), "k": (range(3),) * 5}

    def start(self):
        return self.State(0, (0, 0, 0, 0, 0))

    @staticmethod
    def rules(s):
        if s.n < 19:
            yield s._replace(n=s.n + 1), 1.0
        if s.n == 19:
            yield s._replace(n=18, k=(2, 2, 2, 2, 2)), 1.0


def test_a_cell_of_many_states_is_refused():
    with pytest.raises(Unsuitable, match="243 combinations: at most 64"):
        grid_layout(Wide())


def test_boxes_that_take_too_long_are_refused(monkeypatch):
    model = PauseTandem(buffers=(20, 30), high_threshold=15)
    monkeypatch.setattr("markov.multigrid.grids.boxes.ALLOWED_SECONDS", (1e-4, 5.0))
    monkeypatch.setattr("markov.multigrid.grids.boxes.STATE_SECONDS", 1e-9)
    with pytest.raises(
        Unsuitable, match=r"45 boxes of cells .* s to lay out: with .* states at most 0.0001 s"
    ):
        grid_layout.__wrapped__(model)


@pytest.mark.parametrize(
    ("levels", "buffers", "axes"),
    [(2, (20, 30), (0, 1)), (8, (20, 30), (0, 3, 1)), (32, (20, 30), (0, 3, 1))],
)
def test_rows_lie_along_cells_that_are_alike(levels, buffers, axes):
    """Every TCP state has a rate of its own, and losses halve it: by one level with two, by 16 with 32."""
    rates = tuple(range(levels, 0, -1))
    layout = grid_layout(PauseTandem(buffers=buffers, high_threshold=20, arrival_rates=rates))
    assert layout.axes == axes
    assert layout.into[0].width == (2 if levels == 2 else 1)
