"""A file's states as those of a model: their names, the start, labels and rewards."""

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

from markov import passage, read_jani, read_prism, stationary, transient
from markov.files import FileModel
from tests.markov.files.conftest import QUEUE, jani_queue, model_of

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
    assert sorted(zip(*chain.states, strict=True)) == [
        (kind, on) for kind in (3, 4, 5) for on in (False, True)
    ]
    assert chain.model.start() == (4, False)
    assert chain.number_of((4, False)) == chain.states.vclass.tolist().index(4)


def test_labels_and_rewards_are_measures(tmp_path: Path) -> None:
    answer = stationary(model_of(tmp_path, LIGHT))
    # on for 1 s, off for 1/2 s: each of three classes alike
    assert answer["lit"] == pytest.approx(2 / 9, rel=1e-14)
    assert answer["reward 1"] == pytest.approx(3 * 2 / 3 + 10 * 2 / 3, rel=1e-14)


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
            distributed = pytest.importorskip("distributed", reason="needs hopflow[scale]")
            cluster = distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=":0"
            )
            client = closed.enter_context(distributed.Client(closed.enter_context(cluster)))
            pool: Any = client.get_executor()
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
