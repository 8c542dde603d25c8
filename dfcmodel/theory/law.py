"""The bare DFC law: equal links, synchronous feedback clocks, no clipping, no sharing.

With d the link delay and the feedback period, k counting periods, n_i the packets in node i and J_i
the packets that it sends per period (takano2006, eqs. 2-5),

    J_i[k] = alpha r_i[k] - D (n_{i+1}[k-1] - n_i[k]),     n_i[k+1] = n_i[k] + J_{i-1}[k-1] - J_i[k].

The target rate r is either prescribed or fed back by the next node, r_i[k] = N_{i+1}[k-1] (eq. 5),
where the nominal rate N is J for alpha = 1. The nodes form a ring, or a chain from a shaped host to a
saturated bottleneck: by eq. (9) the host is a node with an empty queue, and the last node sends and
reports a constant rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.links import buffer_in_packets
from dfcmodel.theory.feedback_law import diffusive_rate
from hopflow.checks import choice, integer, number, one_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["Law", "Loop", "Report", "Sharing", "advance", "bare_law", "law_of", "rates"]

BOUNDARIES = ("ring", "chain")


@dataclass(frozen=True)
class Law:
    """Parameters of the DFC law along the path of a flow: delays in s, link rate in packets/s, buffer in packets.

    Attributes
    ----------
    hops
        Number of sending nodes on the path.
    bottleneck
        Number of nodes up to and including the first one that another flow joins; all nodes if none.
    diffusion, intensity
        D and alpha.
    delays
        Delays of the links after the nodes, in s, shape (hops,).
    link_rate
        B, packets/s.
    buffer
        Buffer of a node, packets.
    host
        ``"shaped"`` (eq. 9), ``"unshaped"`` or ``"direct"``.
    synchronous
        Whether all feedback clocks tick simultaneously.
    """

    hops: int
    bottleneck: int
    diffusion: float
    intensity: float
    delays: tuple[float, ...]
    link_rate: float
    buffer: float
    host: str
    synchronous: bool

    @property
    def delay(self) -> float:
        """The delay of the links, s, if all are equal; otherwise ValueError."""
        if len(set(self.delays)) > 1:
            msg = "must be equal: the bare law has one period for all nodes"
            raise ValueError(f"delays = {self.delays}: {msg}")
        return self.delays[0]


def law_of(scenario: Scenario, flow: int = 0) -> Law:
    """Return the parameters of the DFC law along the path of flow number ``flow`` of a scenario.

    Parameters
    ----------
    scenario
        A scenario with diffusion-type flow control.
    flow
        Index of the flow.

    Raises
    ------
    ValueError
        For a path with a link without DFC or with links of unequal rates, DFC per input, an index
        out of range.
    """
    chosen = scenario.flows[integer("flow", flow, 0, len(scenario.flows) - 1)]
    path = scenario.path(chosen)
    first = path[0]
    for link in path:
        choice(f"discipline of link {link.name}", type(link.discipline).__name__, ("DFC",))
        if (link.rate, link.buffer, link.discipline) != (
            first.rate,
            first.buffer,
            first.discipline,
        ):
            msg = f"must be equal along a path, but differ between {first.name} and {link.name}"
            raise ValueError(f"rate, buffer, discipline: {msg}")
    law: Any = first.discipline
    choice("per", law.per, ("flow",))
    others = {hop for other in scenario.flows if other is not chosen for hop in other.hops}
    joined = [hop in others for hop in chosen.hops]
    return Law(
        hops=len(path),
        bottleneck=joined.index(True) + 1 if any(joined) else len(path),
        diffusion=float(law.diffusion),
        intensity=float(law.intensity),
        delays=tuple(float(link.delay) for link in path),
        link_rate=float(first.rate),
        buffer=float(buffer_in_packets(first, scenario.packet_size)),
        host=scenario.host_of(chosen),
        synchronous=law.phases == "synchronous",
    )


class Sharing(NamedTuple):
    """Parameters of the law at the nodes, each () or (L,): alpha; D / d in 1/s; B in packets/s."""

    intensity: Any
    gain: Any
    capacity: Any


class Report(NamedTuple):
    """Feedback of the next node to each node: r (packets/s) and n' (packets), shape (F, L)."""

    target_rate: Any
    queue: Any


def rates(
    report: Report,
    queue: Any,
    active: Any,
    nodes: Sharing,
    xp: Any = np,
    over_flows: Callable[[Any], Any] | None = None,
) -> Any:
    """Return the rates J of all flows at all nodes, packets/s, shape of ``queue``, eqs. (1), (2), (13) of takano2006.

    Parameters
    ----------
    report
        Feedback of the next nodes.
    queue
        n of each node, shape (F, L).
    active
        Whether a flow is active at a node, shape (F, L).
    nodes
        Parameters of the nodes.
    xp
        The array module, `numpy` or `jax.numpy`.
    over_flows
        Function that returns for each element the sum over the flows of its node, for arrays of a shape other than
        (F, L); None: the sum over the first axis.

    Returns
    -------
    Shape (F, L), packets/s; zero where a flow is not active.

    Examples
    --------
    >>> import numpy as np
    >>> r, n = np.array([[600.0], [900.0]]), np.zeros((2, 1))
    >>> rates(Report(r, n), n, np.full((2, 1), True), Sharing(1.0, 0.1, 1000.0)).ravel().tolist()
    [400.0, 600.0]
    """
    intensity, gain, capacity = nodes
    unconstrained = diffusive_rate(intensity, report.target_rate, gain, report.queue, queue)
    weight = xp.where(active & (unconstrained > 0.0), unconstrained, 0.0)
    total = weight.sum(axis=0) if over_flows is None else over_flows(weight)
    return weight * (capacity / xp.where(total >= capacity, total, capacity))


