"""Generators that are given: what is accepted, what is refused, and their structure."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from markov import MarkovChain, PauseTandem, read_explicit, read_prism, stationary, stationary_by_class, write_explicit
from tests.markov.conftest import Machine, generator_of

GOOD = np.array([[-3.0, 1.0, 2.0], [4.0, -4.0, 0.0], [0.0, 5.0, -5.0]])
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array, sp.csc_matrix])


def changed(*entries):
    Q = GOOD.copy()
    for row, column, value in entries:
        Q[row, column] = value
    return Q


# --------------------------------------------------------------------------- what is refused


@FORMS
@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([(1, 0, -4.0), (1, 1, 4.0)], r"^Q\[1, 0\] = -4 \(row 1\): rates .* finite and >= 0"),
        ([(2, 1, math.nan)], r"^Q\[2, 1\] = nan \(row 2\): rates .* finite and >= 0"),
        ([(2, 2, math.nan)], r"^Q\[2, 2\] = nan \(row 2\): "),
        ([(0, 2, math.inf), (0, 0, -math.inf)], r"^Q\[0, 0\] = -inf \(row 0\): "),
        ([(1, 1, -4.1)], r"^row 1 of Q sums to -0.1: must be 0 within 1e-10 of .* entry, 4.1"),
        ([(2, 2, 5.0)], r"^row 2 of Q sums to 10: must be 0 within 1e-10"),
        ([(0, 0, -3.0 * (1 + 1.1e-10))], r"^row 0 of Q sums to -3.3\d*e-10: must be 0"),
    ],
)
def test_bad_generator(form, entries, said):
    with pytest.raises(ValueError, match=said):
        MarkovChain(form(changed(*entries)))
    with pytest.raises(ValueError, match=said):
        stationary(form(changed(*entries)))


@FORMS
def test_rows_just_inside_are_accepted_and_the_diagonal_is_not_used(form):
    reference = stationary(GOOD).pi
    for factor in (1 - 0.9e-10, 1 + 0.9e-10):
        chain = MarkovChain(form(GOOD - np.diag(np.diag(GOOD)) * (1 - factor)))
        np.testing.assert_array_equal(chain.Q.toarray(), GOOD)
        np.testing.assert_array_equal(stationary(chain).pi, reference)


def test_integers_duplicates_and_explicit_zeros():
    rows, columns = [0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 1, 0]
    Q = sp.coo_matrix(([-2, 1, 1, 5, -5, 0], (rows, columns)), shape=(2, 2))
    chain = MarkovChain(Q)
    assert chain.Q.toarray().tolist() == [[-2.0, 2.0], [5.0, -5.0]]
    assert chain.Q.nnz == 4
    assert chain.exit_rates.tolist() == [2.0, 5.0]
    stored = sp.coo_matrix(([-1.0, 1.0, 0.0], ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    assert MarkovChain(stored).Q.nnz == 2
    assert stationary(stored).pi.tolist() == [0.0, 1.0]


def test_the_callers_matrix_stays_as_it_is():
    for Q in (GOOD.copy(), sp.csr_matrix(GOOD)):
        MarkovChain(Q)
        np.testing.assert_array_equal(sp.csr_matrix(Q).toarray(), GOOD)


# --------------------------------------------------------------------------- structure


@pytest.fixture
def two_classes():
    """States 0, 3: one class; 1 absorbing; 2 and 4 transient."""
    rates = np.zeros((5, 5))
    rates[0, 3], rates[3, 0] = 1.0, 3.0
    rates[2, 0], rates[2, 1], rates[2, 4], rates[4, 2] = 1.0, 1.0, 2.0, 1.0
    return rates - np.diag(rates.sum(axis=1))


@FORMS
def test_several_classes(form, two_classes):
    chain = MarkovChain(form(two_classes))
    assert sorted(states.tolist() for states in chain.recurrent_classes) == [[0, 3], [1]]
    assert chain.transient_states.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"2 recurrent class.* not unique; use stationary_by_class"):
        stationary(chain)
    answers = stationary_by_class(chain)
    found = sorted(answer.pi.tolist() for answer in answers)
    np.testing.assert_allclose(found, [[0, 1, 0, 0, 0], [0.75, 0, 0, 0.25, 0]], rtol=1e-15)
    assert sorted(answer.smallest for answer in answers) == pytest.approx([0.25, 1.0])
    for answer in answers:
        assert np.abs(answer.pi @ two_classes).max() < 1e-15
        assert answer.error_bound < 1e-14


@FORMS
def test_transient_states_get_nothing(form):
    rates = np.zeros((4, 4))
    rates[0, 1] = rates[1, 2] = rates[2, 3] = 1.0
    rates[3, 2] = 4.0
    answer = stationary(form(rates - np.diag(rates.sum(axis=1))))
    np.testing.assert_allclose(answer.pi, [0, 0, 0.8, 0.2], rtol=1e-15)
    assert answer.smallest == pytest.approx(0.2)
    assert "2 transient states" in repr(answer.chain)


def test_restricted(two_classes):
    chain = MarkovChain(two_classes)
    part = chain.restricted(np.array([0, 3]))
    np.testing.assert_allclose(stationary(part).pi, [0.75, 0.25])
    assert part.model is None
    with pytest.raises(ValueError, match="row 2 of Q sums to -3"):  # not closed
        chain.restricted(np.array([0, 3, 2]))


def test_no_transitions_at_all():
    chain = MarkovChain(np.zeros((3, 3)))
    assert len(chain.recurrent_classes) == 3
    assert [a.pi.tolist() for a in stationary_by_class(chain)] == np.eye(3).tolist()
    assert "3 states, 0 transitions, 3 recurrent" in repr(chain)


def test_classes_are_taken_over_only_where_they_are_the_same():
    one = MarkovChain(PauseTandem())
    assert MarkovChain(PauseTandem(rtt=3.0), like=one).recurrent_classes is one.recurrent_classes
    other = MarkovChain(PauseTandem(high_threshold=14), like=one)
    assert other.recurrent_classes is not one.recurrent_classes
    np.testing.assert_array_equal(
        other.recurrent_classes[0], MarkovChain(PauseTandem(high_threshold=14)).recurrent_classes[0]
    )


def test_states_of_a_matrix_have_names():
    chain = MarkovChain([[-0.1, 0.1], [2.0, -2.0]], states=["works", "fails"])
    answer = stationary(chain)
    assert answer.states == ("works", "fails")
    assert answer.probability("works") == pytest.approx(2.0 / 2.1, rel=1e-15)
    assert answer.to_xarray().pi.sel(state="fails") == answer.pi[1]
    labels = [text.get_text() for text in answer.plot().get_xticklabels()]
    assert labels == ["works", "fails"]
    assert chain.restricted(np.array([0, 1])).states == ("works", "fails")
    with pytest.raises(KeyError):
        answer.probability("rests")
    assert stationary([[-1.0, 1.0], [1.0, -1.0]]).states == range(2)
    for states, said in (
        (["one"], "states has 1 name: must have 2"),
        (["one", "one"], "'one' occurs twice"),
    ):
        with pytest.raises(ValueError, match=said):
            MarkovChain([[-1.0, 1.0], [1.0, -1.0]], states=states)
    with pytest.raises(ValueError, match="states of a model are named by its State"):
        MarkovChain(Machine(), states=["a"])


def test_models_of_files_and_chains_are_taken_as_stationary_takes_them(tmp_path):
    path = tmp_path / "ends.prism"
    path.write_text(
        "ctmc module m x:[0..2] init 1; [] x=1 -> 3:(x'=2) + 1:(x'=0); endmodule label \"won\"=x=2;", encoding="utf-8"
    )
    model = read_prism(path)
    chain = MarkovChain(model)
    assert chain.absorption_probabilities[chain.number_of((1,))].tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match=r"not unique; .* MarkovChain\(chain\)\.absorption_probabilities"):
        stationary(model)
    write_explicit(model, tmp_path / "ends.tra")
    for other in (chain, model.chain, read_explicit(tmp_path / "ends.tra")):
        np.testing.assert_array_equal(MarkovChain(other).Q.toarray(), chain.Q.toarray())
    assert MarkovChain(chain).states.x.tolist() == [0, 1, 2]
    for options in ({"states": ["a", "b", "c"]}, {"reachable": False}):
        with pytest.raises(ValueError, match=rf"^{next(iter(options))}: goes with a matrix or a model by rules"):
            MarkovChain(model, **options)


def test_one_state_is_singular():
    assert repr(MarkovChain([[0.0]])) == (
        "MarkovChain: 1 state, 0 transitions, 1 recurrent class(es), 0 transient states"
    )


@pytest.mark.parametrize("ends", [2, 5, 40])
def test_classes_are_in_the_order_of_their_first_states(ends: int) -> None:
    """They were in the order of a search, which was descending here: the columns of states 1 and 2 stood reversed."""
    rates = np.zeros((ends + 1, ends + 1))
    rates[0, 1:] = np.arange(1, ends + 1)
    chain = MarkovChain(generator_of(rates))
    assert [states.tolist() for states in chain.recurrent_classes] == [[k] for k in range(1, ends + 1)]
    np.testing.assert_allclose(chain.absorption_probabilities[0], rates[0, 1:] / rates.sum(), rtol=1e-14)
    assert [int(answer.pi.argmax()) for answer in stationary_by_class(chain)] == list(range(1, ends + 1))
    two = np.kron(np.eye(ends), [[-1.0, 1.0], [2.0, -2.0]])
    mixed = np.random.default_rng(ends).permutation(2 * ends)
    firsts = [int(states[0]) for states in MarkovChain(two[np.ix_(mixed, mixed)]).recurrent_classes]
    assert firsts == sorted(firsts)
