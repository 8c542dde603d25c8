"""Recorded arrays of a run with units and coordinates, without their display.

Values of flows at nodes are columns of the pairs that occur, and an array of all pairs on demand.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import Status
from hopflow.units import WithUnit, quantities
from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

    Flags = NDArray[np.bool_]  # a name with an underscore at its end is a link in the generated documentation

__all__ = [
    "ARRAYS",
    "FLOW",
    "FLOW_COUNTS",
    "NODE",
    "AtNodes",
    "Deferred",
    "Recorded",
    "Records",
    "columns_of",
    "in_columns",
    "on_first_read",
    "samples_until",
    "value_of",
    "with_fields",
]

T = TypeVar("T")
ROUNDING = 1e-12
"""Relative error of a sample time that is a multiple of a sampling time: a few roundings."""
FLOW, NODE, TIME = "flow", "node", "time"
BYTES = "where buffers count bytes"
ARRAYS = {
    "queued": ((NODE, TIME), "queue", "packets"),
    "lost": ((FLOW, NODE, TIME), "packets lost per interval", "packets"),
    "window": ((FLOW, TIME), "congestion window, at most max_window", "packets"),
    "delivered": ((FLOW, TIME), "packets acknowledged", "packets"),
    "backlog": ((FLOW, TIME), "host's queue", "packets"),
    "round_trip": ((FLOW, TIME), "latest measured round-trip time", "s"),
    "rate": ((FLOW, TIME), "sending rate", "packets/s"),
    "in_transit": ((FLOW, TIME), "packets in transit", "packets"),
    "peak_queue": ((NODE,), "largest queue", "packets"),
    "queued_bytes": ((NODE, TIME), f"queue, {BYTES}", "bytes"),
    "peak_bytes": ((NODE,), f"largest queue, {BYTES}", "bytes"),
    "carried": ((FLOW, NODE), "packets sent by the node", "packets"),
    "mean_queue": ((FLOW, NODE), "mean queue", "packets"),
    "timeouts": ((FLOW,), "retransmission timeouts", "1"),
    "loss_events": ((FLOW,), "loss events", "1"),
    "cumulative_loss_events": ((FLOW, TIME), "loss events so far", "1"),
    "marks": ((FLOW,), "packets received with a congestion mark", "1"),
    "notifications": ((FLOW,), "congestion notifications", "1"),
    "emitted": ((FLOW,), "packets sent, with those sent again", "packets"),
    "inside": ((FLOW,), "packets and ACKs in the network at the end", "packets"),
    "started": ((FLOW,), "time of the first packet", "s"),
    "first_loss": ((FLOW,), "time of the first loss", "s"),
    "finished": ((FLOW,), "time at which the transfer was complete", "s"),
    "imbalance": ((FLOW,), "packets not accounted for, relative to those emitted", "1"),
    "recoveries": ((FLOW,), "loss recovery", ""),
}  # fmt: skip
"""Dimensions, name and units of each recorded array."""
FLOW_COUNTS = ("timeouts", "loss_events", "marks")
"""Counts of each flow among them, which packet runs copy from the fields of `kernel.layout.FLOW` with these names.

Counts that may not be 0 without losses are in the fabric kernel's `FLOW` as well.
"""
NAMES = {
    "queued": "occupancy", "lost": "losses", "queued_bytes": "occupancy_bytes", "peak_bytes": "peak_queue_bytes",
}  # fmt: skip
"""Names of arrays in `Recorded.to_xarray`, where they differ from the attribute's."""
EFFICIENCY = (FLOW, TIME), "packets in transit over the bandwidth-delay product of the path", "1"


def _variable(name: str, values: Any) -> tuple[tuple[str, ...], Any, dict[str, str]]:
    """Return dimensions, values and attributes of the array ``name`` of a run, for xarray."""
    dims, about, units = EFFICIENCY if name == "efficiency" else ARRAYS[name]
    return dims, values, {"long_name": about, **({"units": units} if units else {})}


ON_FIRST_READ = (
    "in_transit", "delivered", "window", "backlog", "round_trip", "queued", "peak_queue", "queued_bytes", "peak_bytes",
    "recoveries", "rate", "paused", "dropped", "notifications", "cumulative_loss_events",
)  # fmt: skip
"""Arrays that a run may compute on first read, beside the arrays in columns."""


