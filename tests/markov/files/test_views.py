"""Models of files: states, listed chains, rewards, resets, errors."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from markov import MM1K, passage, read_explicit, read_jani, read_prism, stationary, transient, write_explicit
from markov.errors import FileError
from markov.files import FileModel
from markov.files.chains import FileChain, ListedStates
from markov.files.models import reward_rates
from markov.models.bare import named_state
from markov.models.spaces import Space
from tests.dask_clusters import dask_client
from tests.markov.files.conftest import QUEUE, jani_queue, model_of


def test_models_in_steps_are_refused_with_what_solves_them(tmp_path: Path) -> None:
    """A dtmc is parsed; its numbers are not rates."""
    path = tmp_path / "coin.pm"
    path.write_text("dtmc module coin s : [0..1]; [] true -> 0.5 : (s'=0) + 0.5 : (s'=1); endmodule")
    with pytest.raises(FileError, match=r"coin.pm: a model with discrete time: must be a ctmc; DiscreteChain solves"):
        stationary(read_prism(path))
    with pytest.raises(FileError, match=r"coin.pm: properties of models with discrete time .*; DiscreteChain solves"):
        read_prism(path).property("S=? [ s=1 ]")


# A file's states as those of a model: their names, the start, labels and rewards.


LIGHT = """
ctmc
module light
  class : [3..5] init 4;
  on : bool init false;
  [] on -> 1 : (on' = false) & (class' = class < 5 ? class + 1 : 3);
  [go] !on -> 2 : (on' = true);
endmodule
label "lit" = on & class = 5;
rewards [go] true : 10; on : 3; endrewards
"""
SWITCHED = """ctmc
const int N;
const double lam = 1.5;
module queue
  x : [0..N] init 0;
  b : bool init false;
  [] x < N -> lam : (x' = x + 1);
  [] x > 0 -> 2 : (x' = x - 1);
  [] true -> 1 : (b' = !b);
endmodule
label "full" = x = N;
rewards "mean" true : x; endrewards
"""


def test_variables_are_components_even_where_a_name_is_pythons(tmp_path: Path) -> None:
    chain = model_of(tmp_path, LIGHT).chain
    assert chain.states._fields == ("vclass", "on")
    assert sorted(zip(*chain.states, strict=True)) == [(kind, on) for kind in (3, 4, 5) for on in (False, True)]
    assert chain.model.start() == (4, False)
    assert chain.number_of((4, False)) == chain.states.vclass.tolist().index(4)


def test_labels_and_rewards_are_measures(tmp_path: Path) -> None:
    answer = stationary(model_of(tmp_path, LIGHT))
    # on for 1 s, off for 1/2 s: each of three classes alike
    assert answer["lit"] == pytest.approx(2 / 9, rel=1e-14)
    assert answer["reward 1"] == pytest.approx(3 * 2 / 3 + 10 * 2 / 3, rel=1e-14)


def test_a_label_and_a_reward_of_one_name_are_two_measures(tmp_path: Path) -> None:
    """PRISM has names of labels and of reward structures; the reward was taken for both, as a set of states too."""
    text = """ctmc
    module machine x : [0..1] init 1; [] x = 1 -> 2 : (x' = 0); [] x = 0 -> 6 : (x' = 1); endmodule
    label "up" = x = 1;
    rewards "up" x = 0 : 1; endrewards
    """
    model = model_of(tmp_path, text)
    write_explicit(model, tmp_path / "machine.umb")
    again = read_explicit(tmp_path / "machine.umb")
    for read in (model, again):
        answer = stationary(read)
        assert answer["up"] == answer.probability("up") == 0.75
        assert answer['R{"up"}'] == read.property('R{"up"}=? [ S ]').value == 0.25
        assert answer.bound("up").value + answer.bound('R{"up"}').value == 1.0
        assert transient(read, [0.0])["up"].tolist() == [1.0]
    assert passage(model, to="up", start={"x": 0}).mean == pytest.approx(1 / 6, rel=1e-14)


def test_a_label_and_a_reward_of_one_name_are_two_measures_of_infinitely_many_states(tmp_path: Path) -> None:
    text = """ctmc
    module queue n : int; [] true -> 1 : (n' = n + 1); [] n > 0 -> 2 : (n' = n - 1); endmodule
    label "n" = n = 0;
    rewards "n" true : n; endrewards
    """
    answer = stationary(model_of(tmp_path, text))
    assert answer.bound("n").value == pytest.approx(0.5, rel=1e-12)
    assert answer.bound('R{"n"}').value == pytest.approx(1.0, rel=1e-12)


def test_states_of_another_order_have_their_own_labels(queue: Any) -> None:
    model = queue.chain.model
    backwards = model.State(np.arange(10, -1, -1))
    assert model.labels(backwards)["full"].tolist() == [True] + [False] * 10
    np.testing.assert_allclose(model.rewards(backwards)["length"], np.arange(10.0, -1.0, -1.0))
    np.testing.assert_allclose(model.rewards(backwards)["served"], [10.0] * 10 + [0.0])


def test_constants_may_be_replaced(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE, arrival=7.0).chain.model
    assert model.constants == {"N": 10, "arrival": 7.0, "service": 10.0}
    assert model.replace(N=3, arrival=1.0).chain.size == 4
    assert model.replace(arrival=7.0).chain.model == model
    assert model.replace(arrival=1.0).chain.model != model


def test_answers_of_files_are_pickled_and_equal(tmp_path: Path) -> None:
    """Copies and answers of the same file are equal; those with another constant are not."""
    path, props = tmp_path / "queue.sm", tmp_path / "queue.props"
    path.write_text(SWITCHED)
    props.write_text('"long": S=? [ full ];\n')

    def read(N: int) -> FileModel:
        return read_prism(path, constants={"N": N})

    found = [
        lambda N: read(N),
        lambda N: read(N).with_properties(props),
        lambda N: read(N).chain,
        lambda N: stationary(read(N)),
        lambda N: transient(read(N), [1.0]),
        lambda N: passage(read(N), to="full"),
    ]
    for make in found:
        one = make(3)
        assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one == make(3)
        assert one != make(4)
        assert hash(one) == hash(make(3))
    answer = stationary(read(3))
    again = pickle.loads(pickle.dumps(answer))
    assert again.measures.equals(answer.measures)
    assert again.probability("full") == answer.probability("full") > 0.0
    assert again.bound("mean").value == answer.bound("mean").value
    assert again.chain.model.start() == answer.chain.model.start() == (0, False)
    assert again.chain.model.constants == {"N": 3, "lam": 1.5}


def evaluated(model: FileModel) -> tuple[Any, float]:
    """Return the stationary answer of a model, and the value of its property."""
    return stationary(model), model.property("full").value


def test_models_of_jani_files_are_pickled_and_equal(tmp_path: Path) -> None:
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(jani_queue()))
    one = read_jani(path, constants={"N": 4})
    again = pickle.loads(pickle.dumps(one))
    assert again == one == copy.deepcopy(one)
    assert again != read_jani(path, constants={"N": 5})
    assert evaluated(again) == evaluated(one)
    answer = stationary(one)
    assert pickle.loads(pickle.dumps(answer)) == answer


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "Dask"])
def test_models_of_files_go_to_processes_and_to_dask(where: str, tmp_path: Path) -> None:
    jani, prism = tmp_path / "queue.jani", tmp_path / "queue.sm"
    jani.write_text(json.dumps(jani_queue()))
    prism.write_text(SWITCHED)
    models = [read_jani(jani, constants={"N": 4}), read_prism(prism, constants={"N": 4})]
    with ExitStack() as closed:
        if where == "Dask":
            pool: Any = closed.enter_context(dask_client(1)).get_executor()
        else:
            pool = closed.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        for model, found in zip(models, pool.map(stationary, models), strict=True):
            here = stationary(model)
            assert found.chain == here.chain
            assert np.abs(found.pi - here.pi).sum() <= 2.0 * (found.error_bound + here.error_bound)
        value = pool.submit(evaluated, models[0]).result()[1]
        assert value == pytest.approx(models[0].property("full").value, rel=1e-14)


def test_models_of_different_kinds_are_not_equal(tmp_path: Path) -> None:
    path = tmp_path / "queue.sm"
    path.write_text(SWITCHED)
    model = read_prism(path, constants={"N": 2})
    assert model != model.chain.model
    assert model.chain.model != model
    assert read_prism(path, constants={"N": 2}, most=50) != model


# A model read from a file is the chain that rules give.


def test_a_queue_from_a_file_is_the_one_from_rules(queue: Any) -> None:
    mine = stationary(MM1K(capacity=10, arrival_rate=7.0, service_rate=10.0))
    theirs = stationary(queue)
    np.testing.assert_allclose(theirs.pi, mine.pi, rtol=1e-13)
    assert theirs["full"] == pytest.approx(mine.pi[10], rel=1e-13)


def test_a_mean_passage_time_is_that_of_the_birth_death_formula(queue: Any) -> None:
    assert set(queue.program.rewards) == {"length", "served"}
    found = passage(queue, to="full")
    exact = sum(sum((10.0 / 7.0) ** j for j in range(k + 1)) / 7.0 for k in range(10))
    assert abs(found.mean - exact) <= found.mean_error + 1e-14 * exact
    length = queue.property('R{"length"}=? [ F "full" ]')
    assert found.reward("length").value == pytest.approx(length.value, rel=1e-13)


def test_constants_of_no_name_are_refused_before_any_work(tmp_path: Path, queue: Any) -> None:
    """They would change nothing, and nobody would notice."""
    model = model_of(tmp_path, QUEUE, arrival=7.0, sevrice=3.0)
    with pytest.raises(ValueError, match=r"constants = 'sevrice'.*did you mean 'service'"):
        stationary(model)
    with pytest.raises(ValueError, match="constants = 'T'"):
        queue.property("S=? [ n>3 ]", constants={"T": 1.0})
    path = tmp_path / "queue.props"
    path.write_text('const double T;\n"soon": P=? [ F<=T n=3 ]\n')
    with_time = model_of(tmp_path, QUEUE, arrival=7.0, T=2.0).with_properties(path)
    assert 0.0 < with_time.property("soon").value < 1.0


# Models of listed states: pickled and compared by value, measures in single states.


def listed(**changes) -> FileChain:
    space = Space(named_state("State", ("n", "on")), {"n": range(2, 4), "on": [False, True]})
    given = {
        "name": "m.umb", "space": space, "variables": {}, "state_rewards": {}, "loops": np.zeros(3),
        "codes": np.array([[2, 2, 3], [0, 1, 1]]), "Q": sp.csr_matrix((3, 3)),
        "label_arrays": {"high": np.array([False, False, True])},
        "reward_arrays": {"cost": np.array([1.0, 2.0, 4.0])},
        "is_initial": np.array([True, False, False]), "default_start": False,
    }  # fmt: skip
    return FileChain(ListedStates(**(given | changes)))


def test_equality_is_by_value_and_survives_pickling() -> None:
    model = listed()
    assert pickle.loads(pickle.dumps(model)) == model == listed()
    assert hash(listed()) == hash(model)
    for changes in (
        {"name": "other.umb"},
        {"reward_arrays": {"cost": np.array([1.0, 2.0, 5.0])}},
        {"is_initial": np.array([False, True, False])},
    ):
        assert listed(**changes) != model


def test_labels_and_rewards_are_those_of_the_states() -> None:
    model = listed()
    assert model.start() == (2, False)
    assert model.rewards(model.State(3, True))["cost"] == 4.0
    assert model.labels(model.State(2, True))["high"] == False
    states = model.State(np.array([3, 2]), np.array([True, False]))
    assert model.rewards(states)["cost"].tolist() == [4.0, 1.0]
    with pytest.raises(ValueError, match="must be states of the chain"):
        model.rewards(model.State(3, False))


def test_several_initial_states_are_no_start() -> None:
    assert listed(is_initial=np.array([True, True, False])).start() is None


# Rewards of states and of transitions.


def test_states_earn_by_time_and_transitions_by_their_rates(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE, arrival=7.0)
    states, both = reward_rates("length", model.program, model.state_space)
    np.testing.assert_array_equal(states, np.arange(11.0))
    np.testing.assert_array_equal(both, states)
    states, both = reward_rates("served", model.program, model.state_space)
    np.testing.assert_array_equal(states, np.zeros(11))
    np.testing.assert_array_equal(both, [0.0, *[10.0] * 10])


@pytest.mark.parametrize(("value", "said"), [("n>3", "is a truth value"), ("1/(n-3)", "that is no finite number")])
def test_what_is_no_number_is_refused(value: str, said: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, f'{QUEUE}\nrewards "wrong" true : {value}; endrewards', arrival=7.0)
    with pytest.raises(FileError, match=said):
        reward_rates("wrong", model.program, model.state_space)


# What is said of a file that cannot be read.


@pytest.mark.parametrize(("line", "said"), [(3, "queue.sm, line 3: no rate"), (None, "queue.sm: no rate")])
def test_an_error_names_the_file_and_the_line_where_it_is_known(line: int | None, said: str) -> None:
    error = FileError(("queue.sm", line), "no rate")
    assert str(error) == said
    assert (error.file, error.line, error.reason) == ("queue.sm", line, "no rate")
    assert isinstance(error, ValueError)
