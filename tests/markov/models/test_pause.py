"""The pause tandem against the paper's list of transitions, its formulas, and queueing theory."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from markov import GTH, MarkovChain, PauseTandem, SparseLU, generator, stationary
from tests.surface import for_each

NAN, INF = math.nan, math.inf
WHOLE = "must be a whole number in "
NUMBER = "must be a finite number "
RATES = "must be one rate per TCP state, at least one of them > 0"
BAD = [
    *(("high_threshold", v, f"{WHOLE}1..20") for v in (0, 21, -1, 2.5, NAN, INF, True, "15", None)),
    *(("low_threshold", v, f"{WHOLE}1..15") for v in (0, 16, 20, -1, 1.5, NAN, False, "3")),
    *(("link_rate", v, f"{NUMBER}> 0") for v in (0, -1, NAN, INF, "100", None, True)),
    *(("paused_rate", v, f"{NUMBER}>= 0") for v in (-1e-9, NAN, INF, "2", None)),
    *(("bottleneck_rate", v, f"{NUMBER}> 0") for v in (0.0, -15, NAN, -INF, "15")),
    *(("rtt", v, f"{NUMBER}> 0; in s") for v in (0, -0.1, NAN, INF, "soon", None)),
    *(("rtt", v, "one number is expected") for v in ((1.0, 2.0), (1.0,))),
    *(("arrival_rates", v, f"{NUMBER}>= 0") for v in (NAN, "25", None, True)),
    *(("arrival_rates", v, RATES) for v in ((), (0.0, 0.0))),
    *(("arrival_rates", v, "must be several numbers") for v in (25.0, ((25.0, 1.0),))),
    *(("buffers", v, "must be 2 numbers (B1, B2)") for v in ((10,), (10, 20, 30), 10, None, "xy")),
    *(("recovery", v, "must be one of 'always', 'up'") for v in ("down", "", None, True)),
    *(("pause_at_threshold", v, "must be one of 'exclusive', 'both'") for v in ("always", None, ("both",))),
]  # fmt: skip


@for_each(BAD)
def test_bad_parameter(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name} = ") as caught:
        PauseTandem(**{name: value})
    message = str(caught.value)
    assert allowed in message
    shown = f"{value:g}" if isinstance(value, float) else repr(value)
    assert message.startswith((f"{name} = {value!r}: ", f"{name} = {shown}: "))


@pytest.mark.parametrize("value", [0, -1, 2.5, NAN, INF, "10", None, True])
@pytest.mark.parametrize("place", [0, 1])
def test_bad_buffer(place, value):
    buffers = (value, 20) if place == 0 else (10, value)
    with pytest.raises(ValueError, match=rf"^buffers\[{place}\] = .*{WHOLE}1\.\.1000000000") as e:
        PauseTandem(buffers=buffers)
    assert repr(value) in str(e.value)


def test_lists_arrays_and_whole_floats_are_welcome():
    model = PauseTandem(buffers=[10, np.int64(20)], high_threshold=15.0, arrival_rates=np.array([25.0, 1.0]), rtt=1)
    np.testing.assert_array_equal(stationary(model).pi, stationary(PauseTandem()).pi)
    assert hash(model) == hash(PauseTandem())
    assert model == PauseTandem()


# malhotra2005, Sect. III.A, line by line: number, condition, rate, target. B1, B2, T1, T2, N, mu1,
# mu2, nu, lam (lam[a], a = 1..N) and RTT are those of P. Rules 1 and 4 hold for i < B1 and j >= 1;
# rule 6 excludes j = T1 and rule 13 any k in the default readings.
TABLE = [
    (1, lambda i, j, k, a, P: i < P.B1, "lam", lambda i, j, k, a, P: (i + 1, j, k, a)),
    (2, lambda i, j, k, a, P: i == P.B1 and 2 * a <= P.N, "lam", lambda i, j, k, a, P: (i, j, k, 2 * a)),
    (3, lambda i, j, k, a, P: i == P.B1 and 2 * a > P.N, "lam", lambda i, j, k, a, P: (i, j, k, P.N)),
    (4, lambda i, j, k, a, P: j >= 1 and j != P.T2, "nu", lambda i, j, k, a, P: (i, j - 1, k, a)),
    (5, lambda i, j, k, a, P: j == P.T2, "nu", lambda i, j, k, a, P: (i, P.T2 - 1, 1, a)),
    (6, lambda i, j, k, a, P: k == 1 and j != P.B2 and i >= 1 and (P.both or j != P.T1), "mu1",
     lambda i, j, k, a, P: (i - 1, j + 1, 1, a)),
    (7, lambda i, j, k, a, P: k == 2 and j != P.B2 and i >= 1, "mu2",
     lambda i, j, k, a, P: (i - 1, j + 1, 2, a)),
    (8, lambda i, j, k, a, P: k == 1 and j == P.T1 and P.T1 < P.B2 and i >= 1, "mu1",
     lambda i, j, k, a, P: (i - 1, P.T1 + 1, 2, a)),
    (9, lambda i, j, k, a, P: k == 1 and j == P.B2 and 2 * a <= P.N and i >= 1, "mu1",
     lambda i, j, k, a, P: (i - 1, P.B2, 1, 2 * a)),
    (10, lambda i, j, k, a, P: k == 1 and j == P.B2 and 2 * a > P.N and i >= 1, "mu1",
     lambda i, j, k, a, P: (i - 1, P.B2, 1, P.N)),
    (11, lambda i, j, k, a, P: k == 2 and j == P.B2 and 2 * a <= P.N and i >= 1, "mu2",
     lambda i, j, k, a, P: (i - 1, P.B2, 2, 2 * a)),
    (12, lambda i, j, k, a, P: k == 2 and j == P.B2 and 2 * a > P.N and i >= 1, "mu2",
     lambda i, j, k, a, P: (i - 1, P.B2, 2, P.N)),
    (13, lambda i, j, k, a, P: a > 1 and (P.all_k or k == 1), "1/RTT",
     lambda i, j, k, a, P: (i, j, k, a - 1)),
]  # fmt: skip


def reading(model):
    """Return the parameters under the paper's symbols, from what the user gave."""
    p = model.params
    return SimpleNamespace(
        B1=p.buffers[0],
        B2=p.buffers[1],
        T1=p.high_threshold,
        T2=p.high_threshold if p.low_threshold is None else p.low_threshold,
        N=len(p.arrival_rates),
        both=p.pause_at_threshold == "both",
        all_k=p.recovery == "always",
        rate={
            "mu1": p.link_rate,
            "mu2": p.paused_rate,
            "nu": p.bottleneck_rate,
            "1/RTT": 1 / p.rtt,
        },
        lam=dict(enumerate(p.arrival_rates, start=1)),
    )