class AtNodes(NamedTuple):
    """Sparse values, (N,) or with samples (N, T), at N pairs of flow and sending node; 0 for all other pairs.

    Attributes
    ----------
    flow, node
        Indices of the flow and the sending node of each value, (N,); pairs are distinct.
    values
        Shape (N,), or (N, T) for samples.
    shape
        Shape of the array of all flows and nodes, (F, L) or (F, L, T).
    """

    flow: NDArray[Any]
    node: NDArray[Any]
    values: NDArray[np.float64]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: NDArray[np.float64]) -> AtNodes:
        """Return the non-zero entries of an array over flows and nodes, and samples if it has them."""
        flow, node = np.nonzero(array.any(axis=2) if array.ndim == 3 else array)
        return cls(flow, node, array[flow, node], array.shape)

    def merge(self) -> AtNodes:
        """Return the values with repeated pairs of flow and node summed, since routes may return to a node.

        Examples
        --------
        >>> columns = AtNodes(np.array([0, 0]), np.array([1, 1]), np.array([3.0, 4.0]), (1, 2))
        >>> columns.merge().array().tolist()
        [[0.0, 7.0]]
        """
        keys = self.flow.astype(np.int64) * self.shape[1] + self.node
        pairs, inverse = np.unique(keys, return_inverse=True)
        if len(pairs) == len(keys):
            return self
        values = np.zeros((len(pairs), *self.values.shape[1:]))
        np.add.at(values, inverse.reshape(-1), self.values)
        flow, node = np.divmod(pairs, self.shape[1])
        return AtNodes(flow, node, values, self.shape)

    def array(self) -> NDArray[np.float64]:
        """Return the values as a dense array, (F, nodes) or (F, nodes, T); 0 where a flow has no value."""
        dense = np.zeros(self.shape)
        dense[self.flow, self.node] = self.values
        return dense

    def by_flow(self) -> NDArray[np.float64]:
        """Return the sum over nodes and samples, shape (F,).

        Examples
        --------
        >>> columns = AtNodes(np.array([0, 2]), np.array([1, 1]), np.array([3.0, 4.0]), (3, 2))
        >>> columns.by_flow().tolist(), columns.array()[2].tolist()
        ([3.0, 0.0, 4.0], [0.0, 4.0])
        """
        sums = self.values.sum(axis=1) if self.values.ndim == 2 else self.values
        return np.bincount(self.flow, sums, minlength=self.shape[0]).astype(np.float64)

    def by_node(self) -> NDArray[np.float64]:
        """Return the sum over flows and samples, shape (number of sending nodes,)."""
        sums = self.values.sum(axis=1) if self.values.ndim == 2 else self.values
        return np.bincount(self.node, sums, minlength=self.shape[1]).astype(np.float64)


class Deferred:
    """A function with its arguments, called when an attribute that holds it is first read, or when it is pickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def value(self) -> Any:
        """Return the result of the function; `OnFirstRead` stores it."""
        return self.function(*self.arguments)

    def __reduce__(self) -> Any:
        return _identity, (self.value(),)


def _identity(value: Any) -> Any:
    """Return ``value``; pickling replaces a `Deferred` by its value."""
    return value


def value_of(value: Any) -> Any:
    """Return the value of a `Deferred`, and any other value unchanged."""
    return value.value() if isinstance(value, Deferred) else value


class OnFirstRead:
    """Descriptor of an attribute that may hold a `Deferred`; reading it computes and stores the value."""

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self.default  # dataclass reads the default from the class
        value = vars(run)[self.name]
        if isinstance(value, Deferred):
            value = vars(run)[self.name] = value.value()
        return value

    def __set__(self, run: Any, value: Any) -> None:
        vars(run)[self.name] = value


class PerFlowAndNode:
    """Descriptor of an array over flows and nodes that is stored as `AtNodes` until it is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: Any, owner: type) -> Any:
        if run is None:
            return self
        value = value_of(vars(run)[self.name])
        if isinstance(value, AtNodes):
            vars(run)[f"_{self.name}_columns"] = value
            value = vars(run)[self.name] = value.array()
        return value

    def __set__(self, run: Any, value: NDArray[np.float64] | AtNodes | Deferred) -> None:
        vars(run)[self.name] = value


