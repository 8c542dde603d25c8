"""MatrixFree: answers, states that count, bounds, checkpoints, and cycles without a matrix."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hopflow import NotSolvedError, Status
from markov import (
    MM1K,
    ChainModel,
    Cluster,
    MarkovChain,
    MatrixFree,
    Multilevel,
    PauseChain,
    PauseTandem,
    explore,
    stationary,
)
from markov.computing.resources import watch_residuals
from markov.errors import TooLargeError
from markov.methods.choice import grid_pays
from markov.models.measures import measures_of
from markov.multigrid.cycle import StoppingRule
from markov.multigrid.grid import Unsuitable
from markov.multigrid.levels import SOURCE_RATE
from markov.multigrid.matrix_free import is_numbered
from markov.multigrid.model import RECURRENT, GridChain, GridModel
from markov.multigrid.solver import Checkpoint, Multigrid, checkpoint_of
from tests.markov.multigrid.conftest import (
    MACHINES,
    MODELS,
    TANDEM,
    Batches,
    Machines,
    exact,
    grid_of,
    matrix_of,
    on_grid,
    random_tandem,
)
from tests.surface import HANG

# `MatrixFree` by `stationary`: the answers of other methods, at sizes up to what tests allow.


def test_an_answer_is_that_of_elimination_with_a_bound(small):
    answer = stationary(TANDEM, MatrixFree(), proof="tight")
    pi, chain = exact(TANDEM)
    assert answer.status is Status.CONVERGED
    assert 0.5 * np.abs(answer.pi - pi).sum() <= answer.error_bound < 1e-11
    assert answer.reason == "requested by the caller"
    assert answer.history[-1][0] == answer.iterations
    assert answer.levels[0][0] == chain.size
    assert answer.throughput == pytest.approx(stationary(chain).throughput, rel=1e-11)


@pytest.mark.parametrize(
    "model",
    [
        PauseChain(hops=3, buffers=(3, 3, 3, 3), high_threshold=2),
        PauseChain(hops=3, buffers=(3, 4, 3, 4), high_threshold=3, low_threshold=2),
    ],
    ids=["one threshold", "two"],
)
def test_three_hops_are_those_of_elimination(model):
    """Four axes, and three links whose states are moved apart along one each."""
    answer = stationary(model, MatrixFree())
    pi, chain = exact(model)
    assert answer.chain.size == chain.size
    assert 0.5 * np.abs(answer.pi - pi).sum() <= answer.error_bound < 1e-9
    assert answer["loss_rate"] == pytest.approx(stationary(chain)["loss_rate"], rel=1e-9)


def test_rates_by_counts_are_those_of_elimination_with_a_bound(small):
    answer = stationary(MACHINES, MatrixFree())
    pi, chain = exact(MACHINES)
    assert answer.status is Status.CONVERGED
    assert 0.5 * np.abs(answer.pi - pi).sum() <= answer.error_bound < 1e-8
    assert answer.chain.size == chain.size
    assert answer.iterations <= 40


def test_transient_states_have_probability_zero(small):
    model = Batches(ends=True)
    answer = stationary(model, MatrixFree(), proof=False)
    assert answer.status is Status.SOLVED
    assert answer.pi == pytest.approx(exact(model)[0], rel=1e-9)


@pytest.mark.parametrize("model", [TANDEM, MACHINES], ids=["tandem", "counts"])
def test_threads_do_not_change_a_bit(model, small, blocks, monkeypatch):
    monkeypatch.setattr("markov.multigrid.levels.cores", lambda: 2)
    alone, both = (stationary(model, MatrixFree(1e-5, threads=n)) for n in (1, 2))
    assert np.array_equal(alone.pi, both.pi)
    assert alone.error_bound == both.error_bound < 1e-2


def test_too_few_cycles_are_told(small):
    with pytest.raises(NotSolvedError) as caught:
        stationary(TANDEM, MatrixFree(max_iterations=2))
    assert caught.value.result.status is Status.INACCURATE
    assert caught.value.result.iterations == 2


def test_small_models_are_left_to_other_methods():
    assert not isinstance(stationary(TANDEM).method, MatrixFree)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        PauseTandem(buffers=(120, 241), high_threshold=180),
        PauseTandem(buffers=(120, 241), high_threshold=180, low_threshold=90, rtt=24.0),
        PauseChain(hops=2, buffers=(20, 30, 25), high_threshold=17),
        PauseTandem(buffers=(60, 61), high_threshold=40, arrival_rates=tuple(range(12, 0, -1))),
        PauseTandem(buffers=(40, 80), high_threshold=60, arrival_rates=tuple(range(32, 0, -1))),
        Cluster(workstations=40),
        Machines(machines=150, room=200),
    ],
    ids=repr,
)
def test_large_answers_are_those_of_multilevel(model):
    answer, other = stationary(model, MatrixFree()), stationary(model, Multilevel())
    assert answer.status is Status.CONVERGED
    assert answer.residual <= 1e-12
    distance = 0.5 * np.abs(answer.pi - other.pi).sum()
    assert distance <= answer.error_bound + other.error_bound


@pytest.mark.slow
def test_a_large_model_is_solved_without_a_matrix_by_itself():
    answer = stationary(PauseTandem(buffers=(520, 1001), high_threshold=750))
    assert isinstance(answer.method, MatrixFree)
    assert answer.status is Status.CONVERGED
    assert "Q" not in vars(answer.chain)
    assert answer.memory < 20 * answer.chain.size
    assert answer.memory == pytest.approx(answer.chain.grid_model.predicted_bytes(proof=True), rel=0.1)
    assert answer.throughput == pytest.approx(15.0, rel=1e-6)  # that of the last link


@pytest.mark.slow
def test_two_hundred_random_tandems_converge():
    rng = np.random.default_rng(20)
    cycles = []
    for number in range(200):
        model = random_tandem(rng)
        answer = stationary(model, MatrixFree(max_iterations=100), proof=False)
        assert answer.status is Status.SOLVED, model
        assert answer.residual <= 1e-12
        cycles.append(answer.iterations)
        if number % 10 == 0:
            bounded = stationary(model, MatrixFree(), on_failure="return")
            other = stationary(model, on_failure="return")
            distance = 0.5 * np.abs(bounded.pi - other.pi).sum()
            assert distance <= bounded.error_bound + other.error_bound, model
    assert np.median(cycles) <= 30


@pytest.mark.parametrize(
    ("model", "pays"),
    [
        (PauseTandem(buffers=(80, 160), high_threshold=120), True),
        (PauseTandem(buffers=(40, 80), high_threshold=60), False),  # a smaller space
        (MM1K(capacity=39_999), False),  # elimination of short transitions is as cheap
        (PauseTandem(buffers=(20_000, 40_000), high_threshold=30_000), False),  # too large
    ],
)
def test_spaces_from_30000_states_on_need_no_matrix_unless_elimination_is_as_cheap(model, pays):
    assert grid_pays(model) is pays


@pytest.mark.parametrize(
    ("imbalances", "cycles"),
    [
        ([9e3, 8e3, 7e3], 4),  # tails at the floor of float64 never settle
        ([2.8, 49.0, 11.3, 8.4, 2.4, 2.3, 10.0, 6.8], 16),
        ([1e5, 1e4, 9e3, 4e3, 3e3, 1.9], 10),
        ([1.9], 0),
    ],
)
def test_cycles_for_tails_end_when_they_settle_or_stagnate(small, imbalances, cycles):
    solver, remaining = levels(TANDEM), iter(imbalances)
    solver.finest.imbalance = lambda *_: next(remaining)
    assert solver.cycle_tails(0, 100, grid_of(TANDEM).states.marks) == cycles
    assert next(remaining, None) is None


# A chain without a matrix: the same states, classes and measures as with one.


def test_states_are_those_of_the_chain_with_a_matrix(plain):
    chain, other = GridChain(grid_of(TANDEM)), MarkovChain(TANDEM)
    for mine, theirs in zip(chain.states, other.states, strict=True):
        assert np.array_equal(mine, theirs)
    assert chain.size == other.size
    assert chain.transitions == other.transitions
    assert [chain.number_of((i, 0, 1, 1)) for i in range(3)] == [other.number_of((i, 0, 1, 1)) for i in range(3)]
    with pytest.raises(KeyError):
        chain.number_of((0, 0, 2, 1))  # down, with an empty second queue
    with pytest.raises(KeyError):
        chain.number_of((99, 0, 1, 1))


def test_a_matrix_is_made_when_it_is_asked_for(plain):
    chain = GridChain(grid_of(TANDEM))
    assert "Q" not in vars(chain)
    assert (abs(chain.Q - MarkovChain(TANDEM).Q) > 1e-12).nnz == 0
    assert "transitions" in repr(chain)


def test_measures_block_by_block_are_those_of_all_states(monkeypatch, plain):
    monkeypatch.setattr("markov.multigrid.model.BLOCK", 50)
    pi, whole = exact(TANDEM)
    chain = GridChain(grid_of(TANDEM))
    assert len(list(chain.state_blocks().blocks())) > 3
    found = measures_of(TANDEM, pi, chain.state_blocks())
    expected = measures_of(TANDEM, pi, whole.states)
    assert found.keys() == expected.keys()
    for name, (dims, value, about) in expected.items():
        assert found[name][0] == dims
        assert found[name][1] == pytest.approx(value, rel=1e-12)
        assert found[name][2] == about


def test_it_can_be_pickled(plain):
    chain = pickle.loads(pickle.dumps(GridChain(grid_of(TANDEM))))
    assert chain.size == exact(TANDEM)[1].size


# Which states count, and where they are, against the search state by state.


@pytest.mark.parametrize("model", [MODELS[0], Batches(), Batches(ends=True)], ids=repr)
def test_states_and_classes_are_those_of_the_search(model, plain):
    places = grid_of(model).states
    chain = explore(model, compiled=False).chain
    numbers = np.concatenate([found for found, _ in places.blocks()])
    assert np.array_equal(model._space.codes_of_numbers(numbers), chain._codes)
    assert places.size == chain.size
    assert places.transitions == chain.transitions
    recurrent = np.concatenate([found for found, _ in places.blocks(RECURRENT)])
    assert np.array_equal(np.searchsorted(numbers, recurrent), chain.recurrent_classes[0])


@pytest.mark.parametrize("room", [1, 100])
def test_states_that_are_followed_one_by_one_are_the_same(room, plain, monkeypatch):
    expected = grid_of(MODELS[0]).states.marks
    monkeypatch.setattr("markov.multigrid.model.MAX_PASSES", 1)
    monkeypatch.setattr("markov.multigrid.model.STACK_STATES", room)
    assert np.array_equal(GridModel(MODELS[0]).states.marks, expected)


def test_a_state_in_the_grid_is_found_by_its_number_and_back(plain):
    places = grid_of(MODELS[1]).states
    numbers, indices = next(places.blocks())
    assert np.array_equal(places.space.numbers(places.codes_at(indices)), numbers)


def test_numbers_over_the_grid_and_over_the_states(plain):
    places = grid_of(MODELS[0]).states
    pi = np.random.default_rng(1).random(places.size)
    x = on_grid(pi, MODELS[0])
    assert np.array_equal(places.gather(x), pi)
    assert x.sum() == pytest.approx(pi.sum(), rel=1e-14)


class Everywhere(Batches):
    """All states count."""

    start = ChainModel.start


def test_without_a_start_all_states_count(plain):
    assert GridModel(Everywhere()).states.size == Everywhere().space_size


# Cycles: convergence to the solution by elimination, combined iterates, memory.


def levels(model):
    layout = grid_of(model).layout
    n = layout.into[0].size
    return Multigrid(layout, np.full(n, 1.0 / n))


@pytest.mark.parametrize("model", MODELS[1:], ids=repr)
def test_every_probability_is_that_of_elimination(model, small):
    found = levels(model)
    assert len(found.levels) == 2
    with watch_residuals(1e-14) as history:
        cycles, residual = found.solve(StoppingRule(1e-14, 60))
    assert residual <= 1e-14
    assert history[-1] == (cycles, residual)
    pi = grid_of(model).states.gather(found.x)
    assert pi / pi.sum() == pytest.approx(exact(model)[0], rel=1e-11)


def test_sweeps_whose_iterates_are_combined_converge_sooner(small):
    alone, together = levels(TANDEM), levels(TANDEM)
    for _ in range(25):
        alone.finest.forward()
        together.finest.forward()
        together.combine(together.finest.residual()[0])
    assert together.finest.residual()[0] < 0.5 * alone.finest.residual()[0]


def test_it_goes_on_without_former_iterates_where_memory_is_short(small, monkeypatch):
    monkeypatch.setattr("markov.multigrid.solver.available", lambda: 0.0)
    found = levels(TANDEM)
    found.combine(1.0)
    assert found.history == []


def test_levels_by_which_nothing_is_gained_are_laid_out_narrower(small, monkeypatch):
    found = levels(TANDEM)
    cycle, sizes = found.cycle, found.sizes
    found.cycle = lambda: None if found.wide else cycle()
    cycles, residual = found.solve(StoppingRule(1e-10, 60))
    assert residual <= 1e-10
    assert 10 < cycles < 40
    assert found.sizes[1][0] > sizes[1][0]
    pi = grid_of(TANDEM).states.gather(found.x)
    assert pi / pi.sum() == pytest.approx(exact(TANDEM)[0], rel=1e-7)
    monkeypatch.setattr("markov.multigrid.solver.available", lambda: 0.0)
    alone = levels(TANDEM)
    alone.cycle = lambda: None
    assert alone.solve(StoppingRule(1e-10, 60))[0] < 40
    assert alone.wide


def test_its_table_of_levels_begins_with_the_chain(small):
    found = levels(TANDEM)
    assert found.sizes[0][0] == found.x.size
    assert [size for size, _ in found.sizes] == sorted((s for s, _ in found.sizes), reverse=True)
    assert found.nbytes > found.x.nbytes


LONG = PauseTandem(buffers=(4, 28), high_threshold=4, paused_rate=1e-12)  # 13 decades per packet


def test_states_without_probability_settle_and_all_levels_agree_on_them(small):
    """Where a chain would underflow what flows out is what flows in, and what always does."""
    found, marks, told = levels(LONG), grid_of(LONG).states.marks, []
    cycle, found.cycle = found.cycle, lambda: (told.append(1), cycle())
    assert found.cycle_tails(3, 4, marks) == 3
    assert found.cycle_tails(3, 60, marks) == 3 + len(told) > 3
    for _ in range(8):
        found.cycle()
    x, counts, layout = found.x, (marks & RECURRENT) > 0, grid_of(LONG).layout
    assert x[counts].min() < 1e-270
    out = found.finest.by_state(layout.into[1].exit_rate) * x
    surplus = out - matrix_of(*layout.into) @ x - SOURCE_RATE
    assert np.max(np.abs(surplus[counts]) / out[counts]) < 1e-2


# Long solutions that are interrupted go on from a file; a file of another chain is refused.


ROOT = Path(__file__).resolve().parents[3]


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

    monkeypatch.setattr("markov.multigrid.solver.Multigrid", Seen)
    path = tmp_path / "x.checkpoint"
    with pytest.raises(NotSolvedError):
        stationary(TANDEM, MatrixFree(max_iterations=3, checkpoint=path))
    stationary(TANDEM, MatrixFree(checkpoint=path))
    assert len(seen) == 2
    assert np.array_equal(*seen)


def test_without_a_path_nothing_is_kept():
    kept, x = checkpoint_of(None, grid_of(TANDEM)), np.ones(3)
    kept.load(x)
    kept.on_cycle(5, x)
    kept.save(x)
    kept.delete()
    assert kept.cycles == 0
    assert np.array_equal(x, np.ones(3))


def test_files_are_written_when_the_last_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr("markov.multigrid.solver.SECONDS_BETWEEN_FILES", 0.0)
    kept = Checkpoint(tmp_path / "x", grid_of(TANDEM))
    x, found = np.random.default_rng(2).random(kept.size), np.zeros(kept.size)
    kept.on_cycle(7, x)
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
import itertools
import signal
import sys
from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid import solver
signal.signal(signal.SIGINT, signal.default_int_handler)
cycle, count = solver.Multigrid.cycle, itertools.count(1)
def told(self):
    cycle(self)
    print("cycle", flush=True)
    if next(count) == int(sys.argv[2]):
        sys.stdin.readline()  # until the signal comes
solver.Multigrid.cycle = told
model = PauseTandem(buffers=(120, 241), high_threshold=180)
answer = stationary(model, MatrixFree(checkpoint=sys.argv[1]), proof=False)
print(answer.iterations, repr(float(answer.throughput)))
"""


