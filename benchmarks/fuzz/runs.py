"""The calls of a fuzz: one parameter replaced at a time, in random order, each under a time limit of the process that makes them."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.contradictions import Question, contradiction
from benchmarks.fuzz.judging import fault_of_error, has_nan, same_answer
from benchmarks.fuzz.targets import Target, targets
from benchmarks.fuzz.values import HOSTILE, LABELLED, NEVER, equivalents
from hopflow.labels import UNUSED
from responsefn.errors import OutsideDomainWarning, SeveralAttractorsWarning, SlowApproachWarning

REMARKS = OutsideDomainWarning, SeveralAttractorsWarning, SlowApproachWarning
"""Warnings on a right answer."""


@dataclass
class Outcome:
    """What a fuzz found: how many calls ended how, the faults, and the slowest calls."""

    ended: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, call: str, ended: str, fault: str | None, seconds: float) -> None:
        """Count one call."""
        self.ended[ended] += 1
        if fault is not None:
            self.faults.append((call, fault))
        self.slowest = sorted([*self.slowest, (seconds, call)], reverse=True)[:5]

    def __str__(self) -> str:
        lines = [f"{call}: {fault}" for call, fault in sorted(self.faults)]
        lines += [f"{seconds:6.2f} s {call}" for seconds, call in self.slowest]
        counted = ", ".join(f"{count} {how}" for how, count in self.ended.items())
        lines.append(f"{self.ended.total()} calls: {counted}; {len(self.faults)} faults")
        return "\n".join(lines)


@dataclass(frozen=True)
class Call:
    """One call: which target, which parameter, and the name of its value."""

    target: Target
    parameter: str
    value: str
    hostile: bool

    def __str__(self) -> str:
        return f"{self.target.name}({self.parameter}={self.value})"


def plan(seed: int, only: str = "") -> list[Call]:
    """Return all calls in random order."""
    calls = [
        Call(target, parameter, name, hostile)
        for target in targets()
        if only in target.name
        for parameter, valid in target.parameters.items()
        for names, hostile in ((HOSTILE, True), (equivalents(valid), False))
        for name in names
        if hostile or parameter not in target.free
    ]
    random.Random(seed).shuffle(calls)
    return calls


def answer(target: Target, /, **changed: Any) -> Any:
    """Call a target with some arguments changed; of an iterator return the first entries."""
    arguments = {**target.arguments, **changed}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("error")
        for remark in REMARKS:
            warnings.simplefilter("ignore", remark)
        found = target.call(**{name: fresh(value) for name, value in arguments.items()})
        if isinstance(found, Iterator):
            found = [each for each, _ in zip(found, range(5), strict=False)]
    return found


def fresh(value: Any) -> Any:
    """Return a copy of what a call may change."""
    return copy.deepcopy(value) if isinstance(value, (list, dict, np.random.Generator)) else value


def judge(call: Call | Question) -> tuple[str, str | None]:
    """Make one call, or ask one question in two ways; return how it ended, and the fault or None."""
    if isinstance(call, Question):
        return contradiction(call)
    valid = call.target.parameters[call.parameter]
    value = HOSTILE[call.value]() if call.hostile else equivalents(valid)[call.value]
    try:
        found = answer(call.target, **{call.parameter: value})
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
        fault = fault_of_error(error, call.parameter)
        of_labels = call.value == LABELLED and UNUSED in str(error)
        if not call.hostile and fault is None and not of_labels and not isinstance(error, OSError):
            fault = f"refuses an equivalent value: {error}"
        return "error", fault
    if not call.hostile:
        same = same_answer(found, answer(call.target))
        return "equivalent", None if same else "another answer than for the plain value"
    free = call.parameter in call.target.free
    texts = isinstance(valid, tuple) and valid and all(isinstance(entry, str) for entry in valid)
    never = NEVER - {"array of texts"} if texts else NEVER
    if call.value in never and not free and isinstance(valid, (int, float, list, tuple, str)):
        return "accepted", f"accepted: {' '.join(str(found).split())[:80]!r}"
    if has_nan(found) and not free and not has_nan(answer(call.target)):
        return "accepted", "a silent NaN"
    return "accepted", None


def fuzz(calls: Sequence[Call | Question]) -> Outcome:
    """Make the calls, and ask the questions, in this process."""
    outcome = Outcome()
    for call in calls:
        start = time.perf_counter()
        outcome.add(str(call), *judge(call), time.perf_counter() - start)
    return outcome


def fuzz_apart(calls: Sequence[Call | Question], arguments: Sequence[str], limit: float = 120.0) -> Outcome:
    """Make the calls in another process, begun again when it crashes, or is killed after ``limit`` seconds.

    Parameters
    ----------
    calls
        What to call, and to ask in two ways.
    arguments
        Of the command line for which `benchmarks.fuzz.__main__.tasks` returns the same calls.
    limit
        Seconds for one of them.
    """
    outcome, done = Outcome(), 0
    while done < len(calls):
        command = [sys.executable, "-m", "benchmarks.fuzz", "--from", str(done), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
            for line in _lines(worker, limit):
                ended, fault, seconds = json.loads(line)
                outcome.add(str(calls[done]), ended, fault, seconds)
                if fault is not None:
                    print(f"{calls[done]}: {fault}", file=sys.stderr, flush=True)
                done += 1
            if done < len(calls):
                status = worker.wait()
                killed = status == -signal.SIGKILL
                how = f"longer than {limit:g} s" if killed else f"crashed with status {status}"
                outcome.add(str(calls[done]), "process lost", how, limit)
                done += 1
    return outcome


def _lines(worker: subprocess.Popen[bytes], limit: float) -> Iterator[bytes]:
    """Yield what a worker prints; kill it when nothing comes for too long."""
    assert worker.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(worker.stdout, selectors.EVENT_READ)
        rest = b""
        while True:
            if not waiting.select(limit):
                worker.kill()
                return
            part = os.read(worker.stdout.fileno(), 65536)
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            yield from lines


def work(calls: Sequence[Call | Question]) -> None:
    """Make the calls, and print a line of JSON after each: how it ended, the fault, seconds."""
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)  # for functions that write the file that they are told
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what others print goes elsewhere
    for call in calls:
        start = time.perf_counter()
        ended, fault = judge(call)
        for file in filter(Path.is_file, folder.iterdir()):  # the next call does not read it
            file.unlink()
        out.write(json.dumps([ended, fault, time.perf_counter() - start]) + "\n")
