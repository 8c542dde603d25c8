"""UMB files: read, written, and refused."""

from __future__ import annotations

import io
import json
import math
import struct
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

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
from markov.errors import FileError
from markov.proofs.checker import CertificateError
from markov.proofs.list_rows import UmbRows

# Files in the unified Markov binary format: what is read, and what is refused with its reason.


DOUBLE = {"type": "double", "size": 64}
VARIABLES = [
    {"name": "n", "type": {"type": "uint", "size": 3}, "offset": -2},
    {"padding": 2},
    {"name": "on", "type": {"type": "bool", "size": 1}},
    {"name": "k", "type": {"type": "int", "size": 10}},
]


def index(**changes: Any) -> dict[str, Any]:
    """Return the index of three states in a cycle, with four branches."""
    system = {
        "time": "stochastic", "#players": 0, "#states": 3, "#initial-states": 1, "#choices": 3,
        "#choice-actions": 0, "#branches": 4, "#branch-actions": 0, "#observations": 0,
        "branch-probability-type": DOUBLE, "exit-rate-type": DOUBLE,
    }  # fmt: skip
    found = {"format-version": 1, "format-revision": 0, "transition-system": system}
    for key, value in changes.items():
        (system if key in system or key.startswith("#") else found)[key.replace("_", "-")] = value
    return found


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


FILES = {
    "state-is-initial.bin": words(0b010),
    "state-to-exit-rate.bin": doubles(2.0, 4.0, 0.5),
    "choice-to-branches.bin": words(0, 2, 3, 4),
    "branch-to-target.bin": words(1, 0, 2, 0),
    "branch-to-probability.bin": doubles(0.75, 0.25, 1.0, 1.0),
}
RATES = [[-1.5, 1.5, 0.0], [0.0, -4.0, 4.0], [0.5, 0.0, -0.5]]


