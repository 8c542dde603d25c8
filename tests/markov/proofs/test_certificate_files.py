"""What is written proves more than what was computed in float64."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from markov import Kanban, Multilevel, explore, stationary
from markov.proofs.certificate_files import contents_of
from markov.proofs.certificates import Certificate
from markov.proofs.checker import check
from markov.proofs.listings import Listing
from tests.markov.conftest import Coin, Machine, Queue
from tests.markov.proofs.conftest import exact_solution


def listing(n, **functions):
    return Listing({"state": np.arange(n)}, functions)


def test_the_bound_of_a_direct_method_is_the_distance_to_the_exact_solution():
    answer = stationary(Queue())
    n = answer.chain.size
    found = contents_of(answer.proof, listing(n, mean=np.arange(n) / 3.0))
    truth = exact_solution(found.rows)
    off = [Fraction(v) - p for v, p in zip(answer.pi.tolist(), truth, strict=True)]
    distance = max(sum(d for d in off if d > 0), -sum(d for d in off if d < 0))
    assert distance <= found.bound <= distance * Fraction(100002, 100000)
    low, high = found.functions[0].claimed
    mean = sum(Fraction(k / 3.0) * p for k, p in enumerate(truth))
    assert low <= mean <= high
    assert high - low < Fraction(1, 10**30)  # the product of two residuals


def test_a_bound_by_multigrid_is_not_lost(tmp_path):
    """The throughput is proved to far more digits than float64 has."""
    answer = stationary(explore(Kanban(tickets=2)), Multilevel())
    answer.certificate(tmp_path / "kanban.cert.gz", measures=["throughput"])
    proved = check(tmp_path / "kanban.cert.gz")
    assert float(proved.bound) <= answer.error_bound * 1.001
    low, high = proved.means["throughput"]
    bound = answer.bound("throughput")
    assert bound.lower <= low <= high <= bound.upper
    assert high - low < 1e-4 * (bound.upper - bound.lower)


def test_a_pickled_answer_writes_the_same_claims(tmp_path):
    answer = stationary(Queue())
    answer.certificate(tmp_path / "a.cert")
    pickle.loads(pickle.dumps(answer)).certificate(tmp_path / "b.cert")
    a, b = check(tmp_path / "a.cert"), check(tmp_path / "b.cert")
    assert (a.states, a.transitions) == (b.states, b.transitions)
    assert float(b.bound) == pytest.approx(float(a.bound), rel=1e-3)


def test_one_state_two_states_and_components_that_are_no_numbers(tmp_path):
    path = tmp_path / "small.cert"
    stationary([[0.0]]).certificate(path)
    assert (check(path).states, check(path).bound) == (1, 0)
    stationary(Coin()).certificate(path)
    assert check(path).bound < 1e-16
    stationary(Machine()).certificate(path, measures=["busy", "hot and full"])
    assert set(check(path).means) == {"busy", "hot and full"}
    assert "columns mode phase n" in path.read_text()


def test_names_in_other_alphabets_are_escaped(tmp_path):
    def rules(s):
        yield s._replace(λ=1 - s.λ), 1.0 + s.λ

    model = explore(rules, start={"λ": 0}, labels=lambda s: {"größer als null": s.λ > 0})
    path = tmp_path / "greek.cert"
    stationary(model).certificate(path)
    assert "columns \\u03bb\n" in path.read_text(encoding="ascii")
    assert set(check(path).means) == {"gr\\u00f6\\u00dfer als null"}


def test_only_the_recurrent_states_are_listed(tmp_path):
    path = tmp_path / "transient.cert"
    stationary([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 3.0, -3.0]]).certificate(path)
    assert check(path).states == 2
    assert "\n1 " in path.read_text()
    assert "\n0 " not in path.read_text()


def test_where_nothing_is_proved_nothing_is_written(tmp_path):
    answer = stationary(Queue(), proof=False)
    proof = Certificate(answer.proof.Q if answer.proof else answer.chain.irreducible(0), answer.pi)
    proof.supersolution = None
    with pytest.raises(ValueError, match="nothing was proved"):
        contents_of(proof, listing(len(answer.pi)))
