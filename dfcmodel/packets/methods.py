"""How a scenario is run at packet level: the conventions, and what the scenario does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopflow.checks import choice, one_number, whole

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["Packets"]

CONVENTIONS = ("standard", "ns2")
RECOVERIES = ("tahoe", "reno", "newreno", "sack")


@dataclass(frozen=True)
class Packets:
    """Packet level: what every packet meets, with sequence numbers, ACKs and timers.

    ACKs of 40 bytes return over the reverse of the flow's path: over the scenario's own link where
    there is one, else over a mirror of the forward link with its rate, delay and buffer, in which
    they queue.

    Parameters
    ----------
    seed
        Of all that is random. Under ``convention="ns2"`` what ``$defaultRNG seed`` gets; None is a
        script that sets none.
    convention
        ``"standard"``: timers by RFC 6298, ``buffer`` packets wait besides the one in transmission.
        ``"ns2"``: as ns-2.35 does it: a connection begins with a packet of 40 bytes, timers count
        ticks of 10 ms with a phase of each agent, drop-tail queues hold ``buffer - 1`` waiting
        packets, thresholds are whole packets.
    recovery
        How senders repair losses: ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``, for all, or by
        the names of flows. None is what each window rule says.
    phases
        Tick phases of the flows in s, in the flows' order; None: drawn as ns-2 draws them. For
        ``convention="ns2"``.
    backend
        ``"numba"``, or ``"reference"``: a heap of events in plain Python with the same answer, a
        thousand times slower.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", dfc=False), method=Packets(seed=1), duration=0.2)
    >>> bool(run.delivered[0, -1] > 0)
    True
    """

    seed: int | None = None
    convention: str = "standard"
    recovery: str | Mapping[str, str] | None = None
    phases: Sequence[float] | None = None
    backend: str = "numba"

    def __post_init__(self) -> None:
        if self.seed is not None:
            whole("seed", self.seed, 0 if self.convention == "standard" else 1, 2**31 - 1)
        choice("convention", self.convention, CONVENTIONS)
        given = self.recovery
        if isinstance(given, str):
            choice("recovery", given, RECOVERIES)
        elif given is not None:
            for name, kind in given.items():
                choice(f"recovery of flow {name!r}", kind, RECOVERIES)
        choice("backend", self.backend, ("numba", "reference"))
        if self.phases is not None:
            object.__setattr__(self, "phases", tuple(self.phases))
            if self.convention != "ns2":
                raise ValueError('phases: timers tick under convention="ns2" alone')
            for n, phase in enumerate(self.phases):
                one_number(f"phases[{n}]", phase, at_least=0.0, below=0.01, hint="in s")

    @property
    def is_ns2(self) -> bool:
        """Whether the conventions are ns-2's."""
        return self.convention == "ns2"

    def recovery_of(self, scenario: Scenario) -> tuple[str, ...]:
        """Return how each flow of a scenario repairs losses; ValueError for names it lacks."""
        given = self.recovery
        if isinstance(given, Mapping):
            names = [flow.name for flow in scenario.flows]
            for name in given:
                choice("recovery: flow", name, names)
        found = []
        for flow in scenario.flows:
            own = getattr(flow.source, "recovery", "")
            said = given.get(flow.name) if isinstance(given, Mapping) else given
            found.append(said if own and said is not None else own)
        return tuple(found)
