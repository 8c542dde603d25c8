"""Explicit files, Matrix Market and graphs: round trips, and what is refused."""

from __future__ import annotations

import contextlib
import math
import pickle
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

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
    read_prism,
    stationary,
    to_networkx,
    write_explicit,
)
from markov.errors import ConvergenceError, FileError
from tests.surface import invoke

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


def test_variables_of_a_file_of_states_are_those_of_properties(tmp_path: Path) -> None:
    """PRISM's listing of M/M/1/2 with a breakdown flag, not in the order of the values; a text is no variable."""
    (tmp_path / "m.tra").write_text("3 4\n0 1 0.5\n1 2 0.5\n1 0 1\n2 1 1\n")
    (tmp_path / "m.sta").write_text("(n,up,name)\n0:(0,true,a)\n2:(-2,false,c)\n1:(1,true,b)\n")
    found = read_explicit(tmp_path / "m.tra")
    assert {name: values.tolist() for name, values in found.variables.items()} == {
        "n": [0, 1, -2], "up": [True, True, False],
    }  # fmt: skip
    for text, value in (("n = 1", 2 / 7), ("n < 0 | !up", 1 / 7), ("n + state = 2 & up", 2 / 7), ("state = 2", 1 / 7)):
        assert found.property(f"S=? [ {text} ]").value == pytest.approx(value, abs=1e-14)
        done = invoke(["solve", str(tmp_path / "m.tra"), "--property", f"S=? [ {text} ]", "--json"])
        assert done.exit_code == 0, done.output
    assert stationary(found).bound(found.variables["n"]).value == pytest.approx(2 / 7 - 2 / 7, abs=1e-14)
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(FileError, match="'name' is not defined"):
        found.property("S=? [ name = 1 ]")
    (tmp_path / "m.sta").write_text("(n)\n0:(0,true)\n2:(2,false)\n1:(1,true)\n")
    with pytest.raises(FileError, match=r"m\.sta: state 0 has 2 values, must be 1"):
        read_explicit(tmp_path / "m.tra")
    (tmp_path / "m.sta").write_text("(n:int)\n0:(0)\n2:(2)\n1:(1)\n")
    with pytest.raises(FileError, match=r"m\.sta, line 1: 'n:int': must be the name of a variable"):
        read_explicit(tmp_path / "m.tra")
    (tmp_path / "m.sta").write_text("(n,n)\n0:(0,1)\n2:(2,1)\n1:(1,1)\n")
    with pytest.raises(FileError, match=r"m\.sta, line 1: a variable is named twice"):
        read_explicit(tmp_path / "m.tra")


def test_text_after_the_values_of_a_state_is_named_and_no_value(tmp_path: Path) -> None:
    """As programs write that list exit rates and targets there: the last variable was lost without a word."""
    (tmp_path / "m.tra").write_text("3 4\n0 1 0.5\n1 2 0.5\n1 0 1\n2 1 1\n")
    (tmp_path / "m.sta").write_text("(up,n)\n0:(true,0) [ 0.5 ]\n1:(true,1) [ 1.5 ]\n2:(false,2) [ 1.0 TARGET ]\n")
    with pytest.warns(
        UserWarning, match=r"m\.sta, line 2: '\[ 0\.5 \]' after the values of a state is skipped"
    ) as warned:
        found = read_explicit(tmp_path / "m.tra")
    assert len(warned) == 1
    assert found.property("S=? [ n = 2 ]").value == pytest.approx(1 / 7)
    assert found.chain.states == ("(true,0)", "(true,1)", "(false,2)")


