"""Watchdogs against pause storms: their settings, and the storms they detect.

A watchdog polls a queue. An interval between two polls is *bad* if the queue was paused for at least a fraction of it.
After ``detection / polling`` bad intervals in succession, rounded up, a storm is declared and packets are dropped,
until ``restoration / polling`` intervals in succession had no pause at all (SONiC, ``pfc_restore.lua``: no pause frame
between two polls). This is the rule of chips that count the time paused. For other chips an interval is bad if pause
frames arrived and the queue sent nothing (SONiC, ``pfc_detect_broadcom.lua``). They detect the same lasting storms, and
also shorter storms of queues without packets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.quantities import check_bare_time, duration
from hopflow.checks import instance, integer, one_number, random_generator
from hopflow.deprecations import accept_old_names
from hopflow.progress import progress_bar
from hopflow.units import WithUnit, declares, in_units

if TYPE_CHECKING:
    from dfcmodel.lossless.quantities import Given
    from markov import PhaseType

__all__ = ["MAX_BARE_TIME", "MS", "Watchdog", "check_times", "simulate_watchdog", "watchdog_time"]


MAX_BARE_TIMES = {"polling": 3.0, "pollings": 3.0, "detection": 5.0}
"""Maximum times in s of numbers without a unit: the maxima of SONiC, 3,000 and 5,000 ms."""
MAX_BARE_TIME = 60.0
"""The same of other times; SONiC restores after at most 60,000 ms."""
MS = "ms", "files of switches have ms: "
"""The likely unit of a number that is too large, and why."""


def watchdog_time(name: str, value: Given) -> float:
    """Return a time of a watchdog in s, from s or a string; large numbers without a unit, likely ms, are refused.

    >>> watchdog_time("polling", "200 ms"), watchdog_time("polling", 0.2)
    (0.2, 0.2)
    """
    time = duration(name, value)
    check_bare_time(name, value, time, MAX_BARE_TIMES.get(name, MAX_BARE_TIME), *MS)
    return time


@declares(polling="time", detection="time", restoration="time", fraction="share")
@dataclass(frozen=True)
class Watchdog:
    """Settings of a watchdog, in s or strings such as ``200 ms``.

    Parameters
    ----------
    polling
        Time between polls, at most ``detection`` and ``restoration``: otherwise these have no effect.
    detection
        Time for which a queue must be bad until a storm is declared.
    restoration
        Time without any pause until packets are no longer dropped, in whole intervals. The interval in which the last
        pause ends does not count: a queue is restored ``restoration`` to one polling time more after it.
    fraction
        Minimum paused fraction of a bad interval, above 0, at most 1. SONiC's rule for chips without a counter of the
        time paused is different: pause frames and nothing sent in the interval, which a shorter pause of a queue
        without packets also meets.

    Raises
    ------
    ValueError
        For a polling interval above the detection or the restoration time, more than 10,000 polls, a fraction outside
        0 to 1, and numbers without a unit above the maxima of SONiC (3 s, 5 s and 60 s): files of switches have ms.

    Examples
    --------
    >>> from dfcmodel.lossless import Watchdog
    >>> dog = Watchdog("200 ms", "400 ms", "2 s")
    >>> dog.polls, [round(t, 3) for t in dog.delay], round(dog.miss("500 ms"), 3)
    (2, [0.4, 0.6], 0.5)
    """

    polling: Given
    detection: Given
    restoration: Given
    fraction: WithUnit = 1.0

    def __post_init__(self) -> None:
        """Convert times to s and ``fraction`` to a number, in place; ValueError for invalid settings."""
        for name in ("polling", "detection", "restoration"):
            object.__setattr__(self, name, watchdog_time(name, getattr(self, name)))
        for name in ("detection", "restoration"):
            if self.period > (time := float(getattr(self, name))):
                raise ValueError(f"polling = {self.period:g} s: must be at most {name}, {time:g} s")
        object.__setattr__(self, "fraction", in_units("fraction", self.fraction, "share"))
        one_number("fraction", self.fraction, above=0.0, at_most=1.0)
        integer("detection / polling", self.polls, 1, 10_000)
        integer("restoration / polling", self.good_polls, 1, 10_000)

    @property
    def period(self) -> float:
        """Time between polls, s."""
        return float(self.polling)

    @property
    def polls(self) -> int:
        """Number of bad intervals in succession that declare a storm."""
        return math.ceil(float(self.detection) / self.period * (1.0 - 1e-12))

    @property
    def good_polls(self) -> int:
        """Number of intervals in succession without a pause that end a storm."""
        return math.ceil(float(self.restoration) / self.period * (1.0 - 1e-12))

    @property
    def delay(self) -> tuple[float, float]:
        """Shortest and longest time, s, from the beginning of a lasting storm to its detection; uniform between.

        Polls are assumed to be exact. With polls earlier than ``period``, or a counter slightly below the interval,
        and ``detection`` a multiple of the interval, a storm can need one poll more.
        """
        n, f = self.polls, self.fraction
        return (n - 1 + f) * self.period, (n + f) * self.period

    @declares(storm="time")
    def miss(self, storm: Given) -> float:
        """Return the probability that a single pause of length ``storm`` (s, or a string) is not detected.

        Its beginning is independent of the polls. The time to the next poll is uniform on the interval; it determines
        the number of bad intervals. Numbers of more than 60 s without a unit are refused, as for ``restoration``.
        """
        length = watchdog_time("storm", storm) / self.period  # in intervals
        n, f = self.polls, self.fraction
        if n == 1 and length < f:
            return 1.0
        first = np.clip(length - (n - 2 + f), f, 1.0) - f  # the first interval is bad as well
        later = np.clip(length - (n - 1 + f), 0.0, f)
        return float(1.0 - first - later)


@accept_old_names(rng="seed")
def simulate_watchdog(
    watchdog: Watchdog, pauses: PhaseType, gaps: PhaseType, *, polls: int, seed: Any = None
) -> tuple[int, float]:
    """Return the number of storms declared in ``polls`` polls, and the fraction of polls at which it drops.

    The simulation is event by event, with the rule of the watchdog at each poll; tests compare `watchdog_risk` with it.

    Examples
    --------
    >>> from dfcmodel.lossless import Watchdog, simulate_watchdog
    >>> from markov import PhaseType
    >>> pauses, gaps = PhaseType.exponential(20.0), PhaseType.exponential(1.0)
    >>> alarms, _ = simulate_watchdog(Watchdog(0.1, 0.2, 1.0), pauses, gaps, polls=10_000, seed=1)
    >>> alarms > 0
    True
    """
    instance("watchdog", watchdog, Watchdog)
    check_times(pauses, gaps)
    draw, count = random_generator("seed", seed), integer("polls", polls, 1, 10**8)
    end = count * watchdog.period
    event_times, last = [np.zeros(1)], 0.0
    while last < end:
        pairs = np.column_stack([gaps.sample(10_000, seed=draw), pauses.sample(10_000, seed=draw)])
        event_times.append(last + np.cumsum(pairs.ravel()))
        last = float(event_times[-1][-1])
    times = np.concatenate(event_times)
    paused = np.concatenate([[0.0], np.cumsum(np.diff(times) * (np.arange(len(times) - 1) % 2))])
    paused_times = np.diff(np.interp(watchdog.period * np.arange(count + 1), times, paused))
    rounding = 1e-9 * watchdog.period
    bad, quiet = paused_times >= watchdog.period * watchdog.fraction - rounding, paused_times <= rounding
    alarms, dropped, run, dropping = 0, 0, 0, False
    for is_bad, is_quiet in progress_bar(zip(bad.tolist(), quiet.tolist(), strict=True), total=count, desc="polls"):
        dropped += dropping
        run = run + 1 if (is_quiet if dropping else is_bad) else 0
        if run == (watchdog.good_polls if dropping else watchdog.polls):
            alarms, run, dropping = alarms + (not dropping), 0, not dropping
    return alarms, dropped / count


def check_times(pauses: PhaseType, gaps: PhaseType) -> None:
    """Raise TypeError unless pauses and gaps are phase-type times."""
    from markov import PhaseType

    instance("pauses", pauses, PhaseType)
    instance("gaps", gaps, PhaseType)
