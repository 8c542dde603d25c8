"""Answers: status, measures, tables, pages and pictures."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import xarray as xr

from hopflow import Status, compare
from markov import (
    GTH,
    MM1K,
    BirthDeath,
    JacksonTandem,
    Multilevel,
    ObservedPath,
    PauseTandem,
    SparseLU,
    best,
    estimate,
    explore,
    passage,
    quasi_stationary,
    stationary,
    transient,
)
from tests.markov.conftest import rows


def test_result_of_a_model():
    answer = stationary(PauseTandem())
    data = answer.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert data.pi.dims == ("i", "j", "k", "a")
    assert data.pi.sizes == {"i": 11, "j": 21, "k": 2, "a": 2}
    assert data.k.values.tolist() == [1, 2]
    assert float(data.pi.sel(i=3, j=7, k=1, a=2)) == answer.probability((3, 7, 1, 2))
    assert float(data.pi.sel(i=3, j=7, k=2, a=2)) == 0.0  # never entered
    assert float(data.pi.sum()) == pytest.approx(1.0, rel=1e-14)
    assert data.attrs == {} or "status" in data.attrs
    assert data.throughput == answer.throughput == answer["throughput"]
    axes = answer.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["i", "j"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), data.pi.sum(["j", "k", "a"]))
    assert answer.plot(axes) is axes
    text = repr(answer)
    for word in ("converged", "throughput", "error bound", "GTH(block=64)", "mass defect"):
        assert word in text
    assert f"{answer.throughput:.6g}" in text
    page = answer._repr_html_()
    assert "<table>" in page
    assert "data:image/png;base64," in page


def test_result_of_a_matrix():
    answer = stationary([[-3.0, 1.0, 2.0], [4.0, -4.0, 0.0], [0.0, 5.0, -5.0]], SparseLU())
    assert answer.to_xarray().pi.dims == ("state",)
    np.testing.assert_array_equal(answer.to_xarray().pi, answer.pi)
    np.testing.assert_array_equal(answer.plot().lines[0].get_ydata(), answer.pi)
    assert "img" in answer._repr_html_()
    assert len(answer.measures) == 0
    with pytest.raises(AttributeError, match="has no throughput"):
        answer.throughput  # noqa: B018
    assert answer.mass_defect < 1e-15
    assert answer.seconds > 0.0


def test_table_of_a_model():
    answer = stationary(PauseTandem())
    shown = rows(repr(answer))
    assert repr(answer).splitlines()[0] == "Stationary"
    assert next(iter(shown)) == "status"
    assert shown["chain"] == "PauseTandem()"
    assert shown["states"] == "484, 0 of them transient"
    assert shown["transitions"] == "1606"
    assert shown["recurrent classes"] == "1"
    assert shown["method"] == "GTH(block=64)"
    assert shown["pause_fraction"] == f"{answer['pause_fraction']:.6g}"


def test_levels_of_a_multigrid_answer_are_in_its_table():
    answer = stationary(JacksonTandem(), Multilevel())
    states, transitions = zip(*answer.levels, strict=True)
    recurrent = answer.chain.irreducible(0)
    assert (states[0], transitions[0]) == (recurrent.shape[0], recurrent.nnz - recurrent.shape[0])
    assert all(2 * coarse <= 1.5 * fine for fine, coarse in itertools.pairwise(states))
    table = repr(answer)
    assert f"{states[-1]} states" in table
    assert f"operator complexity {sum(transitions) / transitions[0]:.2f}" in table
    assert stationary(JacksonTandem(), GTH()).levels == ()


def test_probability_of_a_set_of_states():
    answer = stationary(PauseTandem())
    full = answer.pi[answer.states.j == 20].sum()
    assert answer.probability(lambda s: s.j == 20) == pytest.approx(full, rel=1e-14)
    assert answer.probability(answer.states.j == 20) == pytest.approx(full, rel=1e-14)
    two = [(3, 7, 1, 2), (3, 8, 1, 2)]
    assert answer.probability(two) == sum(map(answer.probability, two))
    with pytest.raises(KeyError):
        answer.probability((3, 700, 1, 2))
    with pytest.raises(ValueError, match=r"^states = <lambda>: no state"):
        answer.probability(lambda s: s.j > 20)


def test_a_label_without_states_has_probability_0():
    """As the measure of that name and its bound have it; only a passage to it has no time."""

    def rules(s, q):
        if s.n < 2:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 2.0

    model = explore(rules, start={"n": 0}, labels=lambda s: {"full": s.n == 2, "crowded": s.n > 5})
    answer, later = stationary(model), transient(model, [1.0, 2.0])
    assert (answer.probability("crowded"), answer["crowded"], answer.bound("crowded").value) == (0.0, 0.0, 0.0)
    assert later.probability("crowded").tolist() == later["crowded"].tolist() == [0.0, 0.0]
    assert answer.probability("full") == pytest.approx(1.0 / 7.0, rel=1e-14)
    for solve in (passage, quasi_stationary):
        with pytest.raises(ValueError, match=r"^to = 'crowded': no state of the chain is in it: it has probability 0"):
            solve(model, to="crowded")
    with pytest.raises(KeyError, match=r"states = 'empty': is no state of the chain; .* 'full', 'crowded'"):
        answer.probability("empty")
    with pytest.raises(KeyError, match=r"measure = 'empty': must be one of 'full', 'crowded'"):
        later["empty"]


def test_the_chain_is_shown_without_rounding_of_units():
    answer = stationary(PauseTandem(rtt="200us"))
    assert "rtt=0.0002)" in str(answer.summary()["chain"])


def test_long_rows_of_numbers_are_shown_by_their_ends() -> None:
    """A queue with 576 rates filled a hundred lines."""
    model = BirthDeath(births=(1.0,) * 20, deaths=tuple(range(1, 21)))
    shown = "BirthDeath(births=(1.0, 1.0, 1.0, ..., 1.0: 20 numbers), deaths=(1, 2, 3, ..., 20: 20 numbers))"
    for result in (stationary(model), passage(model, to=(0,), start=(1,))):
        assert result.summary()["chain"] == shown


def test_why_no_error_of_entries_was_proved_is_said():
    found = stationary(PauseTandem(), SparseLU())
    assert found.summary()["entry error"] == "none was proved: only GTH() and Levels() have one"


def test_a_failure_shows_first():
    answer = dataclasses.replace(stationary(MM1K()), status=Status.NEGATIVE)
    assert repr(answer).splitlines()[1].split("  ")[-1].strip() == str(Status.NEGATIVE)


def test_measures_have_units_and_dimensions():
    answer = stationary(PauseTandem())
    data = answer.measures
    assert data.throughput.attrs["units"] == "packets/s"
    assert data.mean_queue.dims == ("queue",)
    assert data.queue.values.tolist() == [1, 2]
    np.testing.assert_array_equal(data.mean_queue, answer["mean_queue"])
    with pytest.raises(KeyError):
        answer["speed"]


def test_a_summary_has_the_scalar_measures_and_the_cost():
    answer = stationary(PauseTandem())
    about = answer.summary()
    assert about["throughput"] == f"{answer.throughput:.6g} packets/s"
    assert "mean_queue" not in about  # one number per queue: in the dataset
    assert about["residual"] == f"{answer.residual:.1e}"
    assert about["memory"] == f"{answer.memory / 1e6:.3g} MB"


def queue_with(*measures: str) -> Any:
    """Return a queue with its length as several rewards, 1 at most rate 1 for 1 s: 1/2 on average."""

    def rules(n: int, q: Any) -> Any:
        yield 1 - n, q.rate

    return explore(rules, start=0, params={"rate": 1.0}, rewards=lambda n: dict.fromkeys(measures, n))


@pytest.mark.parametrize("name", ["status", "chain", "states", "time", "memory", "method", "error bound (TV)"])
def test_a_measure_with_the_name_of_a_row_has_a_row_of_its_own(name: str) -> None:
    """A reward ``time`` was shown as the wall time, and a reward ``status`` as the status."""
    answer, plain = stationary(queue_with(name)), stationary(queue_with("length")).summary()
    rows_of = answer.summary()
    assert rows_of.pop(f"{name} (measure)") == "0.5"
    assert list(rows_of) == [row for row in plain if row != "length"]
    assert rows_of["status"] == "converged"
    assert answer[name] == 0.5


def test_measures_are_shown_whatever_their_names_begin_with() -> None:
    """Rows on the computation were folded by the beginning of their names, and so were measures."""
    answer = stationary(queue_with("time", "time_in_system", "method", "levels", "length"))
    folded = answer.folded(answer.summary())
    assert {"time", "method", "transitions"} <= set(folded)
    assert not {name for name in folded if "measure" in name or name in ("time_in_system", "levels", "length")}


@pytest.mark.parametrize("name", ["n", "pi"])
def test_a_data_set_has_components_and_measures_of_one_name(name: str) -> None:
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(**{name: 1 - s[0]}), 1.0

    answer = stationary(explore(rules, start={name: 0}, rewards=lambda s: {name: 3.0 * s[0]}))
    data = answer.to_xarray()
    component = {"n": "n", "pi": "pi (component)"}[name]
    assert data.pi.dims == (component,)
    assert data.pi.values.tolist() == [0.5, 0.5]
    assert data[component].values.tolist() == [0, 1]
    assert float(data[f"{name} (measure)"]) == answer[name] == 1.5
    assert answer.to_pandas()[f"{name} (measure)"].tolist() == [1.5, 1.5]


def test_measures_and_components_called_time_remain_beside_the_times() -> None:
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(time=1 - s.time), 1.0

    machine = explore(rules, start={"time": 0}, rewards=lambda s: {"time": s.time})
    answer = transient(machine, [0.0, 1.0])
    mean = 0.5 - 0.5 * np.exp(-2.0)
    np.testing.assert_allclose(answer.measures["time (measure)"], [0.0, mean], rtol=1e-12)
    np.testing.assert_allclose(answer.accumulated["time (measure)"], [0.0, 0.5 - 0.5 * mean], rtol=1e-9)
    assert answer.probabilities["time (component)"].values.tolist() == [0, 1]
    for data in (answer.measures, answer.accumulated, answer.probabilities):
        assert data.time.values.tolist() == [0.0, 1.0]


def test_tables_beside_each_other_show_measures_called_like_their_rows() -> None:
    columns = compare(one=stationary(queue_with("method")), other=stationary(queue_with("chain", "method")))
    assert columns.summary()["method (measure)"]["one"].startswith("0.5")
    assert columns.summary()["method"]["one"].startswith("GTH")
    pair = compare(one=stationary(queue_with("chain")), other=stationary(queue_with("chain")))
    assert pair.to_xarray()["chain (measure)"].values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["certain", "lower", "allowed", "values tried", "rate"])
def test_the_best_value_is_shown_of_a_measure_with_any_name(name: str) -> None:
    found = best(queue_with(name), "rate", among=[1.0, 2.0], maximize=name)
    assert found.summary()[f"{name} (measure)"].startswith("0.5 +- ")
    assert found.summary()["rate"] == found.value
    assert found.summary()["certain"] is False  # both are as good
    assert found.table.allowed.values.tolist() == [True, True]
    assert len(found.plot().lines) == 3


def test_estimates_are_shown_of_parameters_with_the_names_of_rows() -> None:
    def rules(n: int, q: Any) -> Any:
        yield 1 - n, q.status

    seen = ObservedPath([0.0, 1.0, 2.0], [0, 1, 0], end=4.0)
    found = estimate(explore(rules, start=0, params={"status": 1.0}), seen, ["status"])
    assert found.summary()["status"] == "converged"
    assert found.summary()["status (parameter)"].startswith("0.5,")


def test_a_chain_without_a_throughput_says_so():
    answer = stationary([[-1.0, 1.0], [1.0, -1.0]])
    assert not answer.measures
    with pytest.raises(AttributeError, match=r"^Stationary: the chain has no throughput"):
        answer.throughput  # noqa: B018
