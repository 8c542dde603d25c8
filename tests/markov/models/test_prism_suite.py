"""Models of the PRISM benchmark suite: published sizes and exact values."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from markov import Cluster, CoxTandem, GaussSeidel, Kanban, Multilevel, Polling, explore, stationary
from tests.surface import for_each


@pytest.mark.parametrize(
    ("model", "states", "transitions"),
    [
        (Cluster(workstations=2), 276, 1120),
        (Cluster(workstations=4), 820, 3616),
        (Cluster(workstations=8), 2772, 12832),
        (Cluster(workstations=16), 10132, 48160),
        (Kanban(tickets=1), 160, 616),
        (Kanban(tickets=2), 4600, 28120),
        (Kanban(tickets=3), 58400, 446400),
    ],
    ids=repr,
)
def test_sizes_of_the_prism_suite(model, states, transitions):
    chain = explored(model).chain
    assert chain.size == states
    assert chain.Q.nnz - chain.size == transitions


@pytest.mark.parametrize("tickets", [1, 2])
def test_kanban_lets_through_what_comes_in(tickets):
    found = explored(Kanban(tickets=tickets))
    pi, s = stationary(found.chain).pi, found.states
    free = s.m1 + s.b1 + s.d1 < tickets
    assert 0.9 * pi @ (s.d4 > 0) == pytest.approx(pi @ free, rel=1e-11)
    moved = (s.d1 > 0) & (s.m2 + s.b2 + s.d2 < tickets) & (s.m3 + s.b3 + s.d3 < tickets)
    assert 0.4 * pi @ moved == pytest.approx(pi @ free, rel=1e-11)


def test_cluster_availability():
    """A switch fails and is repaired by one unit: without waiting it would be 4000/4004 up."""
    found = explored(Cluster(workstations=2))
    pi, s = stationary(found.chain).pi, found.states
    assert pi @ s.left_switch == pytest.approx(pi @ s.right_switch, rel=1e-12)
    assert 0.998 < pi @ s.left_switch < 4000 / 4004
    failures = pi @ s.backbone / 5000
    assert failures == pytest.approx(0.125 * pi[s.busy == 5].sum(), rel=1e-12)


EXACT = [
    (Cluster(workstations=2), "premium_steady", 276, 1120, 0.9999615335623628),
    (Cluster(workstations=4), "premium_steady", 820, 3616, 0.9999212408513793),
    (Kanban(tickets=1), "throughput", 160, 616, 0.0925846346333826),
    (CoxTandem(capacity=7), "customers", 120, 363, 7.7465621853360425),
    (CoxTandem(capacity=15), "customers", 496, 1619, 15.798592927169762),
    (CoxTandem(capacity=31), "customers", 2016, 6819, 31.81500388515128),
    (Polling(stations=3), "s1", 36, 84, 0.1308020365834841),
    (Polling(stations=5), "s1", 240, 800, 0.14492709367584383),
    (Polling(stations=8), "s1", 3072, 14848, 0.14378276964032002),
]
COPIED = [
    (Kanban(tickets=1), "throughput", 0.0925836398, 1.1e-5),
    (CoxTandem(capacity=31), "customers", 31.81304663, 6.2e-5),
    (Polling(stations=8), "s1", 0.1436640723, 8.3e-4),
]
"""Storm.<parameters>.2018-10-16.json, the tool's defaults, with how wrong they are (two digits)."""


@cache
def explored(model):
    return explore(model)


def mean(model, name, pi):
    return float(model.rewards(explored(model).states)[name] @ pi)


@for_each(EXACT)
def test_published_exact_values(model, name, states, transitions, published):
    chain = explored(model).chain
    assert (chain.size, chain.Q.nnz - chain.size) == (states, transitions)
    answer = stationary(chain)
    # a mean of some thousand terms, each right to some units of rounding; published to 16 digits
    assert mean(model, name, answer.pi) == pytest.approx(published, rel=1e-14)
    bound = answer.bound(name)
    printed = 4.0 * 2.0**-53 * published  # of 16 digits
    assert bound.lower - printed <= published <= bound.upper + printed
    assert bound.relative_error < 1e-12


@pytest.mark.parametrize(("model", "name", "copied", "wrong"), COPIED, ids=repr)
def test_default_values_of_the_set_are_not_truth(model, name, copied, wrong):
    value = mean(model, name, stationary(explored(model).chain).pi)
    assert abs(copied / value - 1.0) == pytest.approx(wrong, rel=0.05)


def test_polling_is_the_published_fraction():
    """Elimination in rational arithmetic of what the rules say, against the published quotient."""
    model = Polling(stations=3)
    found = explored(model)
    n = found.chain.size
    rates = [
        [Fraction(float(q)).limit_denominator(1000) if x != y else Fraction(0)
         for y, q in enumerate(row)]
        for x, row in enumerate(found.chain.Q.toarray())
    ]  # fmt: skip
    for k in range(n - 1, 0, -1):
        out = sum(rates[k][:k])
        for x in range(k):
            rates[x][k] /= out
            for y in range(k):
                rates[x][y] += rates[x][k] * rates[k][y] if x != y else 0
    pi = [Fraction(1)]
    for k in range(1, n):
        pi.append(sum(pi[x] * rates[x][k] for x in range(k)))
    waits = model.rewards(found.states)["s1"]
    value = sum(p for p, w in zip(pi, waits, strict=True) if w) / sum(pi)
    assert value == Fraction(607039434066937513, 4640902006747394313)


LARGE = [
    # states, transitions (the set's index.json and results), the stored default and how wrong it is
    (Polling(stations=16), "s1", 1_572_864, 13_893_632, 0.1323893804, 2.64e-2),
    (Kanban(tickets=5), "throughput", 2_546_432, 24_460_016, 0.3078131087, 2.24e-3),
    (Cluster(workstations=256), "premium_steady", 2_373_652, None, None, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name", "states", "transitions", "copied", "wrong"), LARGE, ids=repr)
def test_two_methods_agree_above_a_million_states(model, name, states, transitions, copied, wrong, capsys):
    found = explore(model)
    edges = found.chain.Q.nnz - found.chain.size
    assert found.chain.size == states
    assert edges == (transitions or edges)
    reward = model.rewards(found.states)[name]
    rows, answers = [], []
    for method in (Multilevel(), GaussSeidel()):
        start = time.process_time()
        answer = stationary(found.chain, method)
        took = time.process_time() - start
        answers.append(answer)
        rows.append(
            f"| `{type(method).__name__}` | {reward @ answer.pi:.13f} | {answer.error_bound:.1e} | {took:.0f} s "
            f"| {answer.memory / 1e6:.0f} MB |"
        )
    one, two = answers
    apart = 0.5 * np.abs(one.pi - two.pi).sum()
    with capsys.disabled():
        print(f"\n{model!r}, {name}: {states} states, {edges} transitions, TV {apart:.1e} apart")
        print("\n".join(rows))
    assert apart <= one.error_bound + two.error_bound < 1e-7
    assert abs(reward @ one.pi - reward @ two.pi) <= apart
    if copied is not None:
        # to the three digits that are given
        assert copied / (reward @ one.pi) - 1.0 == pytest.approx(wrong, rel=5e-3)
