"""Models of the PRISM benchmark suite: published exact values, every method, symmetries, large ones.

Published: the quantitative verification benchmark set (A. Hartmanns, M. Klauck, D. Parker, T. Quatmann,
E. Ruijters, TACAS 2019), qcomp.org/benchmarks, ctmc/<model>/results/Storm.exact.<parameters>.json of
October and November 2018: Storm 1.2.4 in rational arithmetic, the field "approx" of each. That of
cluster stands under the name of another property, below_min; it is the suite's premium_steady.
"""

from __future__ import annotations

import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from markov import (
    GTH,
    MM1K,
    BirthDeath,
    Cluster,
    Courtois,
    CoxTandem,
    GaussSeidel,
    JacksonTandem,
    Kanban,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    PauseChain,
    PauseTandem,
    Polling,
    SparseLU,
    explore,
    stationary,
)

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


@pytest.mark.parametrize(("model", "name", "states", "transitions", "published"), EXACT, ids=repr)
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


# --------------------------------------------------------------------------- every method, every model

GALLERY = [
    BirthDeath(),
    MM1K(),
    JacksonTandem(),
    Courtois(),
    PauseTandem(),
    PauseTandem(recovery="up", pause_at_threshold="both", low_threshold=4),
    PauseChain(buffers=(3, 4, 4), high_threshold=3),
    Cluster(workstations=2),
    Kanban(),
    CoxTandem(capacity=7),
    Polling(stations=4),
]
METHODS = [
    GTH(),
    SparseLU(),
    Levels(),
    Multilevel(),
    GaussSeidel(),
    Krylov(),
    Krylov(preconditioner="multilevel", solver="bicgstab"),
]


@cache
def solved(model, method):
    """Return chain, states and answer."""
    chain = MarkovChain(model)
    return chain, chain.states, stationary(chain, method, on_failure="return")


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("model", GALLERY, ids=repr)
def test_every_method_on_every_model(model, method):
    chain, _, answer = solved(model, method)
    truth = solved(model, GTH())[-1]
    if isinstance(model, Courtois) and isinstance(method, GaussSeidel):
        assert not answer.status.ok  # nearly decomposable: sweeps do not get there, and say so
        return
    assert answer.status.ok
    assert answer.pi.min() >= 0.0
    assert answer.mass_defect < 1e-14
    assert answer.residual <= 1e-12
    apart = 0.5 * np.abs(answer.pi - truth.pi).sum()
    assert apart <= answer.error_bound + truth.error_bound
    flows = answer.pi[:, None] * chain.Q.toarray()
    for component in chain.components.values():
        for level in np.unique(component)[1:]:
            below = component < level
            up, down = flows[below][:, ~below].sum(), flows[~below][:, below].sum()
            # what crosses a cut differs by no more than the residual, a share of twice the flow
            assert abs(up - down) <= 1e-12 * np.abs(flows).sum()


# --------------------------------------------------------------------------- symmetries


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_stations_are_alike(method):
    """Turning all of polling's stations by one changes nothing: orbits of states lump to one."""
    model = Polling(stations=4)
    _, s, answer = solved(model, method)
    n = model.stations
    turned = (s.full >> s.at) | ((s.full << (n - s.at)) & (2**n - 1))  # as the server sees it
    for served in (0, 1):
        for seen in range(2**n):
            orbit = answer.pi[(s.serving == served) & (turned == seen)]
            if len(orbit):  # without: the server never serves an empty station
                assert np.ptp(orbit) <= 2 * answer.error_bound


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_sides_of_the_cluster_are_alike(method):
    _, found, answer = solved(Cluster(workstations=2), method)
    states = list(zip(*found, strict=True))
    swap = {0: 0, 1: 2, 2: 1, 3: 4, 4: 3, 5: 5}
    place = {state: n for n, state in enumerate(states)}
    other = [place[right, left, rs, ls, b, swap[r]] for left, right, ls, rs, b, r in states]
    assert 0.5 * np.abs(answer.pi - answer.pi[other]).sum() <= 2 * answer.error_bound


# --------------------------------------------------------------------------- above a million states


LARGE = [
    # states, transitions (the set's index.json and results), the stored default and how wrong it is
    (Polling(stations=16), "s1", 1_572_864, 13_893_632, 0.1323893804, 2.64e-2),
    (Kanban(tickets=5), "throughput", 2_546_432, 24_460_016, 0.3078131087, 2.24e-3),
    (Cluster(workstations=256), "premium_steady", 2_373_652, None, None, None),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "states", "transitions", "copied", "wrong"), LARGE, ids=repr
)
def test_two_methods_agree_above_a_million_states(
    model, name, states, transitions, copied, wrong, capsys
):
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


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CoxTandem(capacity=0), "capacity = 0: must be"),
        (lambda: Polling(stations=31), "stations = 31: must be"),
    ],
)
def test_bad_parameters(make, said):
    with pytest.raises(ValueError, match=said):
        make()
