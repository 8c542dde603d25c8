"""Certificates prove more than what was computed in float64, and none that says something false is accepted."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import markov.proofs.checker as module
from markov import (
    MM1K,
    JacksonTandem,
    Kanban,
    MarkovChain,
    Multilevel,
    SparseLU,
    explore,
    read_prism,
    stationary,
)
from markov.proofs.certificate_files import write_long_run
from markov.proofs.checker import CertificateError, check, format_interval, format_rounded_up, read, verify
from tests.markov.conftest import Coin, Machine, Queue, generator_of
from tests.markov.proofs.certificates import checked, holds
from tests.markov.proofs.conftest import exact_long_run, exact_solution
from tests.surface import for_each

# What is written


def test_the_bound_of_a_direct_method_is_the_distance_to_the_exact_solution(tmp_path):
    path, answer = tmp_path / "queue.cert", stationary(Queue())
    answer.certificate(path, measures={"mean": np.arange(answer.chain.size) / 3.0})
    found = read(StringIO(path.read_text()))
    truth = exact_solution(found.rows)
    off = [Fraction(v) - p for v, p in zip(answer.pi.tolist(), truth, strict=True)]
    distance = max(sum(d for d in off if d > 0), -sum(d for d in off if d < 0))
    assert distance <= found.bound <= distance * Fraction(100002, 100000)
    low, high = found.functions[0].claimed
    mean = sum(Fraction(k / 3.0) * p for k, p in enumerate(truth))
    assert low <= mean <= high
    assert high - low < Fraction(1, 10**30)  # the product of two residuals


def test_a_bound_by_multigrid_is_not_lost(tmp_path):
    """The throughput is proved to far more digits than float64 has."""
    answer = stationary(explore(Kanban(tickets=2)), Multilevel())
    answer.certificate(tmp_path / "kanban.cert.gz", measures=["throughput"])
    proved = checked(tmp_path / "kanban.cert.gz")
    assert float(Fraction(proved["total_variation_bound"])) <= answer.error_bound * 1.001
    low, high = map(Fraction, proved["means"]["throughput"].values())
    bound = answer.bound("throughput")
    assert bound.lower <= low <= high <= bound.upper
    assert high - low < 1e-4 * (bound.upper - bound.lower)


def test_a_pickled_answer_writes_the_same_claims(tmp_path):
    answer = stationary(Queue())
    answer.certificate(tmp_path / "a.cert")
    pickle.loads(pickle.dumps(answer)).certificate(tmp_path / "b.cert")
    a, b = checked(tmp_path / "a.cert"), checked(tmp_path / "b.cert")
    assert (a["states"], a["transitions"]) == (b["states"], b["transitions"])
    one, other = (float(Fraction(each["total_variation_bound"])) for each in (a, b))
    assert other == pytest.approx(one, rel=1e-3)


def test_one_state_two_states_and_components_that_are_no_numbers(tmp_path):
    path = tmp_path / "small.cert"
    stationary([[0.0]]).certificate(path)
    alone = checked(path)
    assert (alone["states"], alone["total_variation_bound"]) == (1, "0")
    stationary(Coin()).certificate(path)
    assert Fraction(checked(path)["total_variation_bound"]) < 1e-16
    stationary(Machine()).certificate(path, measures=["busy", "hot and full"])
    assert set(checked(path)["means"]) == {"busy", "hot and full"}
    assert "columns mode phase n" in path.read_text()


def test_names_in_other_alphabets_are_escaped(tmp_path):
    def rules(s):
        yield s._replace(λ=1 - s.λ), 1.0 + s.λ

    model = explore(rules, start={"λ": 0}, labels=lambda s: {"größer als null": s.λ > 0})
    path = tmp_path / "greek.cert"
    stationary(model).certificate(path)
    assert "columns \\u03bb\n" in path.read_text(encoding="ascii")
    assert set(checked(path)["means"]) == {"gr\\u00f6\\u00dfer als null"}


def test_only_the_recurrent_states_are_listed(tmp_path):
    path = tmp_path / "transient.cert"
    stationary([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 3.0, -3.0]]).certificate(path)
    assert checked(path)["states"] == 2
    assert "\n1 " in path.read_text()
    assert "\n0 " not in path.read_text()


def test_where_nothing_is_proved_nothing_is_written(tmp_path):
    Q = np.diag([1.0, 1e-300, 1.0], 1)
    answer = stationary(generator_of(Q + Q.T), SparseLU(), on_failure="return")
    with pytest.raises(ValueError, match="nothing was proved"):
        answer.certificate(tmp_path / "x.cert")
    assert not (tmp_path / "x.cert").exists()


def test_measures_are_labels_and_rewards_or_functions_with_names(tmp_path):
    answer, path = stationary(explore(Kanban(tickets=1))), tmp_path / "kanban.cert"

    def written(measures):
        answer.certificate(path, measures=measures)
        return checked(path)

    n = answer.chain.size
    assert "throughput" in written(None)["means"]
    assert list(written(["throughput"])["means"]) == ["throughput"]
    found = written({"out": "throughput", "ones": np.ones(n)})
    assert list(found["means"]) == ["out", "ones"]
    assert holds(found, "ones", 1)
    for measures, said in (
        (["none"], "measure = 'none'"),
        ({"two": np.ones((2, n))}, "must be one number for each state"),
    ):
        with pytest.raises(ValueError, match=said):
            written(measures)


def test_the_file_is_named_with_its_digest(line, tmp_path):
    answer = stationary(read_prism(line, constants={"t": 2}))
    answer.certificate(tmp_path / "line.cert", model=line, constants={"t": 2})
    found = checked(tmp_path / "line.cert")["not_checked"]
    assert found["sha256"] == hashlib.sha256(line.read_bytes()).hexdigest()
    assert (found["model"], found["constants"]) == ("line.sm", "t=2")


# What is accepted


HEADER = """hopflow-certificate 1
rate-unit 1/2
scale 8
reference 0
bound 0
columns n
function 1 1 1/4 1/4 second
states 2
"""
TWO = HEADER + "0 6 0 0 0 0 1 1\n1 2 0 1 1 0 0 3\n"


def test_two_states_are_proved_exactly():
    found = verify(read(StringIO(TWO)))
    assert (found.states, found.transitions, found.bound) == (2, 2, 0)
    assert found.means == {"second": (Fraction(1, 4), Fraction(1, 4))}
    assert "exactly one stationary distribution on the 2 listed states" in str(found)


def test_a_transient_state_is_no_obstacle_and_two_classes_are_refused():
    """Uniqueness is a conclusion: h falls in every state but one."""
    head = HEADER.replace("states 2", "states 3").replace("function 1 1 1/4 1/4 second\n", "")
    found = verify(read(StringIO(head + "0 6 0 0 1 1\n1 2 0 1 0 3\n2 0 0 2 0 1\n")))
    assert found.bound == 0
    with pytest.raises(CertificateError, match="does not fall"):
        verify(read(StringIO(head + "0 6 0 0 1 1\n1 2 0 1 0 3\n2 0 0 2\n")))


@for_each([
    ("certificate 1", "certificate 3", "line 1: must begin with"),
    ("bound 0", "limit 0", "line 5: 'limit' is unknown"),
    ("bound 0", "bound 0\nbound 0", "line 6: 'bound' is unknown, or stands there twice"),
    ("scale 8\n", "", "'scale'"),
    ("states 2", "states 3", "2 states: must be 3"),
    ("states 2", "states 2 3", "line 8: '2 3' must be of the form"),
    ("states 2", "states 1_0", "line 8: '1_0' must be of the form"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 0 A", "line 10: '1 2 0 1 1 0 0 A' must be of the form"),
    ("1/4 1/4", "0.25 1/4", "line 7: '0.25' must be of the form"),
    ("second", "s\u00e9cond", "line 7: must be printable ASCII"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 0", "line 10: 7 numbers"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 5 3", "lead to other states"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 -1 3", "lead to other states"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 1 3", "lead to other states"),
    ("1 2 0 1 1 0 0 3", f"1 2 0 1 1 0 {'f' * 20} 3", "line 10: "),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 0 -3", "must be positive"),
    ("1 2 0 1 1 0 0 3", "1 2 0 1 1 0 0 0", "must be positive"),
    ("1 2 0 1 1 0 0 3", "1 2 0 0 1 0 0 3", "does not fall"),
    ("1 2 0 1 1 0 0 3", "1 2 0 -1 1 0 0 3", "must not be negative"),
    ("1 2 0 1 1 0 0 3", "0 2 0 1 1 0 0 3", "twice"),
    ("1 2 0 1 1 0 0 3", "1 3 0 1 1 0 0 3", "proved is a bound of 2.50e-1, claimed 0"),
    ("1/4 1/4", "1/5 1/5", "second: proved is"),
    ("scale 8", "scale 0", "must be positive"),
    ("rate-unit 1/2", "rate-unit 1/0", "Fraction"),
])  # fmt: skip
def test_what_is_refused(old, new, said):
    assert old in TWO
    with pytest.raises(CertificateError, match=said):
        verify(read(StringIO(TWO.replace(old, new))))


def test_it_runs_alone_with_the_standard_library(tmp_path):
    own = tmp_path / "checker.py"
    own.write_text(Path(module.__file__).read_text())
    path = tmp_path / "two.cert"
    path.write_text(TWO)
    told = subprocess.run([sys.executable, "-I", "-S", own, path], capture_output=True, text=True, check=True)
    assert "mean of second in [0.25000000000000000000" in told.stdout


def test_numbers_for_readers_are_rounded_outwards():
    assert format_rounded_up(Fraction(1, 3)) == "3.34e-1"
    assert format_rounded_up(Fraction(9999, 10000)) == "1.00e0"
    assert format_interval(Fraction(-1, 3), Fraction(-1, 4)) == "[-0.3334, -0.2500]"
    assert format_interval(Fraction(1500), Fraction(2500)) == "[1500, 2500]"


def corrupted(text, rng):
    """Change a digit, a number, or the order of lines."""
    lines = text.splitlines(keepends=True)
    n = int(rng.integers(1, len(lines)))
    words = lines[n].split(" ")
    k = int(rng.integers(len(words)))
    kind = int(rng.integers(5))
    if kind == 0 and n + 1 < len(lines):
        m = int(rng.integers(n, len(lines)))
        lines[n], lines[m] = lines[m], lines[n]
        return "".join(lines)
    if kind == 1:
        words[k] = "-" + words[k]
    elif kind == 2:
        words[k], words[-1] = words[-1].strip(), words[k].strip() + "\n"
    else:
        place = int(rng.integers(len(words[k])))
        digit = "0123456789abcdef"[int(rng.integers(16))]
        words[k] = words[k][:place] + digit + words[k][place + 1 :]
    lines[n] = " ".join(words)
    return "".join(lines)


def judge(text, solutions):
    """Return whether a certificate is accepted, after comparing what it proves with the exact solution."""
    try:
        found = read(StringIO(text))
        proved = verify(found)
    except CertificateError:
        return False
    key = repr(found.rows)
    if key not in solutions:
        solutions[key] = exact_solution(found.rows)
    pi = solutions[key]
    assert pi is not None
    off = [Fraction(x, found.scale) - p for x, p in zip(found.X, pi, strict=True)]
    largest = max(sum(d for d in off if d > 0), -sum(d for d in off if d < 0))
    assert largest <= proved.bound <= found.bound
    for each in found.functions:
        mean = sum(f * p for f, p in zip(each.F, pi, strict=True)) / each.scales[0]
        low, high = proved.means[each.name]
        assert each.claimed[0] <= low <= mean <= high <= each.claimed[1]
    return True


def corrupt(model, count, tmp_path):
    """Return how many of ``count`` corruptions were rejected, accepted, and changed nothing."""
    path = tmp_path / "chain.cert"
    stationary(model).certificate(path)
    text, rng, solutions = path.read_text(), np.random.default_rng(49), {}
    assert judge(text, solutions)
    counts = {"rejected": 0, "accepted": 0, "no change": 0}
    for _ in range(count):
        wrong = corrupted(text, rng)
        if wrong == text:
            counts["no change"] += 1
        else:
            counts["accepted" if judge(wrong, solutions) else "rejected"] += 1
    return counts


def test_a_hundred_corruptions_prove_nothing_false(tmp_path):
    counts = corrupt(Queue(), 100, tmp_path)
    assert counts["rejected"] > 60
    assert counts["accepted"] > 0  # another claim, which the numbers still prove


@pytest.mark.slow
@pytest.mark.parametrize("model", [MM1K(), JacksonTandem(), explore(Kanban(tickets=1))], ids=repr)
def test_a_thousand_corruptions_prove_nothing_false(model, tmp_path):
    counts = corrupt(model, 1000, tmp_path)
    assert counts["rejected"] > 700


def test_a_file_that_is_not_there_or_no_certificate_is_refused(tmp_path):
    with pytest.raises(CertificateError, match="No such file"):
        check(tmp_path / "none.cert")
    path = tmp_path / "cut.cert.gz"
    path.write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(CertificateError, match="path = "):
        check(path)


# Long-run means of chains with several recurrent classes

BRANCHES = """ctmc
module branches
  s : [0..7] init 0;
  [] s = 0 -> 0.3 : (s' = 1) + 1/7 : (s' = 3);
  [] s = 1 -> 2 : (s' = 0) + 0.01 : (s' = 4) + 5 : (s' = 5);
  [] s = 3 -> 1 : (s' = 4) + 1 : (s' = 1);
  [] s = 5 -> 1e-3 : (s' = 6);
  [] s = 6 -> 0.25 : (s' = 7) + 0.2 : (s' = 5);
  [] s = 7 -> 0.1 : (s' = 6);
endmodule
label "stuck" = s = 4;
rewards "s" true : s; endrewards
"""
"""State 4 absorbs; 5, 6 and 7 are a class; 0, 1 and 3 are transient, 2 is not reached."""


@pytest.fixture
def branches(tmp_path):
    path = tmp_path / "branches.sm"
    path.write_text(BRANCHES)
    return path


def written(path, to):
    model = read_prism(path)
    start = int(model.state_space.initial[0])
    return write_long_run(to, model.chain, start, model=path)


def test_the_exact_means_are_in_intervals_of_thirty_digits(branches, tmp_path):
    found = written(branches, tmp_path / "b.cert.gz")
    rows = checked(tmp_path / "b.cert.gz", branches)["rows"]
    assert rows.endswith("exactly; state number 0 is the initial state")
    statement = check(tmp_path / "b.cert.gz")
    assert (statement.states, statement.transitions, statement.bound) == (7, 11, None)
    for each in found.functions:
        low, high = statement.means[each.name]
        mean = exact_long_run(found.rows, 0, each.F) / each.scales[0]
        assert each.claimed[0] <= low <= mean <= high <= each.claimed[1]
        assert high - low < 1e-30
    assert "proved      long-run mean of stuck in [0." in str(statement)
    assert "from state number 0 on the 7 listed states" in str(statement)


def test_from_a_recurrent_state_it_is_the_mean_of_its_class(tmp_path):
    Q = np.array([[-1.0, 1.0, 0.0, 0.0], [3.0, -3.0, 0.0, 0.0], [1.0, 0.0, -2.0, 1.0], [0.0] * 4])
    f = {"one": [0.0, 1.0, 0.0, 5.0]}
    found = write_long_run(tmp_path / "a.cert", MarkovChain(Q), 0, measures=f)
    assert len(found.rows) == 2
    ((low, high),) = check(tmp_path / "a.cert").means.values()
    assert low <= Fraction(1, 4) <= high
    assert high - low < 1e-30
    write_long_run(tmp_path / "b.cert", MarkovChain(Q), 2, measures=f)
    ((low, high),) = check(tmp_path / "b.cert").means.values()
    assert low <= Fraction(1, 8) + Fraction(5, 2) <= high


def test_another_start_than_that_of_the_file_is_said(branches, tmp_path):
    model = read_prism(branches)
    write_long_run(tmp_path / "c.cert", model.chain, 1, model=branches)
    said = checked(tmp_path / "c.cert", branches)["rows"]
    assert said.endswith("state number 1 is not the initial state")


def test_a_rare_end_of_a_stiff_walk_is_certified(tmp_path):
    """A random walk between two traps, 15 steps from the left one and driven away from it."""
    n = 24
    Q = np.zeros((n, n))
    for i in range(1, n - 1):
        Q[i, i - 1], Q[i, i + 1] = 1.0, 1e3
    f = {"left": np.arange(n) == 0}
    found = write_long_run(tmp_path / "w.cert", MarkovChain(Q - np.diag(Q.sum(axis=1))), 15, measures=f)
    ((low, high),) = check(tmp_path / "w.cert").means.values()
    mean = exact_long_run(found.rows, found.reference, found.functions[0].F)
    assert low <= mean <= high
    assert 0 < mean < 1e-40
    assert high - low < 1e-30


def test_where_no_function_falls_nothing_is_proved(tmp_path):
    """The same walk driven to its middle: the mean time until a trap is 1e86 s."""
    n = 60
    Q = np.zeros((n, n))
    for i in range(1, n - 1):
        Q[i, i - 1], Q[i, i + 1] = 1.0, 1e3 if i < 30 else 1e-3
    chain = MarkovChain(Q - np.diag(Q.sum(axis=1)))
    with pytest.raises(ValueError, match="nothing was proved"):
        write_long_run(tmp_path / "w.cert", chain, 45, measures={"left": np.arange(n) == 0})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("certificate 2", "certificate 1", "unknown|must be|scale"),
        ("reference 0", "reference 9", "in range"),
        ("rate-unit 1/", "scale 1/", "unknown"),
        ("states 7", "states 8", "7 states: must be 8"),
    ],
)
def test_long_runs_that_are_refused(branches, tmp_path, old, new, said):
    written(branches, tmp_path / "b.cert")
    text = (tmp_path / "b.cert").read_text()
    assert old in text
    with pytest.raises(CertificateError, match=said):
        verify(read(StringIO(text.replace(old, new, 1))))


@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.slow)])
def test_corruptions_of_long_runs_prove_nothing_false(branches, tmp_path, count):
    written(branches, tmp_path / "b.cert")
    text, rng = (tmp_path / "b.cert").read_text(), np.random.default_rng(12)
    counts = {True: 0, False: 0}
    for _ in range(count):
        wrong = corrupted(text, rng)
        if wrong == text:
            continue
        try:
            found = read(StringIO(wrong))
            proved = verify(found)
        except CertificateError:
            counts[False] += 1
            continue
        counts[True] += 1
        for each in found.functions:
            low, high = proved.means[each.name]
            mean = exact_long_run(found.rows, found.reference, each.F) / each.scales[0]
            assert each.claimed[0] <= low <= mean <= high <= each.claimed[1]
    assert counts[False] > count // 2
    assert counts[True] > 0


def test_a_ratio_is_no_measure(branches, tmp_path):
    model = read_prism(branches)
    with pytest.raises(ValueError, match="measures = 'both'"):
        write_long_run(tmp_path / "d.cert", model.chain, 0, measures={"both": np.ones((2, 7))})
