"""Three models of the traffic that fills a headroom pool, for `overflow`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.network.networks import Scenario
from dfcmodel.packets.methods import Packets
from hopflow.checks import dimensions, flag, format_value, instance, instances, number, one_number
from hopflow.units import WithUnit, in_units, quantities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from markov import PhaseType

__all__ = ["Episodes", "PacketRuns", "PausedGroups"]


@quantities(paused="share")
@dataclass(frozen=True, eq=False)
class PausedGroups:
    """Fractions of time in which priority groups hold their headroom, independently of each other.

    Parameters
    ----------
    paused
        Probability that a group holds its headroom at a random instant (episodes per second times their mean
        duration), broadcast to shape (ports, classes).
    others
        Further states of the fabric, such as an incast: pairs of the fraction of time spent in it and ``paused``
        then. All groups change together.
    classes_together
        Whether the classes of a port hold their headroom at the same times, with the first class's probability.

    Raises
    ------
    TypeError, ValueError
        For probabilities and fractions of time outside 0 to 1, and fractions above 1 together.

    Examples
    --------
    >>> from dfcmodel.lossless import PausedGroups
    >>> PausedGroups(0.01, others=[(1e-4, 0.5)]).paused
    0.01
    """

    paused: ArrayLike
    others: Sequence[tuple[float, ArrayLike]] = ()
    classes_together: bool = False

    def __post_init__(self) -> None:
        flag("classes_together", self.classes_together)
        others: Any = self.others
        pairs = isinstance(others, Sequence) and all(dimensions(p) and len(p) == 2 for p in others)
        if not pairs:
            raise TypeError(f"others = {format_value(others)}: must be a list of pairs (fraction, paused)")
        others = in_units("others", others, "share")
        object.__setattr__(self, "others", others)
        times = [one_number("others", part, at_least=0.0, at_most=1.0) for part, _ in others]
        if sum(times) > 1.0:
            msg = f"fractions of time add up to {sum(times):g}, at most 1 is allowed"
            raise ValueError(f"others: {msg}")
        for chances in (self.paused, *(then for _, then in others)):
            number("paused", chances, at_least=0.0, at_most=1.0)


@quantities(held="time", within="time")
@dataclass(frozen=True)
class Episodes:
    """Episodes of a full headroom in a group: starts, 1/s, time held, s, and horizon, s; independent, in equilibrium.

    Parameters
    ----------
    starts
        Episodes per second of a group that has none.
    held
        Duration of an episode: its mean in s if it is exponential, or a `markov.PhaseType`.
    within
        Time in s within which the pool may overflow.

    Raises
    ------
    ValueError
        For starts or times that are not positive.

    Examples
    --------
    >>> from dfcmodel.lossless import Episodes
    >>> Episodes(starts=50.0, held=1e-3, within=0.01).within
    0.01
    """

    starts: float
    held: WithUnit | PhaseType
    within: WithUnit

    def __post_init__(self) -> None:
        one_number("starts", self.starts, at_least=1e-12, at_most=1e12, hint="in 1/s")
        one_number("within", self.within, above=0.0, hint="in s")
        if not hasattr(self.held, "exits"):  # of a `markov.PhaseType`
            one_number("held", self.held, at_least=1e-12, hint="in s")


@quantities(within="time", sample="time")
@dataclass(frozen=True, eq=False)
class PacketRuns:
    """Runs of a scenario packet by packet, from an empty network at time 0; the pool counts packets above thresholds.

    Parameters
    ----------
    scenario
        With links under `Pause` or `PFC`, and something random in it. Nothing is dropped when the pool overflows.
    within
        Time in s within which the pool may overflow.
    sample
        Interval in s at which the pool is sampled, of which ``within`` must be a multiple; None: a hundredth.
        Overflows between two samples are missed.
    links
        Names of the links whose thresholds count; None: all with Pause or PFC.
    packets
        Settings of the packet level; None: ``Packets()``. Its seed has no meaning here.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, OnOff, Pause, Scenario
    >>> from dfcmodel.lossless import PacketRuns
    >>> port = Link(1, 2, rate=1e4, delay=1e-3, buffer=500, discipline=Pause(high=5, low=2))
    >>> one = Scenario("port", [port], [Flow("f", (1, 2), OnOff(1e4, 2e-3, 8e-3, random=True))], duration=0.1)
    >>> PacketRuns(one, within=0.02).within
    0.02
    """

    scenario: Scenario
    within: WithUnit
    sample: WithUnit | None = None
    links: Iterable[str] | str | None = None
    packets: Packets | None = None

    def __post_init__(self) -> None:
        instance("scenario", self.scenario, Scenario)
        one_number("within", self.within, at_least=1e-9, at_most=1e5, hint="in s")
        if self.sample is not None:
            one_number("sample", self.sample, above=0.0, hint="in s")
        if self.links is not None and not isinstance(self.links, str):
            object.__setattr__(self, "links", instances("links", self.links, str, "the name of a link"))
        if self.packets is not None:
            instance("packets", self.packets, Packets)