def space(P):
    return [(i, j, k, a) for i in range(P.B1 + 1) for j in range(P.B2 + 1) for k in (1, 2) for a in range(1, P.N + 1)]


def printed(state, P):
    """Return {rule: (target, rate)} of one state by the table."""
    return {
        number: (target(*state, P), P.lam[state[3]] if rate == "lam" else P.rate[rate])
        for number, condition, rate, target in TABLE
        if condition(*state, P)
    }


SMALL = PauseTandem(buffers=(3, 5), high_threshold=4, arrival_rates=(25.0, 7.0, 1.0), rtt=0.5)
MODELS = {
    "default": PauseTandem(), "N=3": SMALL, "T2<T1": SMALL.replace(low_threshold=2),
    "T1=B2": SMALL.replace(high_threshold=5), "T2=1": SMALL.replace(low_threshold=1, high_threshold=1),
    "both fire": SMALL.replace(pause_at_threshold="both", low_threshold=3),
    "both, T1=B2": SMALL.replace(pause_at_threshold="both", high_threshold=5),
    "recovery up": SMALL.replace(recovery="up", low_threshold=2), "N=1": SMALL.replace(arrival_rates=(20.0,)),
    "N=4": SMALL.replace(arrival_rates=(40.0, 20.0, 10.0, 5.0), low_threshold=3),
    "paused for good": SMALL.replace(paused_rate=0.0, low_threshold=2),
    "smallest": PauseTandem(buffers=(1, 1), high_threshold=1, arrival_rates=(3.0, 0.0)),
}  # fmt: skip
named = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


