"""Suites of native rules in processes of their own: a library that crashes or does not return ends a case."""

from __future__ import annotations

import mmap
import os
import pickle
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dfcmodel.sharing.suites.incidents import BottleneckPath
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import JudgedSuite, SuiteVerdict, after_event, interrupted, judge_case
from dfcmodel.sharing.suites.native_connections import CurrentCall, load_loop, share_current_call
from hopflow.progress import announce, announcing
from responsefn import NewReno

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dfcmodel.network.endpoints.native_rules import NativeRule
    from responsefn import WindowRule

__all__ = ["CALL_LIMIT", "judge_isolated", "serve"]

CALL_LIMIT = 60.0
"""Largest time that a call of the library may take, s. A simulated run, which is one call, takes a few seconds."""
START_LIMIT = 1800.0
"""Largest time until the first case begins, s: a process may have to compile the packet engine first."""
BEAT = 1.0
"""Interval at which the process reports that it runs Python code, so that no call has lasted longer, s."""
MAX_PRINTED_LINES = 20
"""Maximum number of lines that are shown of a library's output in a case."""
PROGRAM = "from dfcmodel.sharing.suites.isolation import serve; serve()"
READY, BEATING, PROGRESS, EVENT = "ready", "beating", "progress", "event"
VERDICT, ERROR, ENDED = "verdict", "error", "ended"
"""Kinds of messages: the cases begin; Python code runs; how far a case has come; an observation was made; a case is
over; the rule cannot be loaded; the process has ended."""
ADDRESS = re.compile(rb"0x[0-9a-fA-F]+|\(\d+\)")
"""Addresses and numbers of processes and threads, which differ between two reports of the same crash."""
MARK = b"\0case "
"""Beginning of a line on the standard error that names the case that begins."""


def judge_isolated(name: str, against: WindowRule, rule: NativeRule, deviations: Mapping[str, str]) -> JudgedSuite:
    """Return verdicts of the suite ``name`` on a native rule, in another process; a crash restarts it at the next case.

    Parameters
    ----------
    name, against, rule
        Name of the suite, the rule beside which RFC 9743's sections are judged, and the rule.
    deviations
        Reasons of known deviations by suite and case.
    """
    suite = SUITES[name](against)
    if not suite.applies_to(rule):
        return JudgedSuite(suite, (), applies=False)
    verdicts: list[SuiteVerdict] = []
    printed: set[bytes] = set()  # by the library, in all cases of the suite
    while len(verdicts) < len(suite.cases):
        with _Process((name, against, rule, dict(deviations), len(verdicts)), printed) as process:
            for case in suite.cases[len(verdicts) :]:
                answer, event, failure = process.next_verdict()
                if failure:
                    verdicts.append(interrupted(name, case, deviations, event, failure))
                    break
                verdicts.append(SuiteVerdict(name, case, *answer))
        if failure and suite.shares_runs:
            rest = suite.cases[len(verdicts) :]
            verdicts += [interrupted(name, case, deviations, event, failure) for case in rest]
    return JudgedSuite(suite, tuple(verdicts))


class _Process:
    """A process that runs cases of a suite, from one on; use as a context manager."""

    def __init__(self, task: tuple[Any, ...], printed: set[bytes]) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self._folder = tempfile.TemporaryDirectory(prefix="hopflow-", ignore_cleanup_errors=True)
        self._call = Path(self._folder.name) / "call"
        self._call.write_bytes(bytes(CurrentCall()))
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        self._messages: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=_show_output, args=(self._process.stderr, printed), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(pickle.dumps((*task, str(self._call))))
            self._process.stdin.close()
            self._start()
        except BaseException:
            self._end()
            raise

    def _start(self) -> None:
        """Wait until the process is ready to run cases; raise the exception that kept it from that."""
        kind, content = self._next(START_LIMIT)
        if kind == ERROR:
            raise content
        if kind != READY:
            raise RuntimeError(f"a process for a suite {content}, before its first case")

    def _read(self) -> None:
        """Thread: put the messages of the process into a queue, and at last how it ended."""
        stream: Any = self._process.stdout
        with stream:
            try:
                while True:
                    self._messages.put(pickle.load(stream))
            except (EOFError, pickle.UnpicklingError):
                self._messages.put((ENDED, _describe_end(self._process.wait())))

    def _next(self, limit: float) -> tuple[str, Any]:
        """Return the next message (kind, content); after ``limit`` s without one kill the process, and say so."""
        try:
            return self._messages.get(timeout=limit)
        except queue.Empty:
            self._process.kill()
            return ENDED, f"did not return within {limit:g} s"

    def next_verdict(self) -> tuple[tuple[Any, ...], str, str]:
        """Return (verdict, last event, ""); if the library crashed, ((), interrupted call, what happened)."""
        event = ""
        while True:
            kind, content = self._next(CALL_LIMIT)
            if kind == VERDICT:
                return content, event, ""
            if kind == EVENT:
                event = content
            elif kind == PROGRESS:
                announce(content)
            elif kind == ENDED:
                call = str(CurrentCall.from_buffer_copy(self._call.read_bytes()))
                after = f"{call}, after {event}" if call and event else call or after_event(event)
                return (), after, f"the library {content}"

    def _end(self) -> None:
        """Kill the process, and remove its files."""
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


