"""Explicit files, Matrix Market and graphs: round trips, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.io

from markov import (
    PauseTandem,
    explore,
    from_networkx,
    passage,
    read_explicit,
    stationary,
    to_networkx,
    write_explicit,
)
from markov.errors import FileError

TRA = "3 4\n0 1 0.5\n1 2 0.25\n2 0 1e0\n1 0 3\n"


@pytest.mark.parametrize("ending", [".tra", ".mtx"])
def test_what_is_written_is_read_back_exactly(tmp_path: Path, ending: str) -> None:
    chain = stationary(PauseTandem(buffers=(3, 4), high_threshold=3, rtt=0.3)).chain
    write_explicit(chain, tmp_path / f"chain{ending}")
    found = read_explicit(tmp_path / f"chain{ending}").chain
    assert (found.Q != chain.Q).nnz == 0


def test_labels_names_and_rewards_lie_beside_the_transitions(tmp_path: Path) -> None:
    (tmp_path / "m.tra").write_text(TRA)
    (tmp_path / "m.lab").write_text('0="init" 1="deadlock" 2="full"\n0: 0\n2: 2\n')
    (tmp_path / "m.srew").write_text("3 2\n1 1.5\n2 2\n")
    (tmp_path / "m.sta").write_text("(n)\n0:(0)\n1:(1)\n2:(2)\n")
    found = read_explicit(tmp_path / "m.tra")
    assert found.labels["full"].tolist() == [False, False, True]
    assert found.rewards.tolist() == [0.0, 1.5, 2.0]
    assert found.chain.states == ("(0)", "(1)", "(2)")
    mean = passage(found, to=found.labels["full"], start="(0)").mean
    assert mean == pytest.approx(2.0 + (1.0 + 2.0 * 3.0) / 0.25)


def test_labels_of_a_model_are_written(tmp_path: Path) -> None:
    model = explore(lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: {"last": n == 2})
    write_explicit(model, tmp_path / "m.tra")
    found = read_explicit(tmp_path / "m.tra")
    assert found.labels["last"].tolist() == [False, False, True]


def test_rates_without_a_diagonal_make_a_generator(tmp_path: Path) -> None:
    scipy.io.mmwrite(str(tmp_path / "m.mtx"), np.array([[0.0, 0.25], [1.0, 0.0]]))
    found = read_explicit(tmp_path / "m.mtx")
    assert stationary(found).pi.tolist() == [0.8, 0.2]
    (tmp_path / "m.mtx").write_text("nothing")
    with pytest.raises(FileError, match="no Matrix Market"):
        read_explicit(tmp_path / "m.mtx")


def test_models_of_listed_states_are_pickled_and_equal(tmp_path: Path) -> None:
    for ending in (".umb", ".tra"):
        path = tmp_path / f"chain{ending}"
        write_explicit([[-0.25, 0.25], [1.0, -1.0]], path)
        found = read_explicit(path)
        assert pickle.loads(pickle.dumps(found)) == found == read_explicit(path)
        write_explicit([[-0.5, 0.5], [1.0, -1.0]], path)
        assert read_explicit(path) != found


def test_a_graph_goes_out_and_in() -> None:
    chain = stationary(PauseTandem(buffers=(3, 4), high_threshold=3)).chain
    found = from_networkx(to_networkx(chain))
    assert (found.Q != chain.Q).nnz == 0
    with pytest.raises(ValueError, match="directed"):
        from_networkx(nx.Graph())
    graph = nx.DiGraph()
    graph.add_edge(0, 1)
    with pytest.raises(ValueError, match="0 to 1 has no rate 'rate'"):
        from_networkx(graph)
