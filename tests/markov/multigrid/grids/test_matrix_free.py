"""`MatrixFree` by `stationary`: the answers of other methods, at sizes up to what tests allow."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow import NotSolvedError, Status
from markov import (
    Cluster,
    MatrixFree,
    Multilevel,
    PauseChain,
    PauseTandem,
    generator,
    stationary,
    stationary_by_class,
)
from markov.multigrid.grids.matrix_free import grid_model
from tests.markov.multigrid.grids.conftest import (
    MACHINES,
    TANDEM,
    Batches,
    Machines,
    exact,
    random_tandem,
)
from tests.markov.multigrid.grids.test_places import Forks


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
    monkeypatch.setattr("markov.multigrid.grids.loops.teams.cores", lambda: 2)
    alone, both = (stationary(model, MatrixFree(1e-5, threads=n)) for n in (1, 2))
    assert np.array_equal(alone.pi, both.pi)
    assert alone.error_bound == both.error_bound < 1e-2


def test_too_few_cycles_are_told(small):
    with pytest.raises(NotSolvedError) as caught:
        stationary(TANDEM, MatrixFree(max_iterations=2))
    assert caught.value.result.status is Status.INACCURATE
    assert caught.value.result.iterations == 2


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iter"),
        ({"threads": 0}, "threads"),
    ],
)
def test_parameters_are_checked(given, name):
    with pytest.raises(ValueError, match=name):
        MatrixFree(**given)


def test_a_matrix_is_refused():
    with pytest.raises(ValueError, match=r"for a chain or a matrix write Multilevel\(\)"):
        stationary(generator(TANDEM), MatrixFree())
    with pytest.raises(ValueError, match=r"write Multilevel\(\)"):
        stationary_by_class(TANDEM, MatrixFree())


def test_several_classes_are_refused(plain):
    with pytest.raises(ValueError, match="not unique; use stationary_by_class"):
        stationary(Forks(), MatrixFree())


def test_small_models_are_left_to_other_methods():
    assert grid_model(TANDEM, requested=False) is None


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
    assert answer.memory == pytest.approx(answer.chain.grid_model.predicted(proof=True), rel=0.1)
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