def _show_output(stream: Any, printed: set[bytes]) -> None:
    """Thread: print a library's output on standard error under its case's name, without lines that were shown before.

    Parameters
    ----------
    stream
        Standard error of the process.
    printed
        Lines of earlier cases without addresses, which are added to.
    """
    case, shown, skipped = "", 0, 0

    def end_case() -> None:
        if skipped:
            more = " as before" if not shown else ", beyond these or as before"
            sys.stderr.write(f"{case}: the library prints {skipped} more lines{more}\n")

    with stream:
        for line in stream:
            text, mark, name = line.partition(MARK)
            pattern = ADDRESS.sub(b"", text)
            if not case:  # of the start of the process, such as that the engine is compiled
                sys.stderr.write(text.decode(errors="replace"))
            elif text and (pattern in printed or shown == MAX_PRINTED_LINES):
                skipped += 1
            elif text:
                if shown == 0:
                    sys.stderr.write(f"{case}: the library prints\n")
                sys.stderr.write(f"  {text.decode(errors='replace').rstrip()}\n")
                shown += 1
            printed.add(pattern)
            if mark:
                end_case()
                case, shown, skipped = name.decode().rstrip(), 0, 0
    end_case()


def _describe_end(status: int) -> str:
    """Return a sentence fragment about how a process ended: its exit status, or the signal if negative."""
    if status >= 0:
        return f"ended its process with status {status}"
    return f"ended its process: {signal.strsignal(-status) or 'signal'} ({signal.Signals(-status).name})"


class _Channel:
    """Messages from the isolated process to the process that waits for verdicts; output goes to standard error."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "wb")
        self._sends = False
        os.dup2(2, 1)

    def send(self, kind: str, content: Any = None) -> None:
        """Send a message of a kind, such as VERDICT, with its content."""
        self._sends = True
        pickle.dump((kind, content), self._file)
        self._file.flush()
        self._sends = False

    def beat(self, *_: object) -> None:
        """Report that Python code runs; nothing while another message is being sent."""
        if not self._sends:
            self.send(BEATING)


def serve() -> None:
    """Run a suite's cases and send verdicts, as the main function of a process; its task comes over standard input."""
    channel = _Channel()
    try:
        name, against, rule, deviations, first, call = pickle.load(sys.stdin.buffer)
        with open(call, "r+b") as file:  # noqa: PTH123 - a descriptor
            share_current_call(mmap.mmap(file.fileno(), 0))
        rule.loaded  # noqa: B018 - a library that cannot be loaded ends all cases
        BottleneckPath(duration=0.2).run(NewReno(), np.array([0.2]))  # compiles the engine if it has to be
        load_loop()
    except Exception as error:  # noqa: BLE001 - raised by the process that waits
        channel.send(ERROR, error)
        return
    channel.send(READY)
    if hasattr(signal, "setitimer"):  # Python calls the handler between two instructions, never within the library
        signal.signal(signal.SIGALRM, channel.beat)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, BEAT, BEAT)
    with announcing(lambda text: channel.send(PROGRESS, text)):
        for case in SUITES[name](against).cases[first:]:
            os.write(2, MARK + f"{name}/{case.id}\n".encode())
            verdict = judge_case(name, case, rule, deviations, lambda event: channel.send(EVENT, event))
            channel.send(VERDICT, tuple(verdict[2:]))
    os._exit(0)  # without what the library does at exit
