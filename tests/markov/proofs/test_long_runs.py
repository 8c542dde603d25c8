"""Long-run means of chains with several recurrent classes are certified, and no false one is accepted."""

from __future__ import annotations

from fractions import Fraction
from io import StringIO

import numpy as np
import pytest

from markov import MarkovChain, read_prism
from markov.proofs.checker import CertificateError, check, read, verified
from markov.proofs.long_runs import write_long_run
from markov.proofs.prism_rows import PrismRows
from tests.markov.proofs.conftest import exact_long_run
from tests.markov.proofs.test_checker import corrupted

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
    start = int(model.explored.initial[0])
    return write_long_run(to, model.chain, start, model=path)


def test_the_exact_means_are_in_intervals_of_thirty_digits(branches, tmp_path):
    found = written(branches, tmp_path / "b.cert.gz")
    statement = check(tmp_path / "b.cert.gz", PrismRows(branches))
    assert (statement.states, statement.transitions, statement.bound) == (7, 11, None)
    assert statement.rows.endswith("exactly; state number 0 is the initial state")
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
    said = check(tmp_path / "c.cert", PrismRows(branches)).rows
    assert said.endswith("state number 1 is not the initial state")


def test_a_rare_end_of_a_stiff_walk_is_certified(tmp_path):
    """A random walk between two traps, 15 steps from the left one and driven away from it."""
    n = 24
    Q = np.zeros((n, n))
    for i in range(1, n - 1):
        Q[i, i - 1], Q[i, i + 1] = 1.0, 1e3
    f = {"left": np.arange(n) == 0}
    found = write_long_run(
        tmp_path / "w.cert", MarkovChain(Q - np.diag(Q.sum(axis=1))), 15, measures=f
    )
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
def test_what_is_refused(branches, tmp_path, old, new, said):
    written(branches, tmp_path / "b.cert")
    text = (tmp_path / "b.cert").read_text()
    assert old in text
    with pytest.raises(CertificateError, match=said):
        verified(read(StringIO(text.replace(old, new, 1))))


@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.slow)])
def test_corruptions_prove_nothing_false(branches, tmp_path, count):
    written(branches, tmp_path / "b.cert")
    text, rng = (tmp_path / "b.cert").read_text(), np.random.default_rng(12)
    counts = {True: 0, False: 0}
    for _ in range(count):
        wrong = corrupted(text, rng)
        if wrong == text:
            continue
        try:
            found = read(StringIO(wrong))
            proved = verified(found)
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