def on_first_read(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: its instances accept `Deferred` for the named attributes, computed at first read."""

    def decorate(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, OnFirstRead(name, getattr(kind, name, None)))
        return kind

    return decorate


def in_columns(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: its instances store the named attributes as `AtNodes` or `Deferred`, read as arrays."""

    def decorate(kind: type[T]) -> type[T]:
        for name in names:
            setattr(kind, name, PerFlowAndNode(name))
        return kind

    return decorate


def columns_of(run: object, name: str) -> AtNodes:
    """Return an attribute of `in_columns` as `AtNodes`, without its array; a `Deferred` is computed and stored."""
    value = vars(run)[name] = value_of(vars(run)[name])
    if isinstance(value, AtNodes):
        return value
    cached: AtNodes | None = vars(run).get(f"_{name}_columns")
    return cached if cached is not None and cached.shape == value.shape else AtNodes.of(value)


class Recorded:
    """Base of runs and ensembles: quantities as arrays with units, first over ``run`` for an ensemble."""

    @cached_property
    def _data(self) -> xr.Dataset:
        """The recorded quantities that are not None, with units."""
        raise NotImplementedError

    @property
    def efficiency(self) -> xr.DataArray:
        """Packets in transit over the bandwidth-delay product of each flow's path (flow, time)."""
        return self._data["efficiency"]

    @property
    def occupancy(self) -> xr.DataArray:
        """Packets queued at each node (node, time)."""
        return self._data["occupancy"]

    @property
    def losses(self) -> xr.DataArray:
        """Packets lost in each interval (flow, node, time)."""
        return self._data["losses"]

    def to_xarray(self) -> xr.Dataset:
        """Return all recorded quantities, with names, units and coordinates."""
        return self._data.copy()


class Counts(NamedTuple):
    """Packets that each flow delivered and lost over a part of a run, and the part's duration.

    Attributes
    ----------
    delivered, lost
        Delivered and lost packets of each flow, shape (F,).
    seconds
        Duration of the part, s.
    """

    delivered: NDArray[np.float64]
    lost: NDArray[np.float64]
    seconds: float

    @property
    def loss_ratio(self) -> NDArray[np.float64]:
        """Lost packets over lost and delivered packets, shape (F,); nan without packets."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: NDArray[np.float64] = self.lost / (self.lost + self.delivered)
        return ratio


@on_first_read(*ON_FIRST_READ)
@in_columns("lost", "carried", "mean_queue")
@dataclass(frozen=True, repr=False, eq=False)
class Records(Recorded):
    """The recorded arrays of one run of a scenario, sampled at ``time``: packets, packets/s and s.

    F flows, L sending nodes (a node that only receives is not counted), T samples.

    Attributes
    ----------
    scenario
        The simulated scenario.
    step
        Time step in s.
    time
        Ends of the sampling intervals in s, shape (T,).
    in_transit
        Packets in transit on the flow's path, averaged over each interval, shape (F, T).
    delivered
        Cumulative packets acknowledged by the receiver, shape (F, T).
    window
        Congestion window at the ends of the intervals, packets, shape (F, T); 0 for other sources.
    backlog
        Packets of the flow that wait at the access link of its host, shape (F, T). Zero where packets enter the queue
        of the first link: there, and at an interface that is this link, they are in ``queued``.
    round_trip
        Round-trip time measured by the latest acknowledgement, s, shape (F, T); nan before the
        first one, and for sources without acknowledgements.
    lost
        Packets lost in each interval, shape (F, L, T).
    queued
        Packets of all flows queued at each node at the ends of the intervals, shape (L, T).
    peak_queue
        Largest queue of each node over all steps, packets, shape (L,).
    timeouts, loss_events
        Numbers of retransmission timeouts and of loss events per flow, shape (F,). A loss event is one or more losses
        or congestion marks to which the window rule reacts once (RFC 5348, 5.2), or a timeout; of a rule that answers
        each mark, a reduction of the window.
    cumulative_loss_events
        Loss events of each flow until the ends of the intervals, shape (F, T); None: not recorded.
        `Trajectory.loss_event_times` has their times.
    marks
        Packets that arrived at the receiver of each flow with a congestion mark (RFC 3168, CE), shape (F,). None: no
        link marks, or fluid.
    notifications
        Number of congestion notifications (CNPs) that each sender has got, shape (F,): of `responsefn.DCQCN`, or
        another rate rule whose state counts them, 0 of other flows. In the fluid notifications come at the ends of
        steps. None: no rule counts them.
    imbalance
        Packets not accounted for, relative to those emitted, shape (F,): rounding errors.
    seconds
        Wall time of the run in s, without the loading and compilation of kernels.
    first_loss
        Time of the first loss of each flow, s, shape (F,); nan: no loss.
    finished
        Time at which a transfer was delivered completely, s, shape (F,); nan: not completed.
    carried
        Packets of each flow sent by each node, shape (F, L).
    mean_queue
        Packets of each flow queued at each node, averaged over time, shape (F, L).
    started
        Time of each flow's first packet, s, shape (F,): its start and what ``jitter`` added.
    rate
        Sending rate of rate-controlled flows at the ends of the intervals, packets/s, shape (F, T); nan for
        others. None: no flow can have one (packet level).
    paused
        The times in which links were paused, a structured array with the fields link, by, priority, fault, begin and
        end (see `dfcmodel.results.Trajectory.pauses`); None: not recorded.
    recoveries
        Loss recovery of each flow, ``"tahoe"``, ``"reno"``, ``"newreno"``, ``"sack"``, ``"prr"``, ``"rack"`` or
        ``"linux-6.12"``, after ``recovery`` of the method; ``"go-back-n"`` or ``"selective"`` of rate rules that repair
        them; otherwise empty. F strings.
    dropped
        The drops of each flow at each link by cause, a structured array (see `dfcmodel.results.Trajectory.drops`).
    excess
        The most packets of each ingress with pauses for which there was no room in one pause, a structured array
        (`dfcmodel.network.run_tables.EXCESS`).
    remaining
        Packets that wait at the end of the run at links that are paused or pause others, a structured array
        (`dfcmodel.network.run_tables.WAITING`).
    emitted, inside
        Packets that each sender sent, with retransmissions, and packets and ACKs of each flow that are in the
        network at the end of the run, with an ACK that the receiver delays, shape (F,). These five: None where they
        were not recorded.
    queued_bytes, peak_bytes
        As ``queued`` and ``peak_queue``, in bytes, of the links whose buffers count bytes (whole cells, `ByteBuffer`),
        shapes (L, T) and (L,); nan at nodes without. None: no link counts bytes, or fluid, which has data packets
        alone.
    choice
        Level that ``level="auto"`` chose, with the reason; empty for another level.

    step_error, accuracy
        Estimated error that the step causes in the goodput of a flow, as a part of the rate of its path's
        slowest link, and the largest one asked for; None: not asked for (`dfcmodel.Fluid`).
    counted
        Counts of elements of paths (`dfcmodel.results.Trajectory.element_counts`); None: they count nothing.
    packet_jitter
        Upper end of the random times before packets, s, as `dfcmodel.simulate` has it; None: not recorded.
    repeats_frames
        Whether links had frame errors, which they repair by themselves (``Packets(frame_errors=...)``).
    unused_choices
        Choices of the method that no flow uses, ``Packets(recovery=..., spraying=...)``, as texts, with the reason;
        None: none.
    rerouted
        Whether each flow has paths around links that fail (``Packets(failures=...)``), shape (F,). None: no flow has.
    observed
        Variables that native rules report at the ends of the intervals, by the name of the flow: arrays of shape
        (T,) by the name of the number, and of the names of states as ``state`` (`dfcmodel.NativeRule`). None: no rule
        reports.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", dfc=False), duration=0.05, level="fluid")
    >>> run.lost.shape  # flows, sending nodes, samples of 1 ms
    (2, 29, 50)
    """

    scenario: Scenario
    step: float
    time: NDArray[np.float64]
    in_transit: NDArray[np.float64]
    delivered: NDArray[np.float64]
    window: NDArray[np.float64]
    backlog: NDArray[np.float64]
    round_trip: NDArray[np.float64]
    lost: NDArray[np.float64]
    queued: NDArray[np.float64]
    peak_queue: NDArray[np.float64]
    timeouts: NDArray[np.int64]
    loss_events: NDArray[np.int64]
    imbalance: NDArray[np.float64]
    seconds: float
    first_loss: NDArray[np.float64]
    finished: NDArray[np.float64]
    carried: NDArray[np.float64]
    mean_queue: NDArray[np.float64]
    started: NDArray[np.float64]
    rate: NDArray[np.float64] | None = None
    paused: NDArray[Any] | None = None
    recoveries: tuple[str, ...] = ()
    choice: str = ""
    dropped: NDArray[Any] | None = None
    excess: NDArray[Any] | None = None
    remaining: NDArray[Any] | None = None
    emitted: NDArray[np.float64] | None = None
    inside: NDArray[np.float64] | None = None
    queued_bytes: NDArray[np.float64] | None = None
    peak_bytes: NDArray[np.float64] | None = None
    step_error: float | None = None
    accuracy: float | None = None
    packet_jitter: float | None = None
    notifications: NDArray[np.int64] | None = None
    repeats_frames: bool = False
    unused_choices: Mapping[str, str] | None = None
    rerouted: Flags | None = None
    cumulative_loss_events: NDArray[np.int64] | None = None
    marks: NDArray[np.int64] | None = None
    counted: tuple[float, ...] | None = None
    observed: Mapping[str, Mapping[str, NDArray[Any]]] | None = None

    @cached_property
    def lost_by_flow(self) -> NDArray[np.float64]:
        """Packets that each flow lost, shape (F,): the sum of ``lost``."""
        return columns_of(self, "lost").by_flow()

    @property
    def status(self) -> Status:
        """NOT_FINITE, INACCURATE (``accuracy`` missed), UNBALANCED (packets missing beyond 1e-12) or COMPLETED."""
        if not np.all(np.isfinite(self.in_transit)):
            return Status.NOT_FINITE
        if self.accuracy is not None and not (self.step_error or 0.0) <= self.accuracy:
            return Status.INACCURATE
        return Status.COMPLETED if np.all(self.imbalance <= 1e-12) else Status.UNBALANCED

    @property
    def advice(self) -> str:
        """Advice to take finer steps, as a string, if the error by the step exceeds the requested accuracy; else ""."""
        coarse = self.status is Status.INACCURATE
        return "take finer steps, Fluid(steps_per_delay=...)" if coarse else ""

    @cached_property
    def _data(self) -> xr.Dataset:
        """The recorded quantities that are not None, with coordinates and attributes."""
        import xarray as xr

        variables = {"efficiency": _variable("efficiency", self._array("efficiency"))}
        for name in ARRAYS:
            values = self._array(name)
            if values is not None and not (name == "rate" and np.isnan(values).all()):
                variables[NAMES.get(name, name)] = _variable(name, values)
        return xr.Dataset(variables, self._coordinates, self._attributes)

    @property
    def efficiency(self) -> xr.DataArray:
        """Packets in transit over the bandwidth-delay product of each flow's path (flow, time)."""
        return self["efficiency"]

    @property
    def occupancy(self) -> xr.DataArray:
        """Packets queued at each node (node, time)."""
        return self["occupancy"]

    @property
    def losses(self) -> xr.DataArray:
        """Packets lost in each interval (flow, node, time)."""
        return self["losses"]

    @property
    def _coordinates(self) -> dict[str, Any]:
        """Coordinates by dimension: names of flows, labels of nodes, and times, s."""
        return {
            "flow": list(self.scenario.table.names),
            "node": _labels(self.scenario.senders),
            "time": ("time", self.time, {"units": "s"}),
        }

    @property
    def _attributes(self) -> dict[str, Any]:
        """Attributes of the dataset that describe the run."""
        return {"scenario": self.scenario.name, "step": self.step}

    def _array(self, name: str) -> Any:
        """Return the recorded array ``name``, or the efficiency; None if the run does not have it."""
        if name == "efficiency":
            capacities = self.scenario.by_link(lambda link: link.capacity)
            return self.in_transit / self.scenario.on_path(capacities)[:, np.newaxis]
        values: Any = getattr(self, name)
        return (np.array(values, dtype=str) if values else None) if name == "recoveries" else values

    def __getitem__(self, name: str) -> xr.DataArray:
        """Return a recorded quantity as a named array with its units and coordinates, without a copy.

        Parameters
        ----------
        name
            Name of a recorded array, such as ``"queued"`` or ``"delivered"``, or of a variable of `to_xarray`.

        Raises
        ------
        KeyError
            For an unknown name, and for an array that this run has not recorded.

        Examples
        --------
        >>> from dfcmodel import simulate, takano2006
        >>> run = simulate(takano2006("1", dfc=False), duration=0.05, level="fluid")
        >>> bool(run["queued"].sel(node=5).max() == run.queued[4].max())
        True
        """
        import xarray as xr

        attribute = {long: short for short, long in NAMES.items()}.get(name, name)
        values = self._array(attribute) if attribute in ARRAYS or attribute == "efficiency" else None
        if values is None:
            names = ", ".join(array for array in ARRAYS if self._array(array) is not None)
            raise KeyError(f"{name!r}: this run has recorded {names}")
        dims, values, attributes = _variable(attribute, values)
        coordinates = {key: value for key, value in self._coordinates.items() if key in dims}
        return xr.DataArray(values, coordinates, dims, name, attributes)

    @quantities(since="time", until="time")
    def mean_efficiency(self, since: WithUnit = 0.0, until: WithUnit = np.inf) -> NDArray[np.float64]:
        """Return each flow's efficiency averaged over ``since`` < time <= ``until`` in s, (F,)."""
        chosen = self._samples(since, until)
        lengths = np.diff(self.time, prepend=0.0)[chosen]
        weighted = self._array("efficiency")[:, chosen] * (lengths / lengths.sum())
        mean: NDArray[np.float64] = weighted.sum(axis=1)  # a product of BLAS depends on its threads
        return mean

    @quantities(since="time", until="time")
    def mean_goodput(self, since: WithUnit = 0.0, until: WithUnit = np.inf) -> NDArray[np.float64]:
        """Return the packets/s that each flow delivered over ``since`` < time <= ``until`` in s, (F,).

        A packet counts when all packets before it have arrived. Packets that a retransmission releases count at that
        time, so that over a part of a run a flow may deliver slightly more than its link carries.
        """
        packets, seconds = self._count_delivered(self._samples(since, until))
        return packets / seconds

    @quantities(since="time", until="time")
    def counts(self, since: WithUnit = 0.0, until: WithUnit = np.inf) -> Counts:
        """Return `Counts`: packets that each flow delivered and lost over ``since`` < time <= ``until``, s."""
        chosen = self._samples(since, until)
        is_total = chosen.start == 0 and chosen.stop == len(self.time)
        lost = self.lost_by_flow if is_total else self.lost[:, :, chosen].sum(axis=(1, 2))
        packets, seconds = self._count_delivered(chosen)
        return Counts(packets, lost, seconds)

    def _count_delivered(self, chosen: slice) -> tuple[NDArray[np.float64], float]:
        """Return the packets that each flow delivered in a slice of samples, (F,), and the slice's duration, s."""
        first, last = chosen.start - 1, chosen.stop - 1
        before, start = (self.delivered[:, first], self.time[first]) if first >= 0 else (0.0, 0.0)
        return self.delivered[:, last] - before, float(self.time[last] - start)

    def _samples(self, since: WithUnit, until: WithUnit) -> slice:
        """Return the slice of the samples in (since, until], s; ValueError if there are none."""
        chosen = slice(*samples_until(self.time, np.array([since, until], dtype=np.float64)).tolist())
        if chosen.start >= chosen.stop:
            raise ValueError(f"since = {since}, until = {until}: no sample between them")
        return chosen

    def to_netcdf(self, path: str | Path) -> Path:
        """Write all recorded quantities to a netCDF file, for ``xarray.open_dataset``, and return its path.

        The format is netCDF 3 with 64-bit offsets. Node labels of mixed types are written as
        strings. The attribute ``toml`` is the scenario for `read_scenario`, if its nodes can be
        written as TOML. Returns the path.
        """
        from dfcmodel.network.scenario_files.toml_writing import write_scenario

        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.to_xarray()
        if data["node"].dtype == object:
            data["node"] = [str(node) for node in self.scenario.senders]
        with contextlib.suppress(ValueError):  # a node that TOML cannot represent
            data.attrs["toml"] = write_scenario(self.scenario)
        with replacing(path) as scratch:
            data.to_netcdf(scratch, engine="scipy", format="NETCDF3_64BIT")
        return path


def _labels(nodes: Sequence[Hashable]) -> NDArray[Any]:
    """Return node labels as a coordinate, (number of nodes,): integers, strings, or objects if they are mixed."""
    for kind in (int, str):
        if all(type(node) is kind for node in nodes):
            return np.array(nodes)
    labels = np.empty(len(nodes), dtype=object)
    labels[:] = nodes
    return labels


def samples_until(time: NDArray[np.float64], limits: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of samples up to each of ``limits``, s, as integers of its shape; ``time`` ascends.

    Sample times are multiples of a sampling time, rounded: 3 * 0.1 s is at 0.3 s.

    >>> samples_until(np.arange(1, 6) * 0.1, np.array([0.3]))
    array([3])
    """
    counts: NDArray[np.int64] = np.searchsorted(time, limits * (1.0 + ROUNDING), side="right")
    return counts


def with_fields(run: T, **fields: object) -> T:
    """Return a copy of a run with changed fields; arrays that were not read stay uncomputed."""
    original: Any = run
    changed: T = object.__new__(type(run))
    vars(changed).update({**original.__getstate__(), **fields})
    return changed