@named
def test_every_transition_is_the_papers(model):
    P = reading(model)
    states = space(P)
    index = {state: n for n, state in enumerate(states)}
    expected = np.zeros((len(states), len(states)))
    for state in states:
        rules = printed(state, P)
        assert Counter(map(tuple_of, model.transitions(state))) == Counter(rules.values()), state
        for target, rate in rules.values():
            if target != state:
                expected[index[state], index[target]] += rate
    expected -= np.diag(expected.sum(axis=1))

    assert [tuple(map(int, s)) for s in zip(*model.states(), strict=True)] == states
    for compiled in (True, False):
        Q = generator(model, reachable=False, compiled=compiled)
        assert Q.has_sorted_indices
        assert np.all(Q.data != 0)
        np.testing.assert_allclose(Q.toarray(), expected, rtol=1e-15, atol=0)
    chain = MarkovChain(model)
    entered = [index[state] for state in zip(*(v.tolist() for v in chain.states), strict=True)]
    assert entered == sorted(entered)
    np.testing.assert_array_equal(chain.Q.toarray(), Q.toarray()[np.ix_(entered, entered)])


def tuple_of(transition):
    target, rate = transition
    return tuple(target), rate


def test_every_rule_was_tried():
    fired = {n for m in MODELS.values() for s in space(reading(m)) for n in printed(s, reading(m))}
    assert fired == set(range(1, 14))


@pytest.mark.parametrize(("states", "room"), [(1, 8), (8, 8), (9, 16)])
def test_models_with_few_tcp_states_share_a_kernel(states, room):
    """The tuple of rates has room for more, and what is beyond the last one is never asked for."""
    rates = tuple(np.linspace(30.0, 1.0, states))
    model = PauseTandem(buffers=(2, 3), high_threshold=2, arrival_rates=rates)
    assert len(model.symbols().rates) == room
    compiled, plain = (generator(model, compiled=c) for c in (True, False))
    assert abs(compiled - plain).max() <= 1e-15 * abs(plain).max()  # sums in another order


def test_readings_differ_where_they_should():
    base, at = PauseTandem(), (3, 15, 1, 1)
    assert len(base.transitions(at)) == 3
    assert len(base.replace(pause_at_threshold="both").transitions(at)) == 4
    assert len(base.transitions((3, 17, 2, 2))) == 4
    assert len(base.replace(recovery="up").transitions((3, 17, 2, 2))) == 3


# --------------------------------------------------------------------------- measures


