"""The same question has the same answer to the last bit: in any call, thread and process, whatever ran before."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopflow
import markov
from markov import (
    MM1K,
    CoxTandem,
    MarkovChain,
    PauseTandem,
    passage,
    stationary,
    transient,
)

ROOT = Path(markov.__file__).parents[1]
THREADS, CALLS = 8, 13
THRESHOLDS, RTTS = [5, 10, 15], [0.5, 1.0, 2.0]


def swept(executor: Any = None) -> Any:
    return hopflow.sweep(PauseTandem(), high_threshold=THRESHOLDS, rtt=RTTS, executor=executor)


def chain_bits() -> list[Any]:
    answer = stationary(PauseTandem(high_threshold=6, rtt=1.0))
    return [answer.pi, answer.error_bound]


def sweep_bits() -> list[Any]:
    table = swept()
    return [table[name].values for name in ("mean_queue", "error_bound")]


def transient_bits() -> list[Any]:
    return [transient(PauseTandem(), times=[0.5, 2.0], start=(0, 0, 1, 1)).pi]


def passage_bits() -> list[Any]:
    found = passage(PauseTandem(), to=lambda s: s.j >= 10, start=(0, 0, 1, 1))
    return [found.mean]


def digest(arrays: list[Any]) -> str:
    """Return a hash of the bits of some numbers."""
    found = hashlib.sha256()
    for each in arrays:
        found.update(np.ascontiguousarray(each, dtype=np.float64).tobytes())
    return found.hexdigest()


QUESTIONS = {
    "chain": chain_bits, "sweep": sweep_bits, "transient": transient_bits, "passage": passage_bits,
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_calls_and_threads_give_the_same_bits(name: str) -> None:
    """Answers of worker threads differed where a count of earlier work had exchanged NumPy for machine code meanwhile."""
    ask, found = QUESTIONS[name], []
    first = digest(ask())
    stationary(CoxTandem(capacity=30))  # other work between
    MarkovChain(PauseTandem(buffers=(30, 30), high_threshold=20))

    def work() -> None:
        found.append(digest(ask()))

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * THREADS
    for _ in range(CALLS - 2):
        stationary(MM1K(capacity=300))
        ask()
    assert digest(ask()) == first


PROCESS = """
import json, sys
if sys.argv[1] == "numba":
    import numba
from tests.markov.test_same_bits import QUESTIONS, digest
print(json.dumps({name: digest(ask()) for name, ask in QUESTIONS.items()}))
"""


@pytest.mark.parametrize("before", ["nothing", "numba"])
def test_a_new_process_gives_the_same_bits(before: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROCESS, before],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(run.stdout) == {name: digest(ask()) for name, ask in QUESTIONS.items()}


@pytest.mark.slow
def test_two_processes_give_the_same_bits_as_one() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        assert swept(executor).identical(swept())


def test_the_way_that_rules_run_does_not_depend_on_earlier_chains() -> None:
    ways = {MarkovChain(PauseTandem(high_threshold=10 + n)).how for n in range(8)}
    assert ways == {"the rules on arrays of states"}
    assert {MarkovChain(MM1K(capacity=30)).how for _ in range(100)} == {"the rules as they stand"}
