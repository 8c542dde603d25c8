"""Link-level retry (LLR): the replay buffer, and the throughput under frame errors as a Markov chain.

A sender stores each frame until it is acknowledged. A receiver that detects a missing frame requests it, and the sender
repeats it and all frames after it (go-back-N). In slots of one frame the link is a discrete chain: frames are in
order, or a frame is missing and not yet detected, or the request is in flight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.paused.paused_links import PausedLink
from dfcmodel.lossless.paused.worst_cases import largest_drain
from dfcmodel.lossless.quantities import FIBRE, OVERHEAD, PREAMBLE, bit_rate, bit_times, frame_size, metres
from hopflow.checks import flag, integer, one_number
from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from hopflow.units import WithUnit, declares, in_units, quantities

if TYPE_CHECKING:
    import scipy.sparse as sp

    from dfcmodel.lossless.quantities import Given
    from markov import MarkovChain

__all__ = ["ErrorBursts", "LinkRetry", "link_retry"]

MAX_SLOTS = 20_000


@quantities(good="share", bad="share", begins="share", ends="share")
@dataclass(frozen=True)
class ErrorBursts:
    """Bursts of frame errors (Gilbert and Elliott): a good and a bad state that may change after each frame.

    Parameters
    ----------
    good, bad
        Probability that a frame is lost in each state.
    begins, ends
        Probability per frame that a bad state begins, and that it ends.

    Raises
    ------
    ValueError
        For a share outside 0 to 1, and where bursts neither begin nor end.

    Examples
    --------
    >>> from dfcmodel.lossless import ErrorBursts
    >>> round(ErrorBursts(1e-6, 0.1, begins=1e-4, ends=0.1).mean, 7)
    0.0001009
    """

    good: WithUnit
    bad: WithUnit
    begins: WithUnit
    ends: WithUnit

    def __post_init__(self) -> None:
        for name in ("good", "bad", "begins", "ends"):
            one_number(name, getattr(self, name), at_least=0.0, at_most=1.0)
        if self.begins + self.ends == 0.0:
            raise ValueError("begins = 0, ends = 0: one must be above 0")

    @property
    def mean(self) -> float:
        """Fraction of the frames with an error in the long run."""
        bad = self.begins / (self.begins + self.ends)
        return (1.0 - bad) * self.good + bad * self.bad


@dataclass(frozen=True, repr=False, eq=False)
class LinkRetry(Result):
    """A link that repeats lost frames, its loop in bit times and its timer in frames, as `link_retry` returns it.

    Parameters
    ----------
    link
        The link, with its frames and delays.
    loop
        Bit times from the end of a frame until the sender acts on its acknowledgement or on a request.
    timer
        Slots after which a sender whose request was lost begins again.
    request_loss
        Probability that a request is lost.

    Examples
    --------
    >>> from dfcmodel.lossless import link_retry
    >>> link = link_retry("400Gbps", "300m", 4096)
    >>> 0.96 < link.throughput(1e-3) < link.throughput(1e-6) < 1.0
    True
    """

    link: PausedLink
    loop: int
    timer: int
    request_loss: float

    @cached_property
    def replay_bytes(self) -> int:
        """Minimum replay buffer in bytes with which a sender at line rate never waits, without errors."""
        window = PREAMBLE + self.loop - OVERHEAD
        cells = largest_drain(self.link, window).cells + self.link.cells_of(self.link.lossless_mtu)
        return cells * self.link.cell

    @property
    def slots(self) -> int:
        """Number of frames of ``lossless_mtu`` bytes from the start of one until its acknowledgement is processed."""
        frame = 8 * self.link.lossless_mtu
        return max(1, math.ceil((PREAMBLE + frame + self.loop) / (frame + OVERHEAD)))

    def chain(self, errors: float | ErrorBursts) -> MarkovChain:
        """Return the Markov chain of slots, one per second: states are (0 good or 1 bad, phase of the link).

        Phases: 0, frames are in order; 1, a frame is missing and not detected; k >= 2, the sender begins again
        in k - 1 slots.

        Raises
        ------
        ValueError
            For a probability outside of 0 to 1, or more than 20,000 frames in a loop.
        """
        import scipy.sparse as sp

        from markov import MarkovChain

        bursts = _errors(errors)
        integer(
            "slots",
            max(self.slots, self.timer),
            1,
            MAX_SLOTS,
            why="frames in the loop, or of the timer",
        )
        rows: list[list[Any]] = []
        for state, p in enumerate((bursts.good, bursts.bad)):
            leave = bursts.ends if state else bursts.begins
            stays, leaves = (1.0 - leave) * self._step(p), leave * self._step(p)
            rows.append([leaves, stays] if state else [stays, leaves])
        P: Any = sp.bmat(rows, format="csr")
        return MarkovChain(P - sp.identity(P.shape[0], format="csr"))

    def throughput(self, errors: float | ErrorBursts) -> float:
        """Return the fraction of the slots in which a frame is delivered in order.

        Parameters
        ----------
        errors
            Probability that a frame is lost, or bursts of errors.

        Raises
        ------
        ValueError
            For all frames lost, or as `chain` does.
        """
        from markov import stationary

        bursts = _errors(errors)
        if bursts.mean >= 1.0:
            raise ValueError(f"errors = {errors!r}: must lose less than all frames")
        pi = stationary(self.chain(bursts)).pi
        half = len(pi) // 2
        return float(pi[0] * (1.0 - bursts.good) + pi[half] * (1.0 - bursts.bad))

    def _step(self, p: float) -> sp.csr_array:
        """Return the transition matrix of phases per slot, if a frame is lost with probability ``p``."""
        import scipy.sparse as sp

        n = max(self.slots, self.timer) + 1
        step = sp.lil_array((n, n))
        step[0, 0], step[0, 1], step[1, 1] = 1.0 - p, p, p
        for slots, chance in (
            (self.slots, 1.0 - self.request_loss),
            (self.timer, self.request_loss),
        ):
            step[1, slots if slots > 1 else 0] += (1.0 - p) * chance
        for k in range(2, n):
            step[k, k - 1 if k > 2 else 0] = 1.0
        return step.tocsr()

    def summary(self) -> dict[str, object]:
        """Return, by name, replay buffer and throughput at three error rates as texts, and the frames in a loop."""
        rows: dict[str, object] = {
            "replay buffer": f"{self.replay_bytes:,} B",
            "frames in a loop": self.slots,
        }
        for p in (1e-6, 1e-4, 1e-2):
            rows[f"throughput, one frame in {1 / p:,.0f} lost"] = f"{self.throughput(p):.6f}"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the throughput over the frame error rate; return the Axes."""
        axes = figure()[1] if ax is None else ax
        rates = np.logspace(-7, -1, 25)
        axes.semilogx(rates, [self.throughput(p) for p in rates])
        axes.set(xlabel="fraction of frames lost", ylabel="throughput")
        return axes