@pytest.mark.parametrize(("head", "rows", "warns"), [
    ("3 4", "0 1 0.5\n0 2 0.5\n1 0 1\n2 2 1", True),
    ("3 3", "0 1 0.333333333\n0 2 0.666666667\n1 0 1", True),  # rounded, and the last state has no transition
    ("# Transitions (CTMC)\n3 4", "0 1 0.5\n0 2 0.5\n1 0 1\n2 2 1", False),
    ("3 3", "0 1 0.333\n0 2 0.666\n1 0 1", False),
    ("3 3", "0 1 1\n1 2 1\n2 0 1", False),  # rates of one
    ("3 4", "0 1 0.5\n0 2 0.5\n1 0 2\n2 2 1", False),
    ("ctmc", "0 1 0.5\n0 2 0.5\n1 0 1\n2 2 1", False),
])  # fmt: skip
def test_numbers_like_probabilities_are_taken_for_rates_with_a_word(
    tmp_path: Path, head: str, rows: str, warns: bool
) -> None:
    (tmp_path / "m.tra").write_text(f"{head}\n{rows}\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_explicit(tmp_path / "m.tra")
    said = "m.tra: the numbers from each state sum to 1, as probabilities do, and are taken for rates in 1/s"
    assert [str(warning.message).startswith(said) for warning in caught] == [True] * warns
    remedy = "if they are, make '# Transitions (CTMC)' the first line; a chain in discrete time is a DiscreteChain"
    assert all(str(warning.message).endswith(remedy) for warning in caught)
    assert found.chain.Q[0, 1] in (0.5, 0.333333333, 0.333, 1.0)


def test_rates_like_probabilities_in_matrix_market_are_taken_for_rates_with_a_word(tmp_path: Path) -> None:
    """A jump matrix without stays; with a diagonal it is a generator, or refused."""
    jumps = "1 2 0.5\n1 3 0.5\n2 1 1\n3 1 1\n"
    said = "the numbers from each state sum to 1, as probabilities do, and are taken for rates in 1/s"
    with pytest.warns(UserWarning, match=said):
        found = read_explicit(files(tmp_path, mtx=f"%%MatrixMarket matrix coordinate real general\n3 3 4\n{jumps}"))
    diagonal = "1 1 -1\n2 2 -1\n3 3 -1\n"
    text = f"%%MatrixMarket matrix coordinate real general\n3 3 7\n{jumps}{diagonal}"
    assert read_explicit(files(tmp_path, mtx=text)).chain == found.chain


def test_labels_of_a_model_are_written(tmp_path: Path) -> None:
    model = explore(lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: {"last": n == 2})
    write_explicit(model, tmp_path / "m.tra")
    found = read_explicit(tmp_path / "m.tra")
    assert found.labels["last"].tolist() == [False, False, True]


def walk(**options: Any) -> Any:
    """A walk on 0 .. 3 from 2."""

    def rules(n: int) -> Any:
        return [(m, 1.0 + m) for m in (n - 1, n + 1) if 0 <= m <= 3]

    return explore(rules, start=2, labels=lambda n: {"last": n == 3}, **options)


@pytest.mark.parametrize("ending", [".tra", ".umb"])
def test_the_initial_states_of_a_model_are_written(tmp_path: Path, ending: str) -> None:
    """Read back, a property begins where the model does, not in state 0."""
    path = tmp_path / f"m{ending}"
    write_explicit(walk(), path)
    found = read_explicit(path)
    assert np.flatnonzero(found.labels["init"]).tolist() == [2]
    text = 'P=? [ F<=0.1 "last" ]'
    expected = passage(walk(), to="last").distribution(0.1).cdf[0]
    assert found.property(text).value == pytest.approx(expected, rel=1e-9)
    write_explicit(found, tmp_path / f"again{ending}")
    assert np.flatnonzero(read_explicit(tmp_path / f"again{ending}").labels["init"]).tolist() == [2]
    lines = "module m n:[0..3]; [] n<3 -> 1:(n'=n+1); [] n>0 -> 2:(n'=n-1); endmodule"
    (tmp_path / "two.sm").write_text(f'ctmc {lines} init n=1 | n=2 endinit label "last"=n=3;')
    write_explicit(read_prism(tmp_path / "two.sm"), path)
    assert np.flatnonzero(read_explicit(path).labels["init"]).tolist() == [1, 2]
    with pytest.raises(FileError, match="the initial states have different values: use a filter"):
        read_explicit(path).property(text)


def test_files_of_another_chain_beside_a_written_one_are_refused(tmp_path: Path) -> None:
    """They would be read with it: labels, rewards and names of the chain that had this name before."""
    path = tmp_path / "m.tra"
    write_explicit(walk(), path)
    write_explicit(walk(), path)  # the labels are written again
    with pytest.raises(ValueError, match=r"m\.lab lies beside it, and would be read with it: remove it"):
        write_explicit([[-1.0, 1.0], [1.0, -1.0]], path)
    for name in ("m.sta", "m.srew", "m.trew", "m1.srew"):
        (tmp_path / name).write_text("4 1\n0 1\n")
        with pytest.raises(ValueError, match=rf"{re.escape(name)} lies beside it"):
            write_explicit(walk(), path)
        (tmp_path / name).unlink()
    odd = explore(lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: {"init": n == 2})
    for ending in (".tra", ".umb"):
        with pytest.raises(ValueError, match=r"its label 'init' is not of its initial states"):
            write_explicit(odd, tmp_path / f"odd{ending}")


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


@pytest.mark.parametrize(
    ("ends", "value", "message"),
    [
        ("ab", "3/s", "the edge 'a' to 'b': rate = '3/s': must be a finite number >= 0"),
        ("ab", -3.0, "the edge 'a' to 'b': rate = -3: must be a finite number >= 0"),
        ("ab", math.nan, "the edge 'a' to 'b': rate = nan: must be a finite number >= 0"),
        ("aa", math.inf, "the edge 'a' to 'a': rate = inf: must be a finite number"),
        ("aa", -5.0, "the edge 'a' to itself: rate = -5: must be >= 0, or -2 as on the diagonal of a generator"),
    ],
)
def test_an_edge_with_a_bad_rate_is_named(ends: str, value: Any, message: str) -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", rate=2.0)
    graph.add_edge("b", "a", rate=1.0)
    graph.add_edge(*ends, rate=value)
    with pytest.raises(ValueError, match=re.escape(message)):
        from_networkx(graph)


@pytest.mark.parametrize("loop", [0.0, 5.0, -2.0])
def test_an_edge_to_itself_changes_nothing(loop: float) -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", rate=2.0)
    graph.add_edge("a", "a", rate=loop)
    assert from_networkx(graph).Q.toarray().tolist() == [[-2.0, 2.0], [0.0, 0.0]]


def test_edges_like_probabilities_are_taken_for_rates_with_a_word() -> None:
    """As in files; a loop with the negative sum of a node's rates says that they are rates."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("sun", "sun", 0.9), ("sun", "rain", 0.1), ("rain", "sun", 1.0)], weight="p")
    with pytest.warns(UserWarning, match="graph: the numbers from each state sum to 1, as probabilities do, and are"):
        found = from_networkx(graph, rate="p")
    assert found.exit_rates.tolist() == [0.1, 1.0]
    graph.add_edge("sun", "sun", p=-0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_networkx(graph, rate="p")


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
def test_labels_and_rewards_are_measures_and_in_properties(tmp_path: Path, texts: dict[str, str]) -> None:
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


@pytest.mark.parametrize("above", ["", "# ring.sm, by hand\n"])
def test_newer_versions_of_prism_name_the_reward(tmp_path: Path, above: str) -> None:
    rewards = above + '# Reward structure "jobs"\n# State rewards\n3 1\n1 2\n'
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


# Forms of the files of PRISM's own regression tests (prismmodelchecker/prism, prism-tests, GPL-2.0): the text is written here,
# structure, names and figures are those of the files named.


def polling() -> dict[str, str]:
    """Return functionality/import/poll2: two stations, arrivals at 1/2, polling at 200, service at 1; states by their variables."""
    states = [(s, a, x, y) for s in (1, 2) for a in (0, 1) for x in (0, 1) for y in (0, 1)]
    states = [each for each in states if each[0] == 1 or each[1:] != (1, 0, 0)]
    states = [(s, a, x, y) for s, a, x, y in states if not a or (x, y)[s - 1]]  # someone is served
    rows = []
    for s, a, x, y in states:
        rates = {(s, a, 1, y): 0.5 * (1 - x), (s, a, x, 1): 0.5 * (1 - y)}
        if a:
            rates[3 - s, 0, x * (s == 2), y * (s == 1)] = 1.0
        elif (x, y)[s - 1]:
            rates[s, 1, x, y] = 200.0
        else:
            rates[3 - s, 0, x, y] = 200.0
        rows += [(states.index((s, a, x, y)), states.index(to), rate) for to, rate in rates.items() if rate]
    marks = [
        f"{k}:{' 0' * (k == 0)}{' 2' * (state[2] == 0)}" for k, state in enumerate(states)
    ]  # states without a label have a line of their own here
    return {
        "tra": "\n".join(["# Transitions (CTMC)", f"12 {len(rows)}", *(f"{x} {y} {rate:g}" for x, y, rate in sorted(rows)), ""]),
        "sta": "# States\n(s,a,s1,s2)\n" + "".join(f"{k}:({','.join(map(str, state))})\n" for k, state in enumerate(states)),
        "lab": '# Labels\n0="init" 1="deadlock" 2="idle1"\n' + "\n".join(marks) + "\n",
        "srew": "# Reward structure\n# State rewards\n12 0\n",
        "trew": "# Reward structure\n# Transition rewards\n12 0\n",
    }  # fmt: skip


LOOPS = "# Transitions (CTMC)\n4 7\n0 1 1 a\n0 2 1 a\n1 1 1\n1 3 1 a\n2 2 1\n2 3 1 a\n3 3 2\n"
MACHINE = "# Transitions (CTMC)\n2 2\n0 1 1/4000 failLeft\n1 0 10 startLeft\n"


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        # the result that poll2.sm.props states, 0.393469: somebody comes to station 1 within 1 s, 1 - exp(-1/2)
        (polling(), {'P=? [ F<=1 !"idle1" ]': 0.393469}),
        # functionality/language/system.sm.tra: rates from a state to itself, actions on some lines
        ({"tra": LOOPS}, {"T=? [ F state=3 ]": 1.5, "P=? [ F<=1 state!=0 ]": 1 - np.exp(-2.0)}),
        # functionality/export/ctmc/cluster.sm.exact.tra: rates as ratios, where a machine fails in 4,000 h and is repaired at 10
        ({"tra": MACHINE}, {"S=? [ state=0 ]": 40_000 / 40_001, "T=? [ F state=1 ]": 4000.0}),
    ],
    ids=["poll2", "system", "exact"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.* give no initial state")
def test_files_of_prism(tmp_path: Path, texts: dict[str, str], values: dict[str, float]) -> None:
    model = read_explicit(files(tmp_path, **texts))
    for text, value in values.items():
        assert model.property(text).value == pytest.approx(value, rel=1e-6), text


def test_numbered_reward_structures_of_prism(tmp_path: Path) -> None:
    """functionality/export/ctmc/cluster.sm1.srew to cluster.sm3.trew: one file a structure, and one for its transitions."""
    path = files(tmp_path, tra=MACHINE)
    for k, (name, values) in enumerate({"percent_op": "0 100\n1 3/4\n", "time_not_min": "1 1\n"}.items(), 1):  # fmt: skip
        head = f'# Reward structure "{name}"\n'
        rewards = f"{head}# State rewards\n2 {values.count(chr(10))}\n{values}"
        (tmp_path / f"m{k}.srew").write_text(rewards)
        (tmp_path / f"m{k}.trew").write_text(f"{head}# Transition rewards\n2 0\n")
    answer = stationary(read_explicit(path))
    down = 1 / 40_001
    assert answer["percent_op"] == pytest.approx(100 * (1 - down) + 0.75 * down, rel=1e-12)
    assert answer["time_not_min"] == pytest.approx(down, rel=1e-9)
    (tmp_path / "m3.srew").write_text('# Reward structure "num_repairs"\n# State rewards\n2 0\n')
    (tmp_path / "m3.trew").write_text('# Reward structure "num_repairs"\n# Transition rewards\n2 1\n1 0 1\n')  # fmt: skip
    model = read_explicit(path)
    assert stationary(model)["num_repairs"] == pytest.approx(10 * down, rel=1e-12)
    (tmp_path / "m3.tra").write_text(MACHINE)  # which these rewards belong to then
    assert set(stationary(read_explicit(path)).measures) == {"percent_op", "time_not_min"}
    for suffix, kind in (("srew", "State"), ("trew", "Transition")):
        (tmp_path / f"m2.{suffix}").write_text(f'# Reward structure "percent_op"\n# {kind} rewards\n2 0\n')
    with pytest.raises(FileError, match=r"^m2\.srew: rewards 'percent_op': another file has"):
        read_explicit(path)


def test_reward_structures_without_names_have_their_numbers(tmp_path: Path) -> None:
    """As of older versions of PRISM, which write no comment above rewards."""
    path = files(tmp_path, tra=MACHINE)
    (tmp_path / "m1.srew").write_text("2 1\n0 1\n")
    (tmp_path / "m2.srew").write_text("2 1\n1 1\n")
    (tmp_path / "m2.trew").write_text("2 1\n1 0 1\n")
    (tmp_path / "m1.trew").write_text("2 0\n")
    down = 1 / 40_001
    model = read_explicit(path)
    assert stationary(model)["reward1"] == pytest.approx(1 - down, rel=1e-12)
    assert stationary(model)["reward2"] == pytest.approx(11 * down, rel=1e-12)
    assert model.property("R{2}=? [ S ]").value == pytest.approx(11 * down, rel=1e-9)


@pytest.mark.filterwarnings("ignore:.* give no initial state")
def test_rewards_of_transitions_count_at_their_rates(tmp_path: Path) -> None:
    """0 -> 1 at 2 and 1 -> 0 at 3, 5 for the first, 7 for a loop at 4 in state 1, and 1/2 per s in state 0."""
    rates = "# Transitions (CTMC)\n2 3\n0 1 2\n1 0 3\n1 1 4\n"
    path = files(tmp_path, tra=rates, srew="2 1\n0 1/2\n", trew="2 2\n0 1 5\n1 1 7\n")
    model = read_explicit(path)
    assert stationary(model)["reward"] == pytest.approx(0.6 * (0.5 + 2 * 5) + 0.4 * 4 * 7, rel=1e-14)
    assert model.property("R=? [ S ]").value == pytest.approx(17.5, rel=1e-12)
    with pytest.warns(UserWarning, match=r"rewards of transitions do not count in R \[ I=t \], as in PRISM"):
        assert model.property("R=? [ I=1000 ]").value == pytest.approx(0.3, rel=1e-12)
    assert model.property("R=? [ F state=1 ]").value == pytest.approx(0.25 + 5, rel=1e-12)
    assert pickle.loads(pickle.dumps(model)) == model
    properties = pickle.loads(pickle.dumps(model.model))
    assert properties == model.model
    assert properties.property("R=? [ S ]").value == model.property("R=? [ S ]").value
    (tmp_path / "m.srew").unlink()
    assert stationary(read_explicit(path))["reward"] == pytest.approx(17.2, rel=1e-14)


@pytest.mark.parametrize("mark", ["", '# Labels\n0="init" 1="full"\n0: 1\n1: 0\n'])
def test_initial_states_listed_in_the_transitions(tmp_path: Path, mark: str) -> None:
    """In the form of PRISM since December 2025; the label init may repeat them."""
    texts = {"tra": "# Transitions (CTMC)\n2 2\n- 1 -\n0 1 2\n1 0 3\n"} | ({"lab": mark} if mark else {})
    model = read_explicit(files(tmp_path, **texts))
    assert model.labels["init"].tolist() == [False, True]
    assert model.property("P=? [ F<=1 state=0 ]").value == pytest.approx(1 - np.exp(-3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # functionality/import/dice.tra, bugfixes/advgenexplicit.nm.props.adv.tra: probabilities would be taken for rates
        ("# Transitions (DTMC)\n2 2\n0 1 1\n1 1 1\n", "line 1: transitions of a model of type DTMC: must be CTMC"),
        # the same below a comment of the one who exported it, and below an empty line
        ("# dice, N = 2\n# Transitions (DTMC)\n2 2\n0 1 1\n1 1 1\n", "line 2: transitions of a model of type DTMC"),
        ("\n# transitions (mdp)\n2 2\n0 1 1\n1 1 1\n", "line 2: transitions of a model of type mdp"),
        # functionality/export/idtmc/dtmc_pctl.prism.tra
        ("# Transitions (IDTMC)\n2 2\n0 1 [0.5,0.5]\n1 1 [1,1]\n", "line 1: .* type IDTMC"),
        # functionality/export/lts/lec9ctl1.prism.tra
        ("# Transitions (LTS)\n2 2 2\n0 0 1\n1 0 1\n", "line 1: .* type LTS"),
        # functionality/export/ctmc/cluster.sm.rows.tra
        ("2 3\n0 10:0 10:1\n1 0.5:0\n", "line 2: rows of PRISM .-exportrows. are not read"),
        # functionality/export/ctmc/cluster.sm.matlab.tra
        ("R = sparse(2,2);\nR(1,2)=10;\n", "line 1: 'R = sparse.2,2.;': numbers of states"),
        # functionality/import/mdp-deadlocks.tra
        ("6 3 5\n0 0 0 0.4 east\n", "line 1: '6 3 5': numbers of states and of transitions"),
    ],
    ids=["dtmc", "dtmc below a comment", "mdp below an empty line", "idtmc", "lts", "rows", "matlab", "mdp"],
)  # fmt: skip
def test_other_files_of_prism_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=rf"^m\.tra, {message}"):
        read_explicit(files(tmp_path, tra=text))


# Forms of the files of Storm's own tests (moves-rwth/storm, resources/examples/testfiles, GPL-3.0), and what src/test/storm/parser
# says of them.


def cycle(states: int) -> str:
    return "cTmC\n" + "".join(f"{k} {(k + 1) % states} 1.0\n" for k in range(states))


def test_rewards_of_storm(tmp_path: Path) -> None:
    """rew/state_reward_parser_whitespaces.state.rew; its test compares rounded values with this formula."""
    values = [2 * i + i * i - 1.5 / (i + 0.1) + 15.7 for i in range(100)]
    gaps = (" ", "\t\t", " \t ", "   ")
    lines = [f"{gaps[i % 3][1:]}{i}{gaps[i % 4]}{x:g}{gaps[i % 2]}\n" for i, x in enumerate(values)]
    model = read_explicit(files(tmp_path, tra=cycle(100), srew="\n\n" + "\n \t\n".join(lines)))
    assert model.rewards == pytest.approx(values, rel=1e-5)
    assert stationary(model)["reward"] == pytest.approx(float(np.mean(values)), rel=1e-5)


def test_labels_of_storm(tmp_path: Path) -> None:
    """lab/withWhitespaces.lab, whose labels are the same as those of withoutWhitespaces.lab, and dtmc_general.lab."""
    spaces = '#DECLARATION\none \t9 &  two  "\tthree\n#END\n1 one \t\tthree\t\n2 two  "   \n5 two three  one\ttwo three\n7 one 9\n11 two &\n'
    plain = '#DECLARATION\none 9 & two " three\n#END\n1 one three\n2 two "\n5 one two three\n7 one 9\n11 two &\n'
    states = {"one": [1, 5, 7], "9": [7], "&": [11], "two": [2, 5, 11], '"': [2], "three": [1, 5]}
    for text in (spaces, plain):
        labels = read_explicit(files(tmp_path, tra=cycle(13), lab=text)).labels
        assert {name: np.flatnonzero(v).tolist() for name, v in labels.items()} == states
    several = "#DECLARATION\ninit one two three four\n#END\n0 init one two three four\n6 one two\n7 init one four\n"
    labels = read_explicit(files(tmp_path, tra=cycle(8), lab=several)).labels
    assert (len(labels), labels["init"].sum()) == (5, 2)  # as BasicCtmcParsing states
    none = read_explicit(files(tmp_path, tra=cycle(13), lab="#DECLARATION\n\n#END\n")).labels
    assert none == {}  # as NoLabelDeclaredNoneGiven


def test_transitions_of_storm(tmp_path: Path) -> None:
    """tra/ctmc.tra: rates from a state to itself, rates of 0, the kind in mixed case; and a file that only its kind makes another."""
    text = "cTmC\n0 0 10\n0 1 13\n0 2 42\n1 1 32.8\n1 2 0.5\n2 0 1000.0\n2 2 0.0\n"
    chain = read_explicit(files(tmp_path, tra=text)).chain
    assert chain.Q.toarray().tolist() == [[-55, 13, 42], [0, -0.5, 0.5], [1000, 0, -1000]]
    with pytest.raises(FileError, match=r"^m\.tra, line 1: a model of type 'dTmC' .Storm."):
        read_explicit(files(tmp_path, tra=text.replace("cTmC", "dTmC")))


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("lab", "phi\n#END\n0 phi\n", "line 1: labels between #DECLARATION and #END"),  # noDeclarationTag
        ("lab", "#DECLARATION\nphi\n0 phi\n", "line 1: labels between #DECLARATION and #END"),  # noEndTag
        ("lab", "#DECLARATOIN\nphi\n#END\n0 phi\n", "line 1: labels between"),  # declarationMisspell
        ("lab", "#DECLARATION\n#END\n0 phi\n", "line 3: 'phi': no label has this number or name"),  # undeclaredLabelsGiven
        ("lab", "#DECLARATION\nphi\n#END\n354 phi\n", "line 4: '354': must be a state, 0 to 2"),  # labelForNonexistentState
        ("lab", "#DECLARATION\none two\n#END\n1 one\n1 two\n", "line 5: state 1 has a line before"),  # doubledLines
        ("lab", "#DECLARATION\nphi\n#END\nphi 2\n", "line 4: 'phi': must be a state"),  # swappedStateAndProposition
        ("srew", "2 22.9857\n2 587.998\n", "line 2: state 2 has a reward before"),  # state_reward_parser_doubledLines
        ("srew", "0 1\n3 1\n", "line 2: '3': must be a state, 0 to 2"),  # RewardForNonExistentState
    ],
)  # fmt: skip
def test_what_storm_refuses_is_refused(tmp_path: Path, ending: str, text: str, message: str) -> None:  # fmt: skip
    with pytest.raises(FileError, match=rf"^m\.{ending}, {message}"):
        read_explicit(files(tmp_path, **{"tra": cycle(3), ending: text}))


# Matrices in the forms of other programs and their examples; entries are facts.


def random_walk(m: int) -> np.ndarray:
    """Return SPARSKIT's matrix of a random walk on a triangular grid (its MATGEN/FDIF/markov program), transposed as it says."""
    nodes = [(i, j) for j in range(m + 1) for i in range(m + 1 - j)]
    row = {node: k for k, node in enumerate(nodes)}
    P = np.zeros((len(nodes), len(nodes)))
    for i, j in nodes:
        down = 0.5 * (i + j) / m
        for a, b, p in ((i + 1, j, 0.5 - down), (i, j + 1, 0.5 - down), (i - 1, j, down), (i, j - 1, down)):  # fmt: skip
            if not p:
                continue
            # at an edge the way out goes to the other neighbour
            x, y = (a, b) if (a, b) in row else ((i, j - 1) if a < 0 else (i - 1, j))
            P[row[i, j], row[x, y]] += p
    assert P.sum(1) == pytest.approx(1.0)
    return P


def test_a_random_walk_of_sparskit(tmp_path: Path) -> None:
    """The stationary vector is that of the eigenvalue 1, by NumPy; without a diagonal the probabilities are rates."""
    P = random_walk(4)
    values, vectors = np.linalg.eig(P.T)
    vector = vectors[:, np.argmax(values.real)].real
    for matrix in (P, P - np.eye(len(P))):
        scipy.io.mmwrite(str(tmp_path / "walk.mtx"), matrix)
        with pytest.warns(UserWarning, match="as probabilities do") if matrix is P else contextlib.nullcontext():
            found = read_explicit(tmp_path / "walk.mtx")
        pi = stationary(found).pi
        assert pi == pytest.approx(vector / vector.sum(), abs=1e-12)
    scipy.io.mmwrite(str(tmp_path / "walk.mtx"), 0.5 * (P + np.eye(len(P))))
    with pytest.raises(ValueError, match=r"^walk\.mtx: .*row 0 of Q"):
        read_explicit(tmp_path / "walk.mtx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # the example of the format itself, in NISTIR 5935 and on NIST's page: a row without a neighbour, 1050
        ("%%MatrixMarket matrix coordinate real general\n%===\n% comments\n%===\n  5  5  8\n    1     1   1.000e+00\n    2     2   1.050e+01\n    3     3   1.500e-02\n    1     4   6.000e+00\n    4     2   2.505e+02\n    4     4  -2.800e+02\n    4     5   3.332e+01\n    5     5   1.200e+01\n", r"^m\.mtx: row 0 of Q sums to 7: must be 0"),
        # sprs/data/matrix_market/simple_int.mm of sparsemat/sprs: the same in whole numbers
        ("%%MatrixMarket matrix coordinate real general\n%\n  5  5  8\n 1 1 1\n 2 2 1\n 3 3 1\n 1 4 6\n 4 2 2\n 4 4 -2\n 4 5 3\n 5 5 1\n", r"^m\.mtx: row 0 of Q sums to 7: must be 0"),
        # small_A.mm of KratosMultiphysics/Kratos: a stiffness matrix
        ("%%MatrixMarket matrix coordinate real general\n  2  2  4\n 1 1 10.0\n 1 2 -2.0\n 2 2 7.0\n 2 1 -2.0\n", r"^m\.mtx: Q.0, 1. = -2 .row 0.: rates off the diagonal"),
    ],
    ids=["nist", "sprs", "kratos"],
)  # fmt: skip
def test_matrices_that_are_no_generators_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stationary(read_explicit(files(tmp_path, mtx=text)))