@named
def test_measures_are_the_papers_formulas(model):
    P = reading(model)
    answer = stationary(model)
    pi = dict(zip(zip(*answer.states, strict=True), answer.pi, strict=True))
    mu = {1: P.rate["mu1"], 2: P.rate["mu2"]}

    def sent(i, j, k, a):  # with both rules at T1 a packet leaves at twice mu1
        twice = P.both and k == 1 and j == P.T1 < P.B2
        return mu[k] * (i > 0) * (2 if twice else 1)

    queue = [sum(x * s[n] for s, x in pi.items()) for n in (0, 1)]
    effective = [
        math.fsum(x * P.lam[s[3]] for s, x in pi.items() if s[0] < P.B1),
        math.fsum(x * sent(*s) for s, x in pi.items() if s[1] < P.B2),
    ]
    loss = [
        math.fsum(x * P.lam[s[3]] for s, x in pi.items() if s[0] == P.B1),
        math.fsum(x * sent(*s) for s, x in pi.items() if s[1] == P.B2),
    ]
    expected = {
        "mean_queue": queue, "effective_rate": effective, "loss_rate": loss,
        "waiting_time": [q / e for q, e in zip(queue, effective, strict=True)],
        "loss_probability": [x / (x + e) for x, e in zip(loss, effective, strict=True)],
        "throughput": P.rate["nu"] * math.fsum(x for s, x in pi.items() if s[1] > 0),
        "pause_fraction": math.fsum(x for s, x in pi.items() if s[2] == 2),
        "pause_rate": mu[1] * math.fsum(x for (i, j, k, _), x in pi.items() if i > 0 and k == 1 and j == P.T1 < P.B2),
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(answer[name], value, rtol=1e-12, atol=0, err_msg=name)
    measures = answer.measures
    assert {*expected, "throughput_expressions"} == set(measures)
    assert measures.mean_queue.dims == ("queue",)
    assert measures.queue.values.tolist() == [1, 2]
    assert all("units" in measures[name].attrs for name in measures)
    assert answer.throughput == float(measures.throughput)
    # conservation at queue 1: what enters leaves
    np.testing.assert_allclose(effective[0], effective[1] + loss[1], rtol=1e-12)


@st.composite
def tandems(draw):
    decades = st.floats(-3.0, 3.0).map(lambda x: 10.0**x)
    b1, b2 = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    high = draw(st.integers(1, b2))
    rates = draw(st.lists(st.one_of(decades, st.just(0.0)), min_size=1, max_size=4).filter(any))
    return PauseTandem(
        buffers=(b1, b2),
        high_threshold=high,
        low_threshold=draw(st.one_of(st.none(), st.integers(1, high))),
        link_rate=draw(decades),
        paused_rate=draw(st.one_of(decades, st.just(0.0))),
        bottleneck_rate=draw(decades),
        arrival_rates=tuple(rates),
        rtt=10.0 ** draw(st.floats(-5.0, 5.0)),
        recovery=draw(st.sampled_from(["always", "up"])),
        pause_at_threshold=draw(st.sampled_from(["exclusive", "both"])),
    )


@settings(max_examples=150)
@given(tandems())
@example(
    PauseTandem(
        (1, 5),
        1,
        link_rate=1.0,
        paused_rate=100.0,
        bottleneck_rate=0.01,
        arrival_rates=(100.0, 100.0),
        rtt=10.0**0.5,
    )
)  # its throughput is rounded up
def test_throughput_expressions_agree(model):
    answer = stationary(model)
    expressions = answer["throughput_expressions"]
    np.testing.assert_allclose(expressions, expressions[2], rtol=1e-12, atol=0)
    assert answer.throughput == expressions[2]
    mass = 1.0 + 1e-14  # the largest sum of the probabilities: see mass_defect below
    assert 0 <= answer.throughput <= mass * model.bottleneck_rate
    assert answer.pi.min() >= 0
    assert answer.mass_defect < 1e-14


@settings(max_examples=40)
@given(tandems())
def test_methods_agree_within_their_bounds(model):
    exact = stationary(model, GTH())
    other = stationary(model, SparseLU(), on_failure="return")
    distance = 0.5 * np.abs(exact.pi - other.pi).sum()
    assert distance <= exact.error_bound + other.error_bound
    assert not exact.error_bound == other.error_bound == math.inf


def test_default_bounds_are_tight():
    for method in (GTH(), SparseLU()):
        answer = stationary(PauseTandem(), method)
        assert answer.error_bound < 1e-11
        assert answer.residual < 1e-15


# --------------------------------------------------------------------------- known from theory


def mm1k(rho, K):
    """Return the stationary distribution of an M/M/1/K queue."""
    weights = [rho**n for n in range(K + 1)]
    return np.array(weights) / math.fsum(weights)


@pytest.mark.parametrize("arrival_rate", [0.1, 9.0, 10.0, 300.0])
def test_first_queue_alone_is_mm1k(arrival_rate):
    """With N = 1 and T1 = B2 nothing acts back on queue 1, and every state of it sends at mu1."""
    model = PauseTandem(buffers=(7, 4), high_threshold=4, link_rate=10.0, arrival_rates=(arrival_rate,))
    answer = stationary(model)
    exact = mm1k(arrival_rate / 10.0, 7)
    first = answer.to_xarray().pi.sum(["j", "k", "a"])
    np.testing.assert_allclose(first, exact, rtol=1e-13)
    assert answer["loss_probability"][0] == pytest.approx(exact[7], rel=1e-13)
    assert answer["mean_queue"][0] == pytest.approx(exact @ np.arange(8), rel=1e-13)
    assert answer["effective_rate"][0] == pytest.approx(arrival_rate * (1 - exact[7]), rel=1e-12)


def test_fast_link_leaves_one_queue():
    """A link that is far faster than the rest hands each packet on at once: queue 2 is M/M/1/K."""
    model = PauseTandem(
        buffers=(5, 8),
        high_threshold=8,
        link_rate=1e9,
        bottleneck_rate=10.0,
        arrival_rates=(12.0,),
    )
    second = stationary(model).to_xarray().pi.sum(["i", "k", "a"])
    np.testing.assert_allclose(second, mm1k(1.2, 8), rtol=1e-7)


def test_switched_off():
    """T1 = B2: no pause, whatever the low threshold and the paused rate are."""
    off = PauseTandem(high_threshold=20)
    reference = stationary(off)
    assert reference["pause_fraction"] == 0.0
    for changes in ({"low_threshold": 1}, {"low_threshold": 13, "paused_rate": 77.0}):
        np.testing.assert_allclose(stationary(off.replace(**changes)).pi, reference.pi, rtol=1e-13)


def test_a_pause_that_does_not_slow_down():
    """mu2 = mu1: the thresholds do not matter."""
    reference = stationary(PauseTandem(high_threshold=20)).throughput
    for high, low in ((15, 15), (10, 3), (1, 1)):
        model = PauseTandem(high_threshold=high, low_threshold=low, paused_rate=100.0)
        assert stationary(model).throughput == pytest.approx(reference, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 8.0, 1e9])
