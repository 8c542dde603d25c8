"""What responses need of a window rule: the border between `responses` and `rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from responsefn.responses.cycles import Cycle

__all__ = ["Dynamics", "Event"]


class Event(NamedTuple):
    """What the functions of a rule are given: time and round-trip time in s.

    Examples
    --------
    >>> Event(time=1.5, rtt=0.1).rtt
    0.1
    """

    time: float
    rtt: float


class Dynamics(Protocol):
    """A state, parameters, and what ACKs, losses and timeouts do to the state.

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
        self,
        p: ArrayLike,
        rtt: ArrayLike,
        bandwidth: float | None = None,
        *,
        unit_check: bool = True,
    ) -> float | NDArray[np.float64]:
        """Return the rate in packets/s."""

    def cycle(
        self,
        p: ArrayLike,
        rtt: ArrayLike,
        bandwidth: float | None = None,
        *,
        unit_check: bool = True,
    ) -> Cycle:
        """Return the numerical cycle."""

    def closed_form_holds(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.bool_]:
        """Return where the closed form is the response."""

    def value_of(self, expression: Any, **values: Any) -> NDArray[Any]:
        """Evaluate an expression of the closed form."""

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:
        """Return whether there is a closed form."""
