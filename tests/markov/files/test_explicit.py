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


def files(folder: Path, **texts: str) -> Path:
    """Write files of one name by their endings; return that of the transitions, or the only one."""
    for ending, text in texts.items():
        (folder / f"m.{ending}").write_text(text)
    return folder / f"m.{next(iter(texts))}"


FULL = '0="init" 1="deadlock" 2="full"\n0: 0\n2: 2\n'
RING = "3 3\n0 1 2\n1 2 2\n2 0 4\n"  # pi = 2/5, 2/5, 1/5


@pytest.mark.parametrize(
    "texts",
    [
        {"tra": RING, "lab": FULL, "srew": "3 2\n1 1\n2 2\n"},
        {"tra": RING, "lab": FULL, "sta": "(n)\n0:(0)\n1:(1)\n2:(2)\n", "srew": "3 2\n1 1\n2 2\n"},
        {"tra": "ctmc\n0 1 2\n1 2 2\n2 0 4\n", "lab": "#DECLARATION\ninit full\n#END\n0 init\n2 full\n", "srew": "1 1\n2 2\n"},
    ],
    ids=["PRISM", "PRISM with states", "Storm"],
)  # fmt: skip
def test_labels_and_rewards_are_measures_and_in_properties(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    model = read_explicit(files(tmp_path, **texts))
    answer = stationary(model)
    assert (answer["full"], answer["reward"]) == (pytest.approx(0.2), pytest.approx(0.8))
    values = {
        'S=? [ "full" ]': 0.2,
        "R=? [ S ]": 0.8,
        'R{"reward"}=? [ F "full" ]': 0.5,
        'T=? [ F "full" ]': 1.0,
        'P=? [ !"full" U<=1 "full" ]': 1 - 3 * np.exp(-2.0),
    }
    for text, value in values.items():
        assert model.property(text).value == pytest.approx(value, rel=1e-9), text


def test_newer_versions_of_prism_name_the_reward(tmp_path: Path) -> None:
    rewards = '# Reward structure "jobs"\n# State rewards\n3 1\n1 2\n'
    model = read_explicit(files(tmp_path, tra=RING, srew=rewards))
    assert stationary(model)["jobs"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("header", "entries"),
    [
        ("coordinate real general", "2 2 2\n1 2 0.25\n2 1 1e0\n"),
        ("coordinate integer general", "% comment\n2 2 4\n1 2 1\n2 1 4\n1 1 -1\n2 2 -4\n"),
        ("array real general", "2 2\n0\n1\n0.25\n0\n"),
    ],
)
def test_matrix_market_is_read(tmp_path: Path, header: str, entries: str) -> None:
    path = files(tmp_path, mtx=f"%%MatrixMarket matrix {header}\n{entries}")
    assert stationary(read_explicit(path)).pi.tolist() == [0.8, 0.2]
    own = scipy.io.mmread(str(path))
    off = np.asarray(own.todense() if hasattr(own, "todense") else own)
    assert (read_explicit(path).chain.Q.toarray() * (1 - np.eye(2)) == off * (1 - np.eye(2))).all()


def test_symmetric_matrices_have_both_halves(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 3\n"
    assert read_explicit(files(tmp_path, mtx=text)).chain.Q.toarray().tolist() == [[-3, 3], [3, -3]]


def test_a_truncated_matrix_is_refused_at_every_length(tmp_path: Path) -> None:
    """One cut within a number may have another value; the counts show all others."""
    text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.0e-3\n2 1 7.0e-3"
    for length in range(len(text) - len("7.0e-3")):
        with pytest.raises(FileError, match=r"m\.mtx"):
            read_explicit(files(tmp_path, mtx=text[:length]))
    for end in ("7.0e", "7.0e-", "\0", "7\0"):
        with pytest.raises(FileError, match=r"m\.mtx, line 4: .*finite number"):
            read_explicit(files(tmp_path, mtx=text.removesuffix("7.0e-3") + end))
