"""Interface of a window rule to its responses: the border between `responses` and `rules`."""

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
    """Event passed to the functions of a rule: time and round-trip time in s.

    Examples
    --------
    >>> Event(time=1.5, rtt=0.1).rtt
    0.1
    """

    time: float
    rtt: float


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
        Of a cycle, in s.
    cycles
        How many it took.
    period
        How many cycles repeat together, by peak and duration; 0 where none do (the window may move within the
        band in which a rule holds it, or be chaotic): the values are then averages of the last half. Where
        these averages themselves drift, the cycle is that in which the window comes to rest.
    by_acks
        Where it was solved ACK by ACK: the rule says so (`WindowRule.counts_acks`), or blocks of ACKs give
        another rate, as they do for a rule that acts at some ACKs only (once per round trip, by a timer, by a
        count).
    followed
        Part of a cycle that was followed ACK by ACK: 1 where it was solved so, or is short relative to the steps of its
        solution. Longer cycles are followed in segments spread from loss to loss, and as a whole in blocks half as
        long; where these differ by more than 0.2 %, ACK by ACK from their beginning up to 1e6 packets.
    loss_events
        Number of loss events that a connection needs to come within 1 % of the rate, from the window at which the search
        starts, where it exceeds 10,000; infinite where it exceeds the limit of the search; NaN elsewhere.
    steps
        ACKs, or blocks of ACKs, that the solution took, without the checks.
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

    `responsefn.WindowRule` is one; its docstring says what each member is.
    """

    @property
    def State(self) -> Any:
        """NamedTuple of the state."""

    @property
    def params(self) -> Any:
        """NamedTuple of the parameters."""

    @property
    def assigned(self) -> tuple[str, ...]:
        """Fields of the state that an ACK sets outright."""

    @property
    def rate_estimates(self) -> tuple[str, ...]:
        """Fields of the state that estimate the rate."""

    @property
    def counts_acks(self) -> bool:
        """Whether an ACK's effect depends on how many came before."""

    @property
    def capacity(self) -> str:
        """Whether the queue is seen."""

    def __hash__(self) -> int:
        """Equal rules have one hash."""

    def on_ack(self, s: Any, q: Any, e: Any, /) -> Any:
        """Return the state after one packet was acknowledged."""

    def on_loss(self, s: Any, q: Any, e: Any, /) -> Any:
        """Return the state after a loss event."""

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a new connection."""

    def rate(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Rates:
        """Return the rate in packets/s."""

    def cycle(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Cycle:
        """Return the numerical cycle."""

    def closed_form_holds(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.bool_]:
        """Return where the closed form is the response."""

    def value_of(self, expression: Any, **values: Any) -> NDArray[Any]:
        """Evaluate an expression of the closed form."""

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:
        """Return whether there is a closed form."""
