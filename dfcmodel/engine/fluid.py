"""The fluid in discrete time: its step, and what it models beyond windows, queues and delays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfcmodel.network.time_steps import contracted_delay, shortest_delay
from hopflow.checks import choice, flag, one_number, refuse_options, shown, whole
from hopflow.display.results import Described

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["RECOVERIES", "Fluid", "check_recovery"]

MARKS = ("drawn", "expected")
PIPES = ("rfc6675", "fall1996")
RECOVERIES = ("tahoe", "reno", "newreno", "sack")


@refuse_options(
    jitter="is a parameter of simulate, sweep and ensemble: simulate(scenario, Fluid(...), jitter='10ms')",
    backend="was removed; the fluid runs on the compiled engine",
    whole_packets="was removed; use method=Packets(), which is nearer to packet simulators and costs less",
)
@dataclass(frozen=True)
class Fluid(Described):
    """The fluid in discrete time; each refinement beyond windows, queues and delays can be switched off.

    Confidence intervals of an `ensemble` contain chance alone; intervals of goodput shares with the error of the
    fluid, as it was measured beside ns-2, are those of `dfcmodel.share_intervals`.

    Parameters
    ----------
    steps_per_delay
        m: the step is h = delay / m, where the delay is that of the shortest link, or longer where ``contracted``
        says so. First-loss times and peak queues converge as h.
    contracted
        Whether links at the ends of paths are left out when the delay is chosen (`network.time_steps`): access links
        of 10 us then do not set the step of a path of 40 ms. Links with a discipline other than FIFO, and those
        that feed them, always count.
    store_and_forward
        A packet takes its transmission time on each link, half of it in each direction: links are
        longer by half a packet time. Links with DFC keep their delays, which are those of the law.
    timeouts
        Whether retransmission timers expire; a sender without them may wait for ever.
    whole_losses
        Where packets come at random times (``packet_jitter`` of `simulate`) a full FIFO queue drops
        whole packets, each of a flow drawn in proportion to the arrivals of the step. Otherwise every flow
        loses its part of each overflow, so that flows lose together more often.
    accuracy
        Largest error that the step may cause in the goodput of a flow, as a part of the rate of its path's
        slowest link; None: the step is that of ``steps_per_delay``. Otherwise that is the coarsest of at
        least three steps, each half of the one before. The estimate is twice the larger one of the last two
        changes; a run has it as ``step_error``. Of 60 networks of TCP set aside it covered the change with
        a quarter of the step in 54; of the 20 that met 0.02 at 32 steps per delay 18 changed by no more
        than that. Runs of TCP are often chaotic, and with a finer step the losses are others.
    most_steps_per_delay
        How fine the step may become for ``accuracy``. Where that is not enough `simulate` raises
        `markov.errors.ConvergenceError`, whose ``result`` is the finest run.
    recovery
        How all senders repair losses, ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``; None: as
        their window rules say.
    pipe
        What a sender with SACK takes for in flight while it repairs losses: ``"rfc6675"``, without packets
        that are known to be lost, or ``"fall1996"``, with them, as in Fall and Floyd (1996), Sect. 4,
        in ns-2's ``Sack1`` and at the packet level. With many losses the second waits longer.
    marks
        ``"drawn"``: links mark whole packets, and rate rules see each mark, as at the packet level. ``"expected"``: links
        mark their mean, and rate rules change as they do on average (`responsefn.RateRule.expected`). That is the
        fluid model of a paper, with its fixed point and without the noise of packets; with ten senders of DCQCN the
        first is nearer to packets (docs/models.md).

    Raises
    ------
    ValueError
        For a number of steps or an accuracy outside its range, and an unknown recovery, pipe or way to mark.

    Examples
    --------
    >>> Fluid(steps_per_delay=8).steps_per_delay
    8
    """

    steps_per_delay: int = 4
    store_and_forward: bool = True
    timeouts: bool = True
    whole_losses: bool = True
    accuracy: float | None = None
    most_steps_per_delay: int = 64
    recovery: str | None = None
    pipe: str = "rfc6675"
    contracted: bool = True
    marks: str = "drawn"

    def __post_init__(self) -> None:
        for name in (
            "steps_per_delay",
            "most_steps_per_delay",
        ):  # plain integers, whatever was given
            object.__setattr__(self, name, whole(name, getattr(self, name), 1, 10_000))
        flag("store_and_forward", self.store_and_forward)
        flag("timeouts", self.timeouts)
        flag("whole_losses", self.whole_losses)
        flag("contracted", self.contracted)
        if self.accuracy is not None:
            one_number("accuracy", self.accuracy, above=0.0, below=1.0)
            if self.most_steps_per_delay < 4 * self.steps_per_delay:
                msg = f"must be at least {4 * self.steps_per_delay}: accuracy takes three runs"
                raise ValueError(f"most_steps_per_delay = {self.most_steps_per_delay}: {msg}")
        choice("pipe", self.pipe, PIPES)
        choice("marks", self.marks, MARKS)
        if self.recovery is not None:
            check_recovery("recovery", self.recovery)

    def step_of(self, scenario: Scenario) -> float:
        """Return the time step for a scenario, s.

        Examples
        --------
        >>> from dfcmodel import takano2006
        >>> Fluid().step_of(takano2006("1"))
        2.5e-05
        """
        if self.contracted:
            return contracted_delay(scenario) / self.steps_per_delay
        return shortest_delay(scenario) / self.steps_per_delay


def check_recovery(name: str, given: object) -> None:
    """Raise ValueError for a loss recovery that the fluid does not have; the packet level may have it."""
    if not isinstance(given, str) or given not in RECOVERIES:
        listed = ", ".join(map(repr, RECOVERIES))
        msg = f"must be one of {listed} in the fluid; others run with method=Packets(recovery=...)"
        raise ValueError(f"{name} = {shown(given)}: {msg}")
