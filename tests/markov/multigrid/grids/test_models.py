"""What can be laid out on a grid, what is refused, and why."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from markov import ChainModel, Cluster, MatrixFree, PauseTandem, stationary
from markov.errors import RuleError, TooLargeError
from markov.multigrid.grids.boxes import Unsuitable
from markov.multigrid.grids.methods import is_numbered
from markov.multigrid.grids.models import GridModel
from tests.markov.multigrid.grids.conftest import TANDEM, Batches, grid_of


class Served(Batches):
    """The rate grows with the number in the system."""

    @staticmethod
    def rules(s):
        if s.n < 13:
            yield s._replace(n=s.n + 1), 0.5
        if s.n > -2:
            yield s._replace(n=s.n - 1), 0.1 * (s.n + 2) ** 1.5


class Shared(ChainModel):
    """Two classes of packets in one buffer."""

    class State(NamedTuple):
        high: int
        low: int

    def space(self):
        return {"high": range(20), "low": range(20)}

    @staticmethod
    def rules(s):
        if s.high + s.low < 19:
            yield s._replace(high=s.high + 1), 0.4
            yield s._replace(low=s.low + 1), 0.5
        if s.high > 0:
            yield s._replace(high=s.high - 1), 1.0
        elif s.low > 0:
            yield s._replace(low=s.low - 1), 1.0


class Named(ChainModel):
    """A component with names."""

    class State(NamedTuple):
        on: str

    def space(self):
        return {"on": ["yes", "no"]}


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Served(), "not alike on few boxes"),
        (Shared(), "a condition on a sum"),
        (Named(), "no space.. of whole numbers"),
        (Cluster(), "not alike on few boxes"),
    ],
    ids=["rates by count", "one buffer", "names", "counts"],
)
def test_what_cannot_be_laid_out_is_refused_with_a_reason(model, why, monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.models.REGIONS", (10, 10))
    with pytest.raises(Unsuitable, match=why):
        GridModel(model)
    with pytest.raises(ValueError, match=rf"write Multilevel\(\): .*{why}"):
        stationary(model, MatrixFree())


def test_a_chain_that_stays_where_it_starts_is_refused():
    class Still(Batches):
        @staticmethod
        def rules(s):
            if s.n < 13:
                yield s._replace(n=s.n + 1), 0.5 * (s.n + 2)

        def start(self):
            return self.State(0, -2)

    with pytest.raises(Unsuitable, match="does not leave the state that it starts in"):
        GridModel(Still())


def test_a_chain_that_ends_in_one_state_is_refused(plain):
    class Growing(Batches):
        @staticmethod
        def rules(s):
            if s.n < 13:
                yield s._replace(n=s.n + 1), 0.5

        def start(self):
            return self.State(0, -2)

    with pytest.raises(Unsuitable, match="ends in one state"):
        GridModel(Growing())


def test_a_start_outside_of_the_space_is_refused():
    class Outside(Batches):
        def start(self):
            return self.State(5, 0)

    with pytest.raises(RuleError, match="start = "):
        GridModel(Outside())


def test_memory_is_predicted_before_it_is_taken(monkeypatch):
    model = PauseTandem(buffers=(2_000, 2_500), high_threshold=900)
    monkeypatch.setattr("markov.computing.memory.available", lambda: 1.2e8)
    with pytest.raises(TooLargeError, match="on a grid of 1001") as caught:
        GridModel(model)
    assert 16.0 < caught.value.predicted / 1e7 < 18.0


def test_a_space_too_large_for_any_method_is_refused_with_what_would_fit(monkeypatch):
    monkeypatch.setattr("markov.multigrid.grids.models.available", lambda: 1.9e9)
    large = PauseTandem(buffers=(30_000, 60_000), high_threshold=45_000)
    said = (
        r"7200360004 states, and MatrixFree\(\) takes at most.* 1e\+08 fit into the 1.9e\+09 bytes"
    )
    with pytest.raises(ValueError, match=said) as caught:
        stationary(large, MatrixFree())
    assert "Multilevel" not in str(caught.value)


def test_a_bound_takes_more_memory_than_a_solution(plain):
    grid = grid_of(TANDEM)
    assert grid.predicted(proof=True) > grid.predicted(proof=False) + grid.places.size


def test_a_rule_that_is_something_else_for_real_states_is_found(monkeypatch, plain):
    monkeypatch.setattr("markov.multigrid.grids.models.difference", lambda *_: "other targets")
    with pytest.raises(Unsuitable, match=r"State\(.*: other targets"):
        GridModel(TANDEM)


def test_components_with_ranges_are_numbered():
    assert is_numbered(TANDEM)
    assert not is_numbered(Named())