class Loop(NamedTuple):
    """State of the bare law: packets in the nodes, now and one period ago, and J and N one period ago.

    ``sent`` is J and ``nominal`` the nominal rate N of one period ago, eq. (5), in packets per period.
    Each has shape (N,), or (N, K) for K states at once.
    """

    packets: Any
    before: Any
    sent: Any
    nominal: Any


def advance(
    loop: Loop,
    diffusion: Any,
    intensity: Any = 1.0,
    rate: Any = None,
    ends: str = "ring",
    xp: Any = np,
) -> Loop:
    """Return the state a period after ``loop``; ``rate``: r per node, None: fed back; ``ends``: "ring" or "chain".

    Parameters
    ----------
    loop
        The present state.
    diffusion, intensity
        D and alpha.
    rate
        Prescribed r in packets per period, (N,); None feeds it back by eq. (5).
    ends
        ``"ring"``; or ``"chain"``: element 0 is the host, whose queue is empty (eq. 9), and the last
        node is saturated and keeps its rate.
    xp
        The array module, `numpy` or `jax.numpy`.
    """
    n, before, sent, nominal = loop
    r = xp.roll(nominal, -1, axis=0) if rate is None else rate
    gradient = diffusion * (xp.roll(before, -1, axis=0) - n)
    J, next_nominal = intensity * r - gradient, r - gradient
    if ends == "chain":
        J = xp.concatenate([J[:-1], sent[-1:]])
        next_nominal = xp.concatenate([next_nominal[:-1], nominal[-1:]])
    after = n + xp.roll(sent, 1, axis=0) - J
    if ends == "chain":
        after = xp.concatenate([0.0 * after[:1], after[1:]])
    return Loop(after, n, J, next_nominal)


def bare_law(
    packets: ArrayLike,
    diffusion: float,
    periods: int,
    *,
    rate: ArrayLike | None = None,
    base_rate: ArrayLike = 0.0,
    before: ArrayLike | None = None,
    intensity: float = 1.0,
    ends: str = "ring",
) -> NDArray[np.float64]:
    """Return packets in every node after each period, (periods + 1, N), by the law without clipping and sharing.

    Parameters
    ----------
    packets
        Packets in the nodes at the start, shape (N,).
    diffusion
        D, packets sent per packet of queue difference in a period.
    periods
        Number of periods to advance.
    rate
        Prescribed r in packets per period, shape (N,); None feeds it back by eq. (5).
    base_rate
        Rate that every node sent and reported before the start, packets per period, () or (N,); the
        last node of a chain keeps it. With D times ``before``, w = 0 at the start.
    before
        Packets in the nodes one period before the start, () or (N,); None: equal to ``packets``.
    intensity
        alpha.
    ends
        ``"ring"``, or ``"chain"``: a shaped host (eq. 9) before the first node, a saturated last one.

    Returns
    -------
    Shape (periods + 1, N).

    Raises
    ------
    ValueError
        For arrays of other lengths, unknown ``ends``, and packets that overflow.

    Examples
    --------
    >>> from dfcmodel.theory import bare_law
    >>> bare_law([100.0, 0.0, 0.0, 0.0], 0.1, 2, base_rate=[10.0, 0.0, 0.0, 0.0]).round(6).tolist()
    [[100.0, 0.0, 0.0, 0.0], [90.0, 10.0, 0.0, 0.0], [81.0, 19.0, 0.0, 0.0]]
    """
    intensity = one_number("intensity", intensity)
    start = number("packets", packets)
    if start.ndim != 1:
        raise ValueError(f"packets has shape {start.shape}: must be a list, one entry per node")
    base = _per_node("base_rate", base_rate, len(start))
    diffusion = one_number("diffusion", diffusion, above=0.0)
    periods = integer("periods", periods, 0, 10**9)
    past = start if before is None else _per_node("before", before, len(start))
    if choice("ends", ends, BOUNDARIES) == "chain":
        if rate is not None:
            raise ValueError("rate = ...: must be None on a chain, where r is fed back")
        start, past, base = np.append(0.0, start), np.append(0.0, past), np.append(base[0], base)
    prescribed = None if rate is None else _per_node("rate", rate, len(start))
    history = np.empty((periods + 1, len(start)))
    history[0] = start
    with np.errstate(over="ignore", invalid="ignore"):
        gradient = diffusion * (np.roll(past, -1) - start)
        # rates of one period ago, consistent with the packets at that time
        sent = base if prescribed is None else intensity * prescribed - gradient
        loop = Loop(start, past, sent, sent)
        for k in range(periods):
            loop = advance(loop, diffusion, intensity, prescribed, ends)
            history[k + 1] = loop.packets
    if not np.isfinite(history).all():
        parameters = f"diffusion = {diffusion:g}, intensity = {intensity:g}"
        requirement = "must be so small that packets, rate, base_rate and before lead to finite numbers"
        raise ValueError(f"{parameters}: {requirement}")
    return history if ends == "ring" else history[:, 1:]


def _per_node(name: str, value: ArrayLike, nodes: int) -> NDArray[np.float64]:
    """Return numbers as an array, (nodes,), from one number or one per node; ValueError for another shape."""
    values = number(name, value)
    if values.shape not in ((), (1,), (nodes,)):
        raise ValueError(f"{name} has shape {values.shape}: must have that of packets, ({nodes},)")
    return np.broadcast_to(values, (nodes,))
