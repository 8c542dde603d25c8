"""Every public function answers or raises a typed error, for any value; and leaves the world as it was."""

from __future__ import annotations

import inspect
import locale
import os
import random
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.fuzz import judging
from benchmarks.fuzz.__main__ import arguments, tasks
from benchmarks.fuzz.contradictions import Answers, Pair, Question, contradiction, questions
from benchmarks.fuzz.judging import fault_of_error, numbers_of
from benchmarks.fuzz.runs import answer, fresh, fuzz, fuzz_apart, plan
from benchmarks.fuzz.targets import (
    MADE_BY_THE_LIBRARY,
    OF_A_RULE,
    PACKAGES,
    WITHOUT_ARGUMENTS,
    targets,
)
from hopflow import mbps, ms

ROOT = Path(__file__).resolve().parents[1]
QUICK = (
    "mbps", "PauseTandem", "PhaseType", "DiscreteChain", "jain_index", "AIMD", "Link", "Pause", "RED",
)  # fmt: skip
"""Functions that need no compilation."""


def test_every_public_function_is_called() -> None:
    called = {target.name for target in targets()}
    others = MADE_BY_THE_LIBRARY | WITHOUT_ARGUMENTS | OF_A_RULE
    public = {name for package in PACKAGES for name in package.__all__}
    assert public - called - others == set()
    assert others - public == set()
    wrong = []
    for target in targets():
        try:
            inspect.signature(target.call).bind(**target.arguments)
        except TypeError as error:
            wrong.append(f"{target.name}: {error}")
        if inspect.isabstract(target.call):
            wrong.append(f"{target.name}: is abstract")
    assert not wrong, "\n".join(wrong)


def test_some_calls_at_random() -> None:
    calls = [call for call in plan(seed=1) if call.target.name in QUICK][:400]
    found = fuzz(calls)
    assert not found.faults, str(found)
    assert min(found.ended["error"], found.ended["equivalent"]) > 10, str(found)


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        (lambda: mbps("a"), None),
        (lambda: ms("a"), "does not name rate"),
        (lambda: np.zeros(3).reshape(2), "not raised by hopflow"),
        (lambda: {}["x"], "not a typed error"),
    ],
    ids=["ours", "of another parameter", "of NumPy", "of Python"],
)
def test_an_error_is_judged_by_who_raised_it(fail: Any, said: str | None) -> None:
    try:
        fail()
    except Exception as error:  # noqa: BLE001
        fault = fault_of_error(error, "rate")
        assert (fault is None) == (said is None)
        assert said is None or said in str(fault)


def test_a_silent_nan_would_be_noticed() -> None:
    assert judging.has_nan({"a": [1.0, (np.array([np.nan]),)]})
    assert not judging.has_nan({"a": [1.0, "nan"]})


@pytest.mark.slow
def test_twelve_thousand_calls() -> None:
    given = ["--calls", "12000", "--questions", "0"]
    found = fuzz_apart(tasks(arguments(given)), given)
    assert not found.faults, str(found)
    assert found.ended.total() == 12_000


@pytest.mark.slow
def test_a_thousand_questions_in_two_ways() -> None:
    given = ["--calls", "0", "--questions", "1000"]
    found = fuzz_apart(tasks(arguments(given)), given)
    assert not found.faults, str(found)
    assert found.ended["compared"] > 800
    assert found.ended.total() == 1000


QUICK_PAIRS = ("label against set", "reward against array", "function against array and list")


def test_some_questions_in_two_ways() -> None:
    found = fuzz([question for name in QUICK_PAIRS for question in questions(4, 1, name)])
    assert not found.faults, str(found)
    assert found.ended["compared"] > 6


def answers_of(one: Any, other: Any, within: float = 0.0) -> Question:
    """Return a question with two given answers."""
    return Question(Pair("a pair", lambda _: Answers("a question", one, other, within)), 0)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (answers_of([1.0, 2.0], [1.0, 2.0]), None),
        (answers_of(np.inf, np.inf), None),
        (answers_of(1.0, 1.1, 0.2), None),
        (answers_of([1.0, 2.0], [1.0, 2.1], 0.05), "2.0) and np.float64(2.1"),
        (answers_of(np.nan, np.nan), "NaN"),
        (answers_of([1.0], [1.0, 1.0]), "shapes"),
        (Question(Pair("a pair", lambda _: {}["x"]), 0), "not raised by hopflow: KeyError"),
        (Question(Pair("a pair", lambda _: np.zeros(3).reshape(2)), 0), "ValueError"),
        (Question(Pair("a pair", lambda _: mbps("a")), 0), None),
    ],
    ids=["equal", "infinite", "near", "far", "NaN", "shapes", "of Python", "of NumPy", "ours"],
)
def test_two_answers_are_compared(question: Question, said: str | None) -> None:
    fault = contradiction(question)[1]
    assert (fault is None) == (said is None)
    assert said is None or said in str(fault)


@pytest.mark.slow
def test_eight_threads_get_the_same_answers() -> None:
    repeatable = [target for target in targets() if not target.name.startswith(UNREPEATABLE)]

    def everything(start: int) -> dict[str, list[float]]:
        found = {}
        for n in range(len(repeatable)):  # each thread begins elsewhere
            target = repeatable[(n + 11 * start) % len(repeatable)]
            home = target.call.__module__  # two packages have a `from_networkx`
            found[f"{home}: {target.name}"] = numbers_of(answer_of(target))
        return found

    expected = everything(0)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(everything, range(8)):
            other = [
                name
                for name, values in expected.items()
                if found[name] != pytest.approx(values, rel=1e-12, nan_ok=True)
            ]
            assert other == []


UNREPEATABLE = ("read_pcap", "read_qlog", "read_ss", "read_jani", "read_sbml", "save_", "write_")


def answer_of(target: Any) -> Any:
    """Call a target, without the filters of warnings, which are no thread's own."""
    return target.call(**{name: fresh(value) for name, value in target.arguments.items()})


def state_of_the_world() -> dict[str, Any]:
    """Return what other code of the process could notice."""
    import matplotlib as mpl

    return {
        "errstate": np.geterr(),
        "print options": np.get_printoptions(),
        "random numbers of NumPy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "random numbers of Python": random.getstate(),
        "warnings": list(warnings.filters),
        "matplotlib": dict(mpl.rcParams),
        "locale": locale.setlocale(locale.LC_ALL),
        "folder": Path.cwd(),
        "environment": dict(os.environ),
        "recursion": sys.getrecursionlimit(),
    }


@pytest.mark.slow
def test_no_call_changes_the_state_of_the_process() -> None:
    """JAX's 64-bit flag is the exception, which the functions that need it set: see the known limits."""
    for target in targets():  # what is imported, and compiled, sets up itself
        if not target.name.startswith(UNREPEATABLE):
            answer(target)
    before = state_of_the_world()
    for target in targets():
        if not target.name.startswith(UNREPEATABLE):
            answer(target)
            assert state_of_the_world() == before, target.name


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="file permissions of POSIX")
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """Kernels compile into a folder for temporary files then."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cache").write_text("a file, where a folder would have to be made")
    code = "from responsefn import Reno, simulate_rule; print(simulate_rule(Reno(), 0.01, 0.1, events=50).rate)"
    environment = {k: v for k, v in os.environ.items() if k not in ("HOPFLOW_CACHE_DIR", "XDG_CACHE_HOME")}
    environment |= {"HOME": str(home), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(run.stdout) > 0.0
    assert [path.name for path in home.iterdir()] == [".cache"]
