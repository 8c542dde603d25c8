"""Interface between window rules and their responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from responsefn.inputs import Bandwidth, Rates

    Floats = NDArray[np.float64]

__all__ = ["Cycle", "Dynamics", "Event"]


class Event(NamedTuple):
    """Event passed to the functions of a rule: time and round-trip time in s, and congestion marks.

    ``marks`` is positive where `WindowRule.on_loss` answers a congestion mark, and 0 at a loss. Responses, which have
    one signal, pass 0.

    Examples
    --------
    >>> Event(time=1.5, rtt=0.1)
    Event(time=1.5, rtt=0.1, marks=0.0)
    """

    time: float
    rtt: float
    marks: float = 0.0


@dataclass(frozen=True, eq=False)
class Cycle:
    """The loss cycle of a rule, arrays of the shape in which p and rtt broadcast.

    Attributes
    ----------
    rate
        Packets/s.
    mean_window, packet_mean_window, peak_window
        Average over time, over packets, and before the loss, in packets.
    duration
        Duration of a cycle in s.
    cycles
        Number of computed cycles.
    period
        Number of cycles after which peak and duration repeat; 0 if they do not (the window may move within a band,
        or be chaotic). The values are then averages of the last half. Where these averages drift, the cycle is that
        of the settled window.
    by_acks
        Whether it was solved ACK by ACK: `WindowRule.counts_acks` requires it, or blocks of ACKs give another rate,
        as for a rule that acts at particular ACKs (once per round trip, by a timer, by a count).
    followed
        Fraction of a cycle that was checked ACK by ACK: 1 where it was solved so, or is short relative to the steps of
        its solution. Longer cycles are checked in segments between losses, and as a whole in blocks half as
        long; where these differ by more than 0.2 %, ACK by ACK from their beginning up to 1e6 packets.
    loss_events
        Number of loss events that a connection needs to come within 1 % of the rate, from the window at which the
        search starts, where it exceeds 10,000; infinite where it exceeds the limit of the search; NaN elsewhere.
    steps
        ACKs, or blocks of ACKs, of the solution, without the checks.
    """

    rate: Floats
    mean_window: Floats
    packet_mean_window: Floats
    peak_window: Floats
    duration: Floats
    cycles: Floats
    period: Floats
    by_acks: NDArray[np.bool_]
    followed: Floats
    loss_events: Floats
    steps: Floats


class Dynamics(Protocol):
    """A state, parameters, and updates of the state by ACKs, losses and timeouts.

    `responsefn.WindowRule` implements it, and documents the members.
    """

    @property
    def State(self) -> Any:
        """NamedTuple of the state."""

    @property
    def params(self) -> Any:
        """NamedTuple of the parameters."""

    @property
    def assigned(self) -> tuple[str, ...]:
        """Fields of the state that an ACK assigns instead of increments."""

    @property
    def rate_estimates(self) -> tuple[str, ...]:
        """Fields of the state that estimate the rate."""

    @property
    def counts_acks(self) -> bool:
        """Whether an ACK's effect depends on the number of earlier ACKs."""

    @property
    def capacity(self) -> str:
        """Whether the rate depends on the capacity: ``"ignored"``, ``"optional"`` or ``"needed"``."""

    def __hash__(self) -> int:
        """Equal rules have one hash."""

    def on_ack(self, s: Any, q: Any, e: Any, /) -> Any:
        """Return the state after one packet was acknowledged."""

    def on_loss(self, s: Any, q: Any, e: Any, /) -> Any:
        """Return the state after a loss event."""

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a new connection."""

    def rate(self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True) -> Rates:
        """Return the rate in packets/s."""

    def cycle(self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True) -> Cycle:
        """Return the numerical cycle."""

    def closed_form_holds(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.bool_]:
        """Return whether the closed form is the response at each p and rtt."""

    def value_of(self, expression: Any, **values: Any) -> NDArray[Any]:
        """Evaluate an expression of the closed form."""

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:
        """Return whether there is a closed form."""
