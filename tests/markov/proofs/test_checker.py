"""No certificate that says something false is accepted, however it was corrupted."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import markov.proofs.checker as module
from markov import MM1K, JacksonTandem, Kanban, explore, stationary
from markov.proofs.checker import CertificateError, check, read, rounded_up, shown, verified
from tests.markov.conftest import Queue
from tests.markov.proofs.conftest import exact_solution

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
    found = verified(read(StringIO(TWO)))
    assert (found.states, found.transitions, found.bound) == (2, 2, 0)
    assert found.means == {"second": (Fraction(1, 4), Fraction(1, 4))}
    assert "exactly one stationary distribution on the 2 listed states" in str(found)


def test_a_transient_state_is_no_obstacle_and_two_classes_are_refused():
    """Uniqueness is a conclusion: h falls in every state but one."""
    head = HEADER.replace("states 2", "states 3").replace("function 1 1 1/4 1/4 second\n", "")
    found = verified(read(StringIO(head + "0 6 0 0 1 1\n1 2 0 1 0 3\n2 0 0 2 0 1\n")))
    assert found.bound == 0
    with pytest.raises(CertificateError, match="does not fall"):
        verified(read(StringIO(head + "0 6 0 0 1 1\n1 2 0 1 0 3\n2 0 0 2\n")))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
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
    ],
)  # fmt: skip
def test_what_is_refused(old, new, said):
    assert old in TWO
    with pytest.raises(CertificateError, match=said):
        verified(read(StringIO(TWO.replace(old, new))))


def test_it_runs_alone_with_the_standard_library(tmp_path):
    own = tmp_path / "checker.py"
    own.write_text(Path(module.__file__).read_text())
    path = tmp_path / "two.cert"
    path.write_text(TWO)
    told = subprocess.run(
        [sys.executable, "-I", "-S", own, path], capture_output=True, text=True, check=True
    )
    assert "mean of second in [0.25000000000000000000" in told.stdout


def test_numbers_for_readers_are_rounded_outwards():
    assert rounded_up(Fraction(1, 3)) == "3.34e-1"
    assert rounded_up(Fraction(9999, 10000)) == "1.00e0"
    assert shown(Fraction(-1, 3), Fraction(-1, 4)) == "[-0.3334, -0.2500]"
    assert shown(Fraction(1500), Fraction(2500)) == "[1500, 2500]"


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
        proved = verified(found)
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
