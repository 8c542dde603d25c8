"""Chains as files in the unified Markov binary format: round trips, and what another library reads."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from markov import (
    ChainModel,
    JacksonTandem,
    MarkovChain,
    PauseTandem,
    explore,
    read_explicit,
    stationary,
    write_explicit,
)


class Machine(ChainModel):
    """Numbers of either sign, truth values, a label, and a ratio of rewards, which is left out."""

    class State(NamedTuple):
        level: int
        up: bool

    def space(self):
        return {"level": range(-3, 5), "up": [False, True]}

    def start(self):
        return self.State(-3, True)

    @staticmethod
    def rules(s, q):
        if s.level < 4:
            yield s._replace(level=s.level + 1), 0.1 + 0.2 * s.up
        if s.level > -3:
            yield s._replace(level=s.level - 1), 0.7
        yield s._replace(up=not s.up), 1 / 3

    def labels(self, s):
        return {"High": s.level > 1, "down": not s.up}

    def rewards(self, s):
        return {"level": s.level, "busy": s.level > 0}


@pytest.mark.parametrize("model", [Machine(), PauseTandem(buffers=(3, 4), high_threshold=3)])
def test_rationals_give_the_rates_back_exactly(tmp_path: Path, model) -> None:
    chain = stationary(model).chain
    write_explicit(model, tmp_path / "m.umb", exact=True)
    found = read_explicit(tmp_path / "m.umb").chain
    assert (found.Q != chain.Q).nnz == 0
    assert chain.Q.nnz > 20


def test_doubles_give_the_rates_back_to_rounding(tmp_path: Path) -> None:
    chain = stationary(Machine()).chain
    write_explicit(chain, tmp_path / "m.umb")
    found = read_explicit(tmp_path / "m.umb").chain.Q
    assert found.indices.tolist() == chain.Q.indices.tolist()
    assert np.abs(found.data / chain.Q.data - 1.0).max() <= 3 * 2.0**-53


def test_states_start_labels_and_rewards_are_read_back(tmp_path: Path) -> None:
    write_explicit(Machine(), tmp_path / "m.umb", exact=True)
    model, chain = read_explicit(tmp_path / "m.umb"), MarkovChain(Machine())
    found = model.chain
    assert found.states.level.tolist() == chain.states.level.tolist()
    assert found.states.up.tolist() == chain.states.up.tolist()
    assert found.model is not None
    assert found.model.start() == (-3, True)
    assert model.labels["High"].tolist() == (chain.states.level > 1).tolist()
    assert model.labels["init"].sum() == 1
    assert model.rewards.tolist() == chain.states.level.tolist()
    answers = stationary(found), stationary(chain)
    assert answers[0].measures.equals(answers[1].measures)
    assert set(answers[0].measures) == {"High", "down", "level", "busy"}


def test_absorbing_states_have_a_branch_to_themselves(tmp_path: Path) -> None:
    write_explicit([[-0.25, 0.25], [0.0, 0.0]], tmp_path / "m.umb")
    found = read_explicit(tmp_path / "m.umb")
    assert found.chain.Q.toarray().tolist() == [[-0.25, 0.25], [0.0, 0.0]]
    assert found.chain.states.tolist() == [0, 1]
    assert not found.labels["init"].any()


def test_the_same_chain_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.umb", "b.umb"):
        write_explicit(JacksonTandem(), tmp_path / name)
    assert (tmp_path / "a.umb").read_bytes() == (tmp_path / "b.umb").read_bytes()


def test_what_was_read_is_written_again(tmp_path: Path) -> None:
    model = explore(lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: {"last": n == 2})
    write_explicit(model, tmp_path / "a.umb")
    write_explicit(read_explicit(tmp_path / "a.umb"), tmp_path / "b.umb")
    assert (tmp_path / "a.umb").read_bytes() == (tmp_path / "b.umb").read_bytes()


@pytest.mark.parametrize(
    "values",
    [(0, 10, -500), (False, True), ("a", "b"), ((0,), (1, 2)), (0.5, 1.5), (0, 2**70)],
)  # fmt: skip
def test_components_of_all_kinds_have_their_states(tmp_path: Path, values) -> None:
    """Whole numbers and truth values are written; with others states are numbers."""

    def rules(s):
        yield (
            s._replace(at=values[(values.index(s.at) + 1) % len(values)]),
            1.0 + values.index(s.at),
        )

    model = explore(rules, start={"at": values[0]})
    write_explicit(model, tmp_path / "m.umb", exact=True)
    found = read_explicit(tmp_path / "m.umb").chain
    assert sorted(found.exit_rates.tolist()) == [1.0, 2.0, 3.0][: len(values)]
    if type(values[0]) in (int, bool) and values[1] < 2**62:
        assert found.states.at.tolist() == sorted(values)
        assert found.exit_rates[found.number_of((values[1],))] == 2.0
    else:
        assert found.states.tolist() == list(range(len(values)))


def test_names_of_labels_that_are_no_names_of_files(tmp_path: Path) -> None:
    names = ["../x", "..-x", "A", "a", "", "é" * 300]
    model = explore(
        lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: dict.fromkeys(names, n == 1)
    )
    write_explicit(model, tmp_path / "m.umb")
    found = read_explicit(tmp_path / "m.umb").labels
    assert set(found) == {"init", *names}
    assert all(found[name].tolist() == [False, True, False] for name in names)


def test_exact_goes_with_umb(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"exact = True: goes with \.umb"):
        write_explicit([[0.0]], tmp_path / "m.tra", exact=True)
    with pytest.raises(ValueError, match="exact = 2"):
        write_explicit([[0.0]], tmp_path / "m.umb", exact=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("exact", [False, True])
def test_the_library_of_the_format_reads_what_is_written(tmp_path: Path, exact: bool) -> None:
    """`umbi`, where it is installed, reads the same rates, initial states and labels, and writes what is read here."""
    umbi = pytest.importorskip("umbi", reason="umbi is not installed")
    chain = MarkovChain(Machine())
    write_explicit(chain, tmp_path / "m.umb", exact=exact)
    other = umbi.ats.read(str(tmp_path / "m.umb"))
    rates: dict[tuple[int, int], Fraction] = {}
    for s in range(other.num_states):
        for choice in other.get_state_choices(s):
            for branch in choice.branches:
                rate = Fraction(other.state_to_exit_rate[s]) * Fraction(branch.prob)
                rates[s, branch.target] = rates.get((s, branch.target), Fraction(0)) + rate
    Q = chain.Q.tocoo()
    ours = {(s, t): v for s, t, v in zip(Q.row, Q.col, Q.data, strict=True) if s != t}
    assert rates.keys() == ours.keys()
    assert all(
        abs(rates[key] - Fraction(v)) <= (0 if exact else Fraction(v) / 2**51)
        for key, v in ours.items()
    )
    assert list(other.initial_states) == [chain.number_of(Machine.State(-3, True))]
    assert "down" in other.ap_annotation_names  # umbi 0.2.5 keeps the last label alone
    umbi.ats.write(other, str(tmp_path / "back.umb"))
    back = read_explicit(tmp_path / "back.umb")
    assert np.abs((back.chain.Q - chain.Q).toarray()).max() <= 1e-15
    assert back.labels["down"].tolist() == (~chain.states.up.astype(bool)).tolist()
