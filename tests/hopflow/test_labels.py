"""Labels of pandas and xarray in chains, and masked entries: aligned with the states, or refused, and never ignored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hopflow.labels import labels_of
from markov import (
    MAP,
    BirthDeath,
    DiscreteChain,
    MarkovChain,
    ObservedPath,
    Panel,
    PauseTandem,
    PhaseType,
    QuasiBirthDeath,
    SemiMarkov,
    fit_map,
    fit_phase_type,
    passage,
    stationary,
    transient,
)
from responsefn import AIMD, Reno, curve, fit
from tests.surface import for_each

P = [[0.5, 0.5], [0.25, 0.75]]
Q = [[-3.0, 3.0], [2.0, -2.0]]
PI = [0.4, 0.6]


def table(rows: Any, index: list[Any], columns: list[Any], kind: str = "pandas") -> Any:
    if kind == "xarray":
        return xr.DataArray(rows, dims=("source", "target"), coords={"source": index, "target": columns})
    return pd.DataFrame(rows, index=index, columns=columns)


@pytest.mark.parametrize("kind", ["pandas", "xarray"])
@pytest.mark.parametrize("names", [("a", "b"), ((0, 1), (1, 0)), (1, 0), (2.5, 7)])
def test_columns_of_a_chain_are_those_of_their_labels(names: tuple[Any, ...], kind: str) -> None:
    """From a to b with 1/2, from b to a with 1/4: columns b, a have each row backwards."""
    if kind == "xarray" and isinstance(names[0], tuple):
        pytest.skip("xarray has no labels of tuples")
    a, b = names
    index, columns = list(names), [b, a]
    if isinstance(a, tuple):
        index, columns = pd.MultiIndex.from_tuples(index), pd.MultiIndex.from_tuples(columns)  # type: ignore[assignment]
    # rows a, b; columns b, a
    steps = table([[0.6, 0.4], [0.6, 0.4]], index, columns, kind)
    chain = DiscreteChain(steps)
    assert chain.stationary().pi.tolist() == pytest.approx([0.4, 0.6])
    assert tuple(chain.stationary().states) == names
    rates = MarkovChain(table([[3.0, -3.0], [-2.0, 2.0]], index, columns, kind))
    assert stationary(rates).pi.tolist() == pytest.approx(PI)
    assert tuple(rates.states) == names
    assert rates.Q.toarray().tolist() == Q


def test_the_example_of_two_orders() -> None:
    frame = pd.DataFrame([[0.5, 0.5], [0.25, 0.75]], index=["a", "b"], columns=["b", "a"])
    assert DiscreteChain(frame).stationary().pi.tolist() == pytest.approx([0.6, 0.4])


def test_states_are_the_order_of_a_labelled_matrix() -> None:
    frame = pd.DataFrame(Q, index=["a", "b"], columns=["a", "b"])
    chain = MarkovChain(frame, states=["b", "a"])
    assert chain.Q.toarray().tolist() == [[-2.0, 2.0], [3.0, -3.0]]
    assert stationary(frame).probability("b") == pytest.approx(0.6)
    with pytest.raises(ValueError, match=r"Q: labels 'a', 'b': must be 'x', 'y' in any order, or without labels"):
        MarkovChain(frame, states=["x", "y"])


@pytest.mark.parametrize(
    ("index", "columns", "message"),
    [
        (["a", "b"], ["a", "c"], "columns of P: labels 'a', 'c': must be 'a', 'b' in any order, or without labels"),
        (["a", "b"], [0, 1], "columns of P: labels 0, 1: must be 'a', 'b'"),
        ([0, 1], ["a", "b"], "columns of P: labels 'a', 'b': must be 0, 1"),
        (["a", "b"], ["a", "a"], "columns of P: the label 'a' occurs twice"),
    ],
)
def test_other_labels_are_refused(index: list[Any], columns: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteChain(table(P, index, columns))


def test_numbers_in_order_are_no_labels() -> None:
    assert labels_of(pd.DataFrame(P), 1) is None
    assert DiscreteChain(pd.DataFrame(P)).stationary().pi.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert DiscreteChain(xr.DataArray(P)).stationary().pi.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_measures_sets_and_distributions_are_aligned() -> None:
    chain = MarkovChain(Q, states=["a", "b"])
    answer = stationary(chain)
    reward = pd.Series({"b": 1.0, "a": 10.0})
    assert answer.bound(reward).value == pytest.approx(0.4 * 10 + 0.6)
    assert answer.bound((reward, pd.Series({"b": 1.0, "a": 1.0}))).value == pytest.approx(4.6)
    assert answer.bound(xr.DataArray([1.0, 10.0], dims="state", coords={"state": ["b", "a"]})).value == pytest.approx(
        4.6
    )
    assert answer.bound(pd.Series([10.0, 1.0])).value == pytest.approx(4.6)
    assert answer.probability(pd.Series({"b": True, "a": False})) == pytest.approx(0.6)
    start = pd.Series({"b": 1.0, "a": 0.0})
    late = transient(chain, 1e-9, start=start)
    assert late.pi.ravel().tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    time = passage(chain, to=pd.Series({"b": False, "a": True}), start="b")
    assert time.mean == pytest.approx(0.5)
    numbered = stationary(Q)
    assert numbered.bound(pd.Series([1.0, 10.0], index=[1, 0])).value == pytest.approx(4.6)


@pytest.mark.parametrize("call", [
    lambda answer, series: answer.bound(series),
    lambda answer, series: answer.variance(series),
    lambda answer, series: answer.probability(series > 1.0),
    lambda answer, series: transient(answer.chain, 1.0, start=series / series.sum()),
    lambda answer, series: passage(answer.chain, to=series > 1.0, start="b"),
], ids=["bound", "variance", "probability", "start", "to"])  # fmt: skip
def test_labels_that_are_no_states_are_refused(call: Any) -> None:
    answer = stationary(MarkovChain(Q, states=["a", "b"]))
    with pytest.raises(ValueError, match=r"labels 'x', 'a': must be 'a', 'b' in any order, or without labels"):
        call(answer, pd.Series({"x": 1.0, "a": 10.0}))


def test_phases_are_aligned() -> None:
    D0, D1 = np.array([[-4.0, 1.0], [2.0, -3.0]]), np.array([[3.0, 0.0], [0.0, 1.0]])
    expected = MAP(D0, D1)
    frame = pd.DataFrame(D0[:, ::-1], index=["x", "y"], columns=["y", "x"])
    other = pd.DataFrame(D1[::-1], index=["y", "x"], columns=["x", "y"])
    assert MAP(frame, other) == expected
    assert MAP(pd.DataFrame(D0), pd.DataFrame(D1)) == expected
    with pytest.raises(ValueError, match="D1: must have the labels of D0"):
        MAP(frame, D1)
    rates = pd.Series({"y": 1.0, "x": 3.0})
    generator = pd.DataFrame([[-1.0, 1.0], [2.0, -2.0]], index=["x", "y"], columns=["x", "y"])
    assert MAP.modulated(generator, rates) == MAP.modulated([[-1.0, 1.0], [2.0, -2.0]], [3.0, 1.0])
    with pytest.raises(ValueError, match="rates has labels 'y', 'x'"):
        MAP.modulated([[-1.0, 1.0], [2.0, -2.0]], rates)
    T = [[-3.0, 1.5], [0.0, -1.0]]
    service = PhaseType(pd.Series({"y": 0.7, "x": 0.3}), pd.DataFrame(T, index=["x", "y"], columns=["x", "y"]))
    assert service == PhaseType([0.3, 0.7], T)
    with pytest.raises(ValueError, match="alpha: labels 'y', 'x': must be 0, 1"):
        PhaseType(pd.Series({"y": 0.7, "x": 0.3}), T)


def test_a_module_is_no_matrix() -> None:
    """NumPy has functions `shape` and `ndim`, which are no attributes of an array."""
    for call in (lambda: PhaseType([1.0], np), lambda: MarkovChain(np), lambda: PauseTandem(buffers=np)):
        with pytest.raises((TypeError, ValueError), match=r"module 'numpy'"):
            call()


def test_labels_of_parameters_without_names_are_refused() -> None:
    with pytest.raises(ValueError, match="deaths has labels 1, 2: must be in order 0, 1"):
        BirthDeath(pd.Series([2.0, 1.0]), pd.Series([1.0, 3.0], index=[1, 2]))
    with pytest.raises(ValueError, match="births has labels 1, 0"):
        BirthDeath(pd.Series([2.0, 1.0], index=[1, 0]), pd.Series([1.0, 3.0], index=[1, 0]))
    assert BirthDeath(pd.Series([2.0, 1.0]), pd.Series([1.0, 3.0])) == BirthDeath((2.0, 1.0), (1.0, 3.0))
    with pytest.raises(ValueError, match="jumps has labels 'a', 'b'"):
        SemiMarkov(jumps=pd.DataFrame([[0.0, 1.0], [1.0, 0.0]], index=["a", "b"], columns=["a", "b"]))
    blocks = [pd.DataFrame([[1.0]], index=["a"], columns=["a"]), [[-3.0]], [[2.0]]]
    with pytest.raises(ValueError, match="has labels 'a'"):
        QuasiBirthDeath(*blocks)


def test_labels_in_different_orders_are_no_pairs() -> None:
    seen = pd.DataFrame({"time": [0.0, 2.0, 1.0], "state": ["a", "c", "b"]})
    times = seen["time"].sort_values()
    for build in (lambda: Panel(times, seen["state"]), lambda: ObservedPath(times, seen["state"], end=3.0)):
        with pytest.raises(
            ValueError, match="states has the labels of times in another order: 0, 1, 2: must be 0, 2, 1"
        ):
            build()
    rows = seen.sort_values("time")
    assert Panel(rows["time"], rows["state"]).states == ["a", "b", "c"]
    assert Panel([0.0, 1.0, 2.0], rows["state"]).states == ["a", "b", "c"]
    assert Panel(seen["time"][[0, 2]], seen["state"][:2]).states == ["a", "c"]  # other rows, as of a copy
    by_time = xr.DataArray([0.0, 1.0], coords={"time": ["b", "a"]}, dims="time")
    by_state = xr.DataArray(["up", "down"], coords={"state": ["a", "b"]}, dims="state")
    assert Panel(by_time, by_state).states == ["up", "down"]  # of other dimensions, which are no pairs
    weights, rates = pd.Series({"slow": 0.3, "fast": 0.7}), pd.Series({"fast": 2.0, "slow": 1.0})
    with pytest.raises(ValueError, match="rates has the labels of probabilities in another order"):
        PhaseType.hyperexponential(weights, rates)
    assert PhaseType.hyperexponential(weights, rates[weights.index]).mean == pytest.approx(0.65)
    generator = pd.DataFrame(Q, index=["a", "b"], columns=["a", "b"])
    start = pd.Series({"b": 1.0, "a": 0.0})  # aligned with the states
    assert transient(generator, pd.Series([0.0, 1.0], index=["a", "b"]), start=start).probability("b")[0] == 1.0


# Masked entries.

PAIR = MarkovChain(Q)
MASK = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
ROWS = np.ma.masked_array(Q, mask=[[False, True], [False, False]])


@for_each(
    [
        (lambda: fit_phase_type(MASK), "times has a masked entry: must have none; .compressed() has the entries"),
        (lambda: fit_map(np.ma.masked_less(np.arange(1.0, 50.0), 4.0), phases=1), "intervals has 3 masked entries"),
        (lambda: PhaseType(MASK[1:] - 2.0, Q), "alpha has a masked entry"),
        (lambda: MAP(ROWS, np.zeros((2, 2))), "D0 has a masked entry"),
        (lambda: QuasiBirthDeath(ROWS, Q, Q), "has a masked entry"),
        (lambda: SemiMarkov(ROWS, (PhaseType.exponential(1.0),) * 2), "jumps has a masked entry"),
        (lambda: BirthDeath(MASK, [1.0, 1.0, 1.0]), "births has a masked entry"),
        (lambda: stationary(ROWS), "Q has a masked entry"),
        (lambda: DiscreteChain(ROWS), "P has a masked entry"),
        (lambda: stationary(Q).bound(MASK[:2]), "measure has a masked entry"),
        (lambda: stationary(Q).probability(MASK[:2] > 1.0), "states has a masked entry"),
        (lambda: transient(PAIR, MASK, start=0), "times has a masked entry"),
        (lambda: transient(PAIR, 1.0, start=np.ma.masked_array([1.0, 0.0], mask=[True, False])), "start has a masked"),
        (lambda: passage(PAIR, to=MASK[:2] > 1.0, start=0), "to has a masked entry"),
        (lambda: passage(PAIR, to=1, start=0).survival(MASK), "times has a masked entry"),
        (lambda: Panel(MASK, [0, 1, 0]), "times has a masked entry"),
        (lambda: curve(Reno(), MASK * 1e-3, rtt=0.1), "p has a masked entry"),
        (lambda: fit(AIMD(b=0.25), MASK * 1e-3, 0.1, [9.0, 8.0, 7.0], by="a"), "p has a masked entry"),
    ]
)
def test_masked_entries_are_not_used(call: Any, message: str) -> None:
    """They are missing values, of netCDF files among others, and were used as if they were not masked."""
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_arrays_without_a_masked_entry_are_plain_ones() -> None:
    assert stationary(np.ma.masked_array(Q, mask=False)).pi.tolist() == pytest.approx(PI)
    assert fit_phase_type(MASK.compressed()).distribution.mean == pytest.approx(2.0)