@declares(
    rate="bit_rate",
    cable="length",
    mtu="size",
    message="size",
    timer="time",
    pipeline="time",
    request_loss="share",
)
def link_retry(
    rate: Given,
    cable: Given,
    mtu: Given = 9216,
    *,
    message: Given = 72,
    behind_frame: bool = True,
    pipeline: Given = 0.0,
    timer: Given | None = None,
    request_loss: WithUnit = 0.0,
) -> LinkRetry:
    """Return a link that repeats lost frames (such as LLR of Ultra Ethernet): replay buffer and throughput.

    Parameters
    ----------
    rate, cable
        Strings such as ``400Gbps`` and ``300m``.
    mtu
        Bytes of the frames; the replay buffer is for any sizes up to it.
    message
        Bytes of an acknowledgement or request, preamble included.
    behind_frame
        Whether a message waits for the end of a frame that the receiver sends.
    pipeline
        Time to process a frame and an acknowledgement.
    timer
        Time after which a sender begins again if a request is lost; None: twice the loop.
    request_loss
        Probability that a request is lost.

    Raises
    ------
    ValueError
        For a timer shorter than the loop, and other lengths, times or shares outside their ranges.

    Examples
    --------
    >>> from dfcmodel.lossless import link_retry
    >>> link = link_retry("400Gbps", "300m", 4096)
    >>> link.replay_bytes, link.slots
    (161607, 39)
    """
    bits = bit_rate("rate", rate)
    size = frame_size("mtu", mtu)
    trip = bit_times("cable", metres("cable", cable) / FIBRE, bits)
    processing = bit_times("pipeline", pipeline, bits)
    link = PausedLink(bits, size, size, cable=trip, pipeline=processing, small_packets=1.0)
    waiting = (8 * size + OVERHEAD) * flag("behind_frame", behind_frame)
    loop = 2 * trip + link.pipeline + waiting + 8 * frame_size("message", message, minimum=1)
    loss = one_number("request_loss", in_units("request_loss", request_loss, "share"), at_least=0.0, below=1.0)
    frame = 8 * size + OVERHEAD
    timer_bits = 2 * (loop + frame) if timer is None else bit_times("timer", timer, bits)
    retry = LinkRetry(link, loop, math.ceil(timer_bits / frame), loss)
    if retry.timer < retry.slots:
        shortest = retry.slots * frame / bits * 1e9
        raise ValueError(f"timer = {timer!r}: must be at least the loop, {shortest:,.0f} ns")
    return retry


def _errors(errors: float | ErrorBursts) -> ErrorBursts:
    """Return a probability as bursts with equal states; `ErrorBursts` are returned unchanged."""
    if isinstance(errors, ErrorBursts):
        return errors
    p = one_number("errors", in_units("errors", errors, "share"), at_least=0.0, at_most=1.0)
    return ErrorBursts(p, p, 0.5, 0.5)