@pytest.mark.slow  # processes that load compiled kernels
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_process_that_is_interrupted_goes_on(tmp_path):
    path = tmp_path / "x"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    process = subprocess.Popen([*command, "4"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(4):
        assert process.stdout.readline() == "cycle\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG)
    assert process.returncode != 0
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
    done = subprocess.run([*command, "0"], cwd=ROOT, capture_output=True, text=True, check=True)
    cycles, throughput = done.stdout.splitlines()[-1].split()
    model = PauseTandem(buffers=(120, 241), high_threshold=180)
    alone = stationary(model, MatrixFree(), proof=False)
    assert done.stdout.count("cycle") < int(cycles)  # some were those of the first process
    assert float(throughput) == pytest.approx(alone.throughput, rel=1e-11)
    assert list(tmp_path.iterdir()) == []


# What can be laid out on a grid, what is refused, and why.


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
    monkeypatch.setattr("markov.multigrid.model.REGIONS", (10, 10))
    with pytest.raises(Unsuitable, match=why):
        GridModel(model)
    with pytest.raises(ValueError, match=rf"write Multilevel\(\): .*{why}"):
        stationary(model, MatrixFree())


def test_memory_is_predicted_before_it_is_taken(monkeypatch):
    model = PauseTandem(buffers=(2_000, 2_500), high_threshold=900)
    monkeypatch.setattr("markov.computing.resources.available", lambda: 1.2e8)
    with pytest.raises(TooLargeError, match="on a grid of 1001") as caught:
        GridModel(model)
    assert 16.0 < caught.value.predicted / 1e7 < 18.0


def test_a_space_too_large_for_any_method_is_refused_with_what_would_fit(monkeypatch):
    monkeypatch.setattr("markov.multigrid.model.available", lambda: 1.9e9)
    large = PauseTandem(buffers=(30_000, 60_000), high_threshold=45_000)
    said = r"7200360004 states, and MatrixFree\(\) takes at most.* 1e\+08 fit into the 1.9e\+09 bytes"
    with pytest.raises(ValueError, match=said) as caught:
        stationary(large, MatrixFree())
    assert "Multilevel" not in str(caught.value)


def test_a_bound_takes_more_memory_than_a_solution(plain):
    grid = grid_of(TANDEM)
    assert grid.predicted_bytes(proof=True) > grid.predicted_bytes(proof=False) + grid.states.size


def test_components_with_ranges_are_numbered():
    assert is_numbered(TANDEM)
    assert not is_numbered(Named())