def archive(path: Path, about: Any, files: dict[str, bytes], mode: Any = "w:gz") -> Path:
    """Write an archive as other tools do, with folders."""
    with tarfile.open(path, mode) as tar:
        for name, data in {"index.json": json.dumps(about).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        folder = tarfile.TarInfo("annotations")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_rates_are_exit_rates_times_probabilities(tmp_path: Path, mode: str) -> None:
    found = read_explicit(archive(tmp_path / "m.umb", index(), FILES, mode))
    assert found.chain.Q.toarray().tolist() == RATES  # the branch from 0 to 0 changes nothing
    assert found.labels["init"].tolist() == [False, True, False]
    assert found.chain.states.tolist() == [0, 1, 2]
    assert found.chain.model is not None
    assert found.chain.model.start() == 1


def test_files_that_are_left_out_have_their_defaults(tmp_path: Path) -> None:
    files = {k: v for k, v in FILES.items() if "exit-rate" in k or "probability" in k}
    files["branch-to-probability.bin"] = doubles(1.0, 1.0, 1.0)
    about = index(**{"#branches": 3, "#initial-states": 0})
    found = read_explicit(archive(tmp_path / "m.umb", about, files))
    assert found.chain.Q.nnz == 0  # every branch leads to the state of its own number
    assert not found.labels["init"].any()


def test_rationals_are_multiplied_before_they_are_rounded(tmp_path: Path) -> None:
    def rationals(half: int, *values: Fraction) -> bytes:
        return b"".join(
            v.numerator.to_bytes(half, "little", signed=True) + v.denominator.to_bytes(half, "little") for v in values
        )

    third = Fraction(1, 3)
    files = FILES | {
        "state-to-exit-rate.bin": rationals(16, Fraction(3, 10), Fraction(10**25), Fraction(1, 7)),
        "branch-to-probability.bin": rationals(8, third, 1 - third, Fraction(1), Fraction(1)),
    }
    about = index(**{
        "exit-rate-type": {"type": "rational", "size": 256},
        "branch-probability-type": {"type": "rational"},
    })  # fmt: skip
    Q = read_explicit(archive(tmp_path / "m.umb", about, files)).chain.Q.toarray()
    assert [Q[0, 1], Q[1, 2], Q[2, 0]] == [0.1, 1e25, 1 / 7]
    assert 0.3 * (1 / 3) != 0.1


def test_variables_labels_and_rewards(tmp_path: Path) -> None:
    packed = [
        3 | 1 << 5 | (-300 & 1023) << 6,
        0,
        3 | 7 << 6,
    ]  # (1, True, -300), (-2, ...), (1, ...)
    files = FILES | {
        "valuations/states/valuations.bin": b"".join(v.to_bytes(2, "little") for v in packed),
        "annotations/aps/up/states/values.bin": words(0b101),
        "annotations/rewards/cost/states/values.bin": doubles(1.0, 2.0, 3.0),
        "annotations/rewards/cost/choices/values.bin": doubles(10.0, 0.0, 0.0),
        "annotations/rewards/cost/branches/values.bin": doubles(0.0, 0.0, 100.0, 0.0),
    }
    about = index(
        annotations={
            "aps": {"up": {"alias": "Up!", "applies-to": ["states"], "type": {"type": "bool"}}},
            "rewards": {"cost": {"applies-to": ["states", "choices", "branches"], "type": DOUBLE}},
        },
        valuations={"states": {"unique": True, "classes": [{"variables": VARIABLES}]}},
    )
    found = read_explicit(archive(tmp_path / "m.umb", about, files))
    states = found.chain.states
    assert (states.n.tolist(), states.on.tolist()) == ([-2, 1, 1], [False, False, True])
    assert states.k.tolist() == [0, 7, -300]  # the file's states 1, 2 and 0
    assert found.labels["Up!"].tolist() == [False, True, True]
    assert found.rewards.tolist() == [2.0 + 4.0 * 100.0, 3.0, 1.0 + 2.0 * 10.0]
    assert found.chain.Q.toarray()[0].tolist() == [-4.0, 4.0, 0.0]
    answer = stationary(found)
    pi = dict(zip(zip(*(v.tolist() for v in states), strict=True), answer.pi, strict=True))
    assert pi[1, True, -300] == pytest.approx(2 / 3 / (2 / 3 + 1 / 4 + 2), rel=1e-14)
    assert answer.measures["Up!"] == pytest.approx(answer.pi[1:].sum(), rel=1e-14)
    assert answer.measures["cost"] == pytest.approx(answer.pi @ found.rewards, rel=1e-14)


@pytest.mark.parametrize(
    "variables",
    [
        [{"name": "x", "type": {"type": "double"}}],
        [{"name": "x", "type": {"type": "string"}}],
        [{"name": "x", "type": {"type": "uint", "size": 7}, "is-optional": True}],
        [{"name": "x", "type": {"type": "uint", "size": 4}}, {"padding": 4}],
        [{"name": "x", "type": {"type": "uint", "size": 4}}] * 2,
    ],
)
def test_states_are_numbers_where_variables_do_not_tell_them_apart(tmp_path, variables) -> None:
    about = index(valuations={"states": {"classes": [{"variables": variables}]}})
    width = 8 if len(variables) == 1 and variables[0]["type"]["type"] != "uint" else 1
    files = FILES | {"valuations/states/valuations.bin": bytes(3 * width)}
    found = read_explicit(archive(tmp_path / "m.umb", about, files))
    assert found.chain.states.tolist() == [0, 1, 2]


INTERVAL = {"type": "double-interval", "size": 128}


@pytest.mark.parametrize(
    ("about", "files", "message"),
    [
        (index(**{"#players": 1}), {}, "a model with 1 players"),
        (index(**{"#players": 2}), {}, "a model with 2 players"),
        (index(time="discrete"), {}, "a model in discrete time"),
        (index(time="urgent-stochastic"), {}, "in urgent-stochastic time"),
        (index(**{"#observations": 2}), {}, "2 observations"),
        (index(**{"branch-probability-type": INTERVAL}), {}, "has type 'double-interval': must be"),
        (index(format_version=2), {}, "format-version 0 or 1"),
        ([], {}, "must be an object"),
        (index(**{"#states": -1}), {}, "#states = -1: must be a whole number"),
        (index(**{"#states": True}), {}, "#states = True: must be a whole number"),
        (index(**{"#choices": 4}), {}, "4 choices in 3 states"),
        (index(**{"#branches": 5}), {}, "choice-to-branches.bin: must ascend from 0 to 5"),
        (index(), {"branch-to-target.bin": words(1, 0, 3, 0)}, "branch-to-target.bin: 3"),
        (index(), {"branch-to-target.bin": words(1, 0)}, "has 16 bytes: must have 32"),
        (index(), {"branch-to-target.bin": words(2**63, 0, 0, 0)}, "is out of range"),
        (index(), {"choice-to-branches.bin": words(0, 3, 2, 4)}, "must ascend"),
        (index(), {"state-to-choices.bin": words(0, 2, 2, 3)}, "states with several choices"),
        (index(), {"state-to-exit-rate.bin": doubles(-1.0, 1.0, 1.0)}, "a negative probability"),
        (index(), {"state-to-exit-rate.bin": doubles(np.nan, 1.0, 1.0)}, "finite numbers"),
        (index(), {"branch-to-probability.bin": doubles(0.7, 0.2, 1, 1)}, "state 0 sum to 0.8"),
        (index(annotations=[]), {}, "annotations.* must be an object"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, about: Any, files: dict[str, bytes], message: str) -> None:
    path = archive(tmp_path / "m.umb", about, FILES | files)
    with pytest.raises(FileError, match=f"m.umb: .*{message}"):
        read_explicit(path)


def test_missing_rates_and_zero_denominators_are_refused(tmp_path: Path) -> None:
    files = {k: v for k, v in FILES.items() if k != "state-to-exit-rate.bin"}
    with pytest.raises(FileError, match=r"exit-rate\.bin is missing"):
        read_explicit(archive(tmp_path / "m.umb", index(), files))
    about = index(**{"exit-rate-type": {"type": "rational", "size": 128}})
    files["state-to-exit-rate.bin"] = words(1, 1, 1, 0, 1, 1)
    with pytest.raises(FileError, match="a denominator is zero"):
        read_explicit(archive(tmp_path / "m.umb", about, files))
    about = index(**{"exit-rate-type": {"type": "rational", "size": 100}})
    with pytest.raises(FileError, match="rationals of 100 bits"):
        read_explicit(archive(tmp_path / "m.umb", about, files))


def test_a_cut_archive_and_an_index_that_is_no_json_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.umb", index(), FILES)
    for length in range(20, path.stat().st_size, 40):
        (tmp_path / "cut.umb").write_bytes(path.read_bytes()[:length])
        with pytest.raises(FileError, match=r"cut\.umb: "):
            read_explicit(tmp_path / "cut.umb")


def test_more_states_than_memory_are_refused(tmp_path: Path) -> None:
    about = index(**{"#states": 10**13, "#choices": 10**13})
    with pytest.raises(MemoryError):
        read_explicit(archive(tmp_path / "m.umb", about, FILES))


# Chains as files in the unified Markov binary format: round trips, and what another library reads.


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


def test_a_file_without_initial_states_needs_a_filter(tmp_path: Path) -> None:
    """State 0 is PRISM's start of .tra files; in UMB a chain that may start anywhere has none."""
    write_explicit([[-0.25, 0.25], [0.0, 0.0]], tmp_path / "m.umb")
    found = read_explicit(tmp_path / "m.umb")
    with pytest.raises(FileError, match="the file marks no initial state: use a filter"):
        found.property("P=? [ F<=1 state=1 ]")
    assert found.property("S=? [ state=1 ]").value == 1.0  # from any state
    assert found.property("filter(min, P=? [ F<=4 state=1 ])").value == pytest.approx(1.0 - math.exp(-1.0))
    for marks in (0b000, 0b011):
        files = {**FILES, "state-is-initial.bin": words(marks)}
        with pytest.raises(FileError, match=r"state-is-initial\.bin: marks [02] states, and #initial-states = 1"):
            read_explicit(archive(tmp_path / "m.umb", index(), files))


def test_an_exit_rate_needs_branches(tmp_path: Path) -> None:
    files = {
        **FILES,
        "choice-to-branches.bin": words(0, 2, 4, 4),
        "branch-to-probability.bin": doubles(0.75, 0.25, 0.5, 0.5),
    }
    with pytest.raises(FileError, match=r"state-to-exit-rate\.bin: state 2 has the exit rate 0\.5, and no branch"):
        read_explicit(archive(tmp_path / "m.umb", index(), files))
    files["state-to-exit-rate.bin"] = doubles(2.0, 4.0, 0.0)
    assert read_explicit(archive(tmp_path / "m.umb", index(), files)).chain.exit_rates[2] == 0.0


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"b": {"alias": "up"}}, "annotations: two have the name 'up'"),
        ({"up": {}}, "annotations: two have the name 'up'"),
        ({"b": {"alias": "init"}}, "the label 'init' is of other states than state-is-initial.bin"),
    ],
)
def test_labels_have_one_meaning(tmp_path: Path, second: dict[str, Any], message: str) -> None:
    about = {name: {**entry, "applies-to": ["states"], "type": {"type": "bool"}} for name, entry in second.items()}
    labels = {"a": {"alias": "up", "applies-to": ["states"], "type": {"type": "bool"}}} | about
    files = {**FILES, **{f"annotations/aps/{name}/states/values.bin": words(0b101) for name in labels}}
    with pytest.raises(FileError, match=message):
        read_explicit(archive(tmp_path / "m.umb", index(annotations={"aps": labels}), files))


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
    model = explore(lambda n: [((n + 1) % 3, 1.0)], start=0, labels=lambda n: dict.fromkeys(names, n == 1))
    write_explicit(model, tmp_path / "m.umb")
    found = read_explicit(tmp_path / "m.umb").labels
    assert set(found) == {"init", *names}
    assert all(found[name].tolist() == [False, True, False] for name in names)


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
    assert all(abs(rates[key] - Fraction(v)) <= (0 if exact else Fraction(v) / 2**51) for key, v in ours.items())
    assert list(other.initial_states) == [chain.number_of(Machine.State(-3, True))]
    assert "down" in other.ap_annotation_names  # umbi 0.2.5 keeps the last label alone
    umbi.ats.write(other, str(tmp_path / "back.umb"))
    back = read_explicit(tmp_path / "back.umb")
    assert np.abs((back.chain.Q - chain.Q).toarray()).max() <= 1e-15
    assert back.labels["down"].tolist() == (~chain.states.up.astype(bool)).tolist()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("./state-to-exit-rate.bin", doubles(9, 9, 9), "two members have this name"),
        ("/state-to-exit-rate.bin", doubles(9, 9, 9), "is no plain member"),
        ("a/../state-to-exit-rate.bin", doubles(9, 9, 9), "is no plain member"),
        ("state-to-choices.bin", bytes(1 << 20), "has 1048576 bytes"),
        ("choice-to-choice-action.bin", bytes((1 << 26) + 1), "has 67108865 bytes"),
    ],
)
def test_solver_and_checker_refuse_the_same_archives(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    """Else they might read two chains from one file."""
    path = archive(tmp_path / "m.umb", index(), FILES)
    read_explicit(path)
    UmbRows(path)
    path = archive(tmp_path / "m.umb", index(), {**FILES, name: data})
    for read in (read_explicit, UmbRows):
        with pytest.raises(ValueError, match=said):
            read(path)


def test_members_that_the_format_has_not_are_refused_and_others_skipped(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.umb", index(), {**FILES, "choice-to-choice-action.bin": b"1"})
    assert read_explicit(path).chain.size == 3
    with pytest.raises(FileError, match=r"'extra\.bin': is no plain member of the format"):
        read_explicit(archive(tmp_path / "m.umb", index(), {**FILES, "extra.bin": b"1"}))


def test_the_checker_has_errors_of_its_own_only(tmp_path: Path) -> None:
    deep = "[" * 100_000
    zero = {"type": "rational", "size": 128}
    for about, files in [
        (index(**{"#states": 300_000_000}), {}),
        (index(**{"#states": "3"}), {}),
        (
            index(**{"#initial-states": 1})
            | {"transition-system": index()["transition-system"] | {"exit-rate-type": zero}},
            {"state-to-exit-rate.bin": bytes(48)},
        ),
        ({"format-version": 1, "transition-system": 7}, {}),
        ({"format-version": 1}, {}),
    ]:
        with pytest.raises(CertificateError):
            UmbRows(archive(tmp_path / "m.umb", about, {**FILES, **files}))
    path = tmp_path / "deep.umb"
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo("index.json")
        member.size = len(deep)
        tar.addfile(member, io.BytesIO(deep.encode()))
    for read, error in ((UmbRows, CertificateError), (read_explicit, FileError)):
        with pytest.raises(error):
            read(path)


# What PRISM and Storm export (UMBExporter.java of prismmodelchecker/prism, SparseModelToUmb.cpp of moves-rwth/storm) of a queue that
# both have in their tests (papers/KNP07a-SFM07/ctmc.sm, ctmc/lrarewards.sm), with the results stated there; and the example of the
# format (pmc-tools/umb, example/mdp.umb, CC BY 4.0).

QUEUE = {
    "state-to-exit-rate.bin": doubles(1.5, 4.5, 4.5, 3.0),
    "choice-to-branches.bin": words(0, 1, 3, 5, 6),
    "branch-to-target.bin": words(1, 0, 2, 1, 3, 2),
    "branch-to-probability.bin": doubles(1.0, 2 / 3, 1 / 3, 2 / 3, 1 / 3, 1.0),
    "state-is-initial.bin": words(0b0001),
}
ON_STATES: dict[str, Any] = {"applies-to": ["states"]}
BY_PRISM = {
    "file_data": {"tool": "PRISM", "tool-version": "4.10", "creation-date": 1769360247},
    "annotations": {
        "aps": {"full": {"alias": "full", **ON_STATES, "type": {"type": "bool", "size": 1}}},
        "rewards": {"queue": {"alias": "queue", **ON_STATES, "type": DOUBLE}, "serve": {"alias": "serve", "applies-to": ["branches"], "type": DOUBLE}},
    },
    "valuations": {"states": {"unique": True, "classes": [{"variables": [{"name": "x", "type": {"type": "uint", "size": 2}}, {"padding": 6}]}]}},
    "#states": 4, "#choices": 4, "#branches": 6, "#branch-actions": 2,
}  # fmt: skip
OF_PRISM = QUEUE | {
    "actions/branches/values.bin": bytes([0, 0, 1, 1, 0, 1]),
    "actions/branches/string-mapping.bin": words(0, 6, 11),
    "actions/branches/strings.bin": b"arriveserve",
    "annotations/aps/full/states/values.bin": words(0b1000),
    "annotations/rewards/queue/states/values.bin": doubles(0, 1, 2, 3),
    "annotations/rewards/serve/branches/values.bin": doubles(0, 1, 0, 1, 0, 1),
    "valuations/states/valuations.bin": bytes([0, 1, 2, 3]),
}
BY_STORM = {
    "model_data": {}, "file_data": {"tool": "Storm", "creation-date": 1769360247, "parameters": {}},
    "annotations": {
        "aps": {"0": {"alias": "full", **ON_STATES, "type": {"type": "bool", "size": 1}}, "1": {"alias": "init", **ON_STATES, "type": {"type": "bool", "size": 1}}},
        "rewards": {"0": {**ON_STATES, "type": DOUBLE}},
    },
    "#states": 4, "#choices": 4, "#branches": 6,
}  # fmt: skip
OF_STORM = QUEUE | {
    "annotations/aps/0/states/values.bin": words(0b1000),
    "annotations/aps/1/states/values.bin": words(0b0001),
    "annotations/rewards/0/states/values.bin": doubles(0, 1, 2, 3),
}


def test_the_queue_as_prism_exports_it(tmp_path: Path) -> None:
    model = read_explicit(archive(tmp_path / "m.umb", index(**BY_PRISM), OF_PRISM))
    answer = stationary(model)
    assert answer["full"] == pytest.approx(1 / 15, rel=1e-12)
    assert answer["queue"] == pytest.approx(11 / 15, rel=1e-12)
    assert answer["serve"] == pytest.approx(3 * (1 - 8 / 15), rel=1e-12)  # the rate of services
    for text, value in {
        'P=? [ true U<=7.5 "full" ]': 0.6404780884740766,
        "P=? [ true U<=7.5 x=3 ]": 0.6404780884740766,
        'R{"serve"}=? [ C<=5.5 ]': 7.069019518168792,
    }.items():
        assert model.property(text).value == pytest.approx(value, rel=1e-12), text


def test_the_queue_as_storm_exports_it(tmp_path: Path) -> None:
    """A reward without a name is called by its number."""
    model = read_explicit(archive(tmp_path / "m.umb", index(**BY_STORM), OF_STORM, "w:xz"))
    answer = stationary(model)
    assert answer["full"] == pytest.approx(1 / 15, rel=1e-12)
    assert answer["0"] == pytest.approx(11 / 15, rel=1e-12)
    assert model.labels["init"].tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        # example/mdp.umb
        ({"time": "discrete", "#players": 1, "#choices": 5, "#branches": 8}, "a model with 1 players, who make choices"),
        # Storm's UmbTest of dtmc/brp-16-2.pm and of ma/polling.ma
        ({"time": "discrete"}, "a model in discrete time"),
        ({"time": "urgent-stochastic", "#players": 1}, "a model with 1 players|in urgent-stochastic time"),
        # of imdp/robot.prism: rates between two bounds
        ({"exit-rate-type": {"type": "double-interval", "size": 128}}, "has type 'double-interval': must be"),
        # of pomdp/maze2.prism
        ({"#observations": 8, "observations-apply-to": "states"}, "8 observations"),
    ],
)  # fmt: skip
def test_other_models_that_prism_and_storm_export_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = archive(tmp_path / "m.umb", index(**{**BY_PRISM, **changes}), OF_PRISM)
    with pytest.raises(FileError, match=rf"^m\.umb: .*({message})"):
        read_explicit(path)