def test_comments_and_tabulators_of_other_writers(tmp_path: Path) -> None:
    """As the writer of dishevelled.org: a note on indices, sizes and entries apart by tabulators; here a queue of three."""
    entries = "1\t2\t0.5\n2\t3\t0.5\n2\t1\t1.0\n3\t2\t1.0\n"
    text = f"%%MatrixMarket matrix coordinate real general\n%\n% Note indices are 1-based.\n%\n3\t3\t4\n{entries}"
    assert stationary(read_explicit(files(tmp_path, mtx=text))).pi == pytest.approx(np.array([4, 2, 1]) / 7)  # fmt: skip


# Rates near the ends of float64: the right answer, or one message.


@pytest.mark.parametrize("ending", [".mtx", ".tra"])
@pytest.mark.parametrize(("up", "down"), [
    (1e-320, 1e300), (5e-324, 5e-324), (1e308, 1e308), (1.7e308, 1e-308), (1e200, 1e-200), (1e-310, 1.0), (1e-150, 1e150),
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_extreme_rates_have_right_answers_or_are_refused(tmp_path: Path, ending: str, up: float, down: float) -> None:
    path = tmp_path / f"m{ending}"
    head = "%%MatrixMarket matrix coordinate real general\n2 2 2" if ending == ".mtx" else "2 2"
    first = 1 if ending == ".mtx" else 0
    path.write_text(f"{head}\n{first} {first + 1} {up!r}\n{first + 1} {first} {down!r}\n")
    model = read_explicit(path)
    total = Fraction(up) + Fraction(down)
    computations = [
        (lambda: stationary(model).pi[1], float(Fraction(up) / total)),
        (lambda: passage(model, to=1, start=0).mean, float(1 / Fraction(up)) if up > 1e-307 else math.inf),
    ]
    for compute, expected in computations:
        try:
            value = float(compute())
        except (ValueError, ConvergenceError) as error:
            assert "rates from" in str(error) or "tolerance was not reached" in str(error)  # noqa: PT017
        else:
            assert math.isfinite(value)
            assert value == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_a_word_after_the_rate_is_the_name_of_an_action(tmp_path: Path) -> None:
    path = tmp_path / "m.tra"
    path.write_text("2 2\n0 1 3 go\n1 0 4\n")
    assert stationary(read_explicit(path)).pi.tolist() == pytest.approx([4 / 7, 3 / 7])
    path.write_text("2 2\n0 1 3 10.0\n1 0 4\n")
    with pytest.raises(FileError, match=r"line 2: '10\.0' after the rate: must be the name of an action"):
        read_explicit(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_explicit_files_end_as_in_other_programs(tmp_path, end):
    """Behind a comment that ends in a carriage return alone a line of labels was left out."""
    for suffix, lines in {
        "tra": ["2 2", "0 1 2", "1 0 1"],
        "lab": ['0="init" 1="up"', "0: 0", "# the second", "1: 1"],
        "sta": ["(x)", "0:(3)", "1:(4)"],
        "srew": ["2 1", "1 5.0"],
    }.items():
        (tmp_path / f"m.{suffix}").write_bytes("".join(line + end for line in lines).encode())
    listed = read_explicit(tmp_path / "m.tra")
    assert stationary(listed)["up"] == pytest.approx(2 / 3)
    assert listed.property("S=? [ x=4 ]").value == pytest.approx(2 / 3)
    assert listed.property("R=? [ S ]").value == pytest.approx(10 / 3)


@pytest.mark.parametrize("head", ["3 3\n", "ctmc\n"])
def test_an_initial_state_that_no_file_gives_is_named(tmp_path: Path, head: str) -> None:
    """State 0 need not be the initial one, as where it absorbs: properties of it were 0 without a word."""
    model = read_explicit(files(tmp_path, tra=f"{head}1 2 3\n1 0 1\n2 0 2\n"))
    message = r"m\.tra: the files give no initial state, and the value is that of state 0: .* label init in \.lab"
    for text, value in (("P=? [ F<=1 state=2 ]", 0.0), ("T=? [ F state=0 ]", 0.0), ("P>0 [ F state=2 ]", False)):
        with pytest.warns(UserWarning, match=message):
            assert model.property(text).value == value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.property("filter(max, P=? [ F state=2 ], state=1)").value == pytest.approx(0.75)
        assert model.property("S=? [ state=0 ]").value == 1.0
        label = "#DECLARATION\ninit\n#END\n1 init\n" if head == "ctmc\n" else '0="init"\n1: 0\n'
        (tmp_path / "m.lab").write_text(label)
        assert read_explicit(tmp_path / "m.tra").property("P=? [ F state=2 ]").value == pytest.approx(0.75)
