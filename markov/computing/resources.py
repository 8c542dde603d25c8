"""Resources of long computations: memory, time, progress, interruption, and the range of float64."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.progress import DELAY, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp

__all__ = [
    "MAX_SECONDS",
    "MIN_CHECKED_BYTES",
    "Counter",
    "InfiniteStatesError",
    "Prediction",
    "StateLimitError",
    "TooLargeError",
    "available",
    "check_room",
    "interruptible",
    "rates_in_range",
    "report_residual",
    "time_limit",
    "watch_residuals",
]


# Memory: arrays that would not fit are rejected before they are allocated.


class TooLargeError(MemoryError):
    """Error: a computation needs more memory than is available.

    Attributes
    ----------
    predicted, available
        Needed and available bytes.

    Examples
    --------
    >>> from markov import MM1K, generator
    >>> from markov.errors import TooLargeError
    >>> try:
    ...     generator(MM1K(capacity=10**9), reachable=False)
    ... except TooLargeError as error:
    ...     print(error.predicted > 1e10)
    True
    """

    def __init__(self, what: str, predicted: float, available: float) -> None:
        self.predicted, self.available = predicted, available
        super().__init__(f"{what}: {predicted:.3g} bytes, of {available:.3g} that are available")


class StateLimitError(TooLargeError):
    """Error: a model has more reachable states than the limit ``most``.

    Attributes
    ----------
    most
        Largest allowed number of states.
    """

    def __init__(self, name: str, most: int, hint: str = "") -> None:
        self.most, self.predicted, self.available = most, math.inf, available()
        message = f"more than {most} reachable states (most={most}): give most= a larger number{hint}"
        MemoryError.__init__(self, f"{name}: {message}")


class GrowingStatesError(StateLimitError):
    """Error: a search of states was stopped, since a component keeps growing and no bound on it is proved.

    Attributes
    ----------
    component, low, high
        Its name and its values so far.
    """

    def __init__(self, name: str, component: str, low: int, high: int, states: int, reason: str) -> None:
        super().__init__(name, states)
        self.component, self.low, self.high = component, low, high
        message = f"{states} states were found, in which {component} is {low} to {high} and still grows"
        cause = f"whether it has an end is not known, because {reason}"
        hint = f"give {component} a largest value, or give most= the number of states to search"
        MemoryError.__init__(self, f"{name}: {message}; {cause}; {hint}")


class InfiniteStatesError(TooLargeError):
    """Error: infinitely many states can be reached from the initial state of a model.

    Attributes
    ----------
    hull
        A closed set that contains them, in parts with the transitions of each.
    most
        Largest allowed number of states.
    """

    def __init__(self, name: str, hull: Any, most: int) -> None:
        self.hull, self.most = hull, most
        self.predicted, self.available = math.inf, available()
        message = "the start leads to infinitely many states, which stationary(), passage() and transient() take"
        MemoryError.__init__(self, f"{name}: {message} alone: give components a last value otherwise")


def available() -> float:
    """Return the number of bytes that this process may still allocate; inf if it is unknown.

    The minimum of the free memory, the limit of the control group, and the limits of the process on its address space
    and its data (``ulimit -v``, ``ulimit -d``).
    """
    return max(min(_free_bytes(), _bytes_below_limits()), 0.0)


def _free_bytes() -> float:
    """Return the free memory of this machine or of the process's control group in bytes; inf if it is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024.0 * next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, OSError, ValueError):
            return float("inf")
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        free = min(free, limit - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no control group, or one without a limit
        pass
    return free


def _bytes_below_limits() -> float:
    """Return the bytes that the process may allocate before it reaches its resource limits; inf without limits."""
    try:
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except (ImportError, OSError):  # other systems do not report the used part of a limit
        return math.inf
    used = {resource.RLIMIT_AS: int(pages[0]), resource.RLIMIT_DATA: int(pages[5])}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    return min(
        (
            float(limits[kind] - count * resource.getpagesize())
            for kind, count in used.items()
            if limits[kind] != resource.RLIM_INFINITY
        ),
        default=math.inf,
    )


def check_room(what: str, predicted: float) -> None:
    """Raise TooLargeError unless ``predicted`` bytes of memory are available; ``what`` names their use."""
    if predicted > MIN_CHECKED_BYTES and predicted > (free := available()):
        raise TooLargeError(what, predicted, free)


MIN_CHECKED_BYTES = 1e8
"""Smallest prediction in bytes that is compared with the available memory."""


# Ctrl-C during calls of libraries that do not handle it.

Value = TypeVar("Value")
MIN_SECONDS = 0.2
"""Shortest predicted time in s of a call in a thread."""
POLL_SECONDS = 0.1


def interruptible(call: Callable[[], Value], seconds: float) -> Value:
    """Return the result of a call without arguments, made in a thread if it is long, so that Ctrl-C ends it.

    Python handles signals between its own instructions only, never inside a library's call. A long
    call that lets other threads run meanwhile, as SuperLU's factorizations do, is therefore made by
    a thread. Ctrl-C ends the wait for that thread: the thread ends by itself or with the process,
    and only then releases its memory.

    Parameters
    ----------
    call
        Function without arguments; its exceptions are raised again.
    seconds
        Predicted time in s.
    """
    if seconds < MIN_SECONDS:
        return call()
    results: list[Value] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 (raised again by the waiting thread)
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    if errors:
        raise errors[0]
    return results[0]


# Progress of iterative methods: reports, the active monitor, and a progress bar.

REFRESH_SECONDS = 0.2
BAR_FORMAT = "{desc}: {percentage:3.0f} % of the digits [{elapsed}<{remaining}{postfix}]"
_active_watch: ContextVar[_Watch | None] = ContextVar("_active_watch", default=None)


class Counter:
    """Progress bar that shows a count of finished steps, with or without a total, in long runs; a context manager."""

    def __init__(self, name: str, total: int | None = None) -> None:
        self.name, self.total = name, total
        self.bar: Any = None
        self.begin = time.time()
        self.next = time.perf_counter() + DELAY

    def show(self, count: int) -> None:
        """Update the progress bar to a count, at most every 0.2 s."""
        if time.perf_counter() < self.next:
            return
        if self.bar is None:
            self.bar = progress_bar(desc=self.name, total=self.total, unit="", delay=0.0)
            self.bar.start_t = self.begin  # for the estimate of the remaining time
        self.bar.n = count
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


class _Watch:
    """History of the residuals of one iterative solution, and its progress bar."""

    def __init__(self, tolerance: float | None) -> None:
        self.history: list[tuple[int, float]] = []
        self.tolerance = tolerance
        self.bar: Any = None
        self.begin = math.nan
        self.next = time.perf_counter() + DELAY

    def update(self, iteration: int, residual: float) -> None:
        """Record the residual of an iteration, and show the share of the required digits in the progress bar."""
        self.history.append((iteration, residual))
        if len(self.history) == 1:
            self.begin = time.time()
        if self.tolerance is None or time.perf_counter() < self.next:
            return
        if not 0.0 < residual < math.inf:
            return
        first = self.history[0][1]
        if self.bar is None:
            digits = max(math.log10(first / self.tolerance), 0.0)
            self.bar = progress_bar(total=digits, bar_format=BAR_FORMAT, desc="pi Q = 0", delay=0.0)
            self.bar.start_t = self.begin  # digits count from the first residual on
        self.bar.n = min(max(math.log10(first / residual), 0.0), self.bar.total)
        self.bar.set_postfix_str(f"iteration {iteration}, residual {residual:.1e}", refresh=False)
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH_SECONDS


@contextmanager
def watch_residuals(tolerance: float | None) -> Iterator[list[tuple[int, float]]]:
    """Yield the list to which `report_residual` appends (iteration, residual); show a progress bar in long runs.

    Parameters
    ----------
    tolerance
        The relative residual at which the method stops; None: it does not iterate.
    """
    watch = _Watch(tolerance)
    token = _active_watch.set(watch)
    try:
        yield watch.history
    finally:
        _active_watch.reset(token)
        if watch.bar is not None:
            watch.bar.close()


def report_residual(iteration: int, residual: float) -> None:
    """Pass the relative residual of an iteration to the active progress monitor, if any; iterative methods call it."""
    watch = _active_watch.get()
    if watch is not None:
        watch.update(iteration, residual)


# A limit on the predicted duration of computations whose cost grows with the time of a transient.

MAX_SECONDS = 60.0
"""Default of ``max_seconds``, in s."""
FIRST_PREDICTION = 2.0
"""Time in s before the first prediction: earlier ones vary too much."""
WAIT_FOR_DECAY = 0.1
"""Part of the limit for which terms that do not decay yet are not taken for ones that never do."""

_limit: ContextVar[float | None] = ContextVar("time_limit", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Set the largest predicted duration, in s, of computations in the context; `Prediction` raises beyond it."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


class Prediction:
    """Prediction of the duration of a long sum of matrix powers, from the time and the decay of its terms so far.

    Parameters
    ----------
    reason
        Why the sum does not end before, in words.
    """

    def __init__(self, reason: str = "the chain is not near its long-run distribution before") -> None:
        self._reason = reason
        self._watch, self._limit = Stopwatch(), _limit.get()
        self._before: dict[str, tuple[int, float]] = {}

    def check(self, done: int, remaining: float, decays: dict[str, tuple[float, float]]) -> None:
        """Raise ValueError if the remaining products of a sum of matrix powers are predicted to exceed the time limit.

        Parameters
        ----------
        done
            Number of products so far.
        remaining
            Number of products at most.
        decays
            Distances that end the sum before, and the values below which they do so, by name.
        """
        if self._limit is None or (elapsed := self._watch.seconds()) < FIRST_PREDICTION:
            return
        for name, (distance, tolerance) in decays.items():
            steps, first = self._before.setdefault(name, (done, distance))
            if done > 2 * steps:
                self._before[name] = done, distance
            if done > steps and 0.0 < distance < first and tolerance > 0.0:
                per_step = math.log(first / distance) / (done - steps)
                remaining = min(remaining, max(math.log(distance / tolerance), 0.0) / per_step)
            elif done <= steps or elapsed < WAIT_FOR_DECAY * self._limit:
                return  # no decay yet
        seconds, limit = elapsed * (1.0 + remaining / done), self._limit
        if seconds > limit:
            duration = f"{seconds:.0f} s" if seconds < 1e4 else f"{seconds:.1e} s"
            products = f"{done + remaining:.1e} products of the jump matrix"
            message = f"about {duration} for {products}, more than max_seconds = {limit:g}"
            hint = f"max_seconds={1.2 * seconds:.2g} allows it"
            raise ValueError(f"{message}: {self._reason}; {hint}")


# Rates near the limits of float64: an overflow becomes an error that names them.

MIN_SAFE_RATE, MAX_SAFE_RATE = 1e-150, 1e150
"""Range of rates whose products and quotients are within float64."""


@contextmanager
def rates_in_range(Q: sp.csr_matrix) -> Iterator[None]:
    """Raise ValueError if rates outside 1e-150 .. 1e150 make a computation in the context overflow.

    Rates within this range are not checked: their products and quotients do not overflow.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    """
    rates = Q.data
    largest = float(np.max(np.abs(rates), initial=0.0))
    smallest = float(np.min(rates, where=rates > 0.0, initial=np.inf))
    if smallest >= MIN_SAFE_RATE and largest <= MAX_SAFE_RATE:
        yield
        return
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (OverflowError, ZeroDivisionError, FloatingPointError):
        message = f"rates from {smallest:.3g} to {largest:.3g}: float64 does not hold their products and quotients"
        raise ValueError(
            f"{message}; choose a unit of time in which they are between {MIN_SAFE_RATE:g} and {MAX_SAFE_RATE:g}"
        ) from None