def test_time_has_no_unit(factor):
    model = PauseTandem(low_threshold=9)
    faster = model.replace(
        link_rate=100.0 * factor,
        paused_rate=2.0 * factor,
        bottleneck_rate=15.0 * factor,
        arrival_rates=(25.0 * factor, factor),
        rtt=1.0 / factor,
    )
    one, two = stationary(model), stationary(faster)
    np.testing.assert_allclose(two.pi, one.pi, rtol=1e-12)
    assert two.throughput == pytest.approx(factor * one.throughput, rel=1e-12)
    np.testing.assert_allclose(two["waiting_time"], np.array(one["waiting_time"]) / factor, rtol=1e-12)


def test_states_that_are_never_entered():
    """With T1 = T2 queue 2 is never down below T1, nor up above."""
    model = PauseTandem()
    chain, whole = MarkovChain(model), MarkovChain(model, reachable=False)
    s = model.states()
    never = ((s.k == 2) & (s.j < 15)) | ((s.k == 1) & (s.j > 15))
    np.testing.assert_array_equal(whole.transient_states, np.flatnonzero(never))
    np.testing.assert_array_equal(np.array(chain.states), np.array(s)[:, ~never])
    assert len(chain.transient_states) == 0
    assert stationary(whole).pi[never].max() == 0.0
    np.testing.assert_allclose(stationary(chain).pi, stationary(whole).pi[~never], rtol=1e-13)
    assert stationary(chain).smallest > 0.0


def test_a_full_stop():
    """mu2 = 0, the standard's pause: nothing is sent while queue 2 is down."""
    model = PauseTandem(paused_rate=0.0, low_threshold=5)
    answer = stationary(model)
    s = answer.states
    assert not np.any((s.k == 2) & ((s.j > 16) | (s.j < 5)))
    assert answer["loss_rate"][1] == 0.0
    nearly = stationary(model.replace(paused_rate=1e-9)).to_xarray().pi
    np.testing.assert_allclose(nearly, answer.to_xarray().pi, atol=1e-9)


def test_nothing_arrives_in_the_end():
    """With lambda_1 = 0 the chain ends empty: no throughput, no waiting time, no warning."""
    answer = stationary(PauseTandem(arrival_rates=(0.0, 10.0)))
    assert answer.throughput == 0.0
    assert answer["throughput_expressions"].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(answer["waiting_time"]).all()
    assert answer.pi.max() == 1.0


def test_quantities_may_be_texts() -> None:
    texts = PauseTandem(buffers=("10pkt", 20), link_rate="1.2Mbps", rtt="40ms")
    assert texts == PauseTandem(buffers=(10, 20), link_rate=100.0, rtt=0.04)
