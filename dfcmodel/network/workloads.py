"""Training steps as SimAI and ASTRA-sim describe them: layers with times of computation and collective operations.

The format is that of SimAI's and ASTRA-sim 1's workloads (``astra-sim/workload/Workload.cc``): the kind of parallelism with
the sizes of its groups, the number of layers, and a line for each layer::

    HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 1 pp: 1 ga: 1 all_gpus: 8
    1
    attention -1 1000 ALLREDUCE 8388608 500 ALLREDUCE 8388608 500 ALLREDUCE 4194304 100

A line has the name of the layer, a number that is not used, and then for the forward pass, the gradients of inputs and those of
weights the time of computation, the operation and its bytes; last the time of the update, which is not used either.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from dfcmodel.network.collectives import FlowsGiven, collective_hosts
from dfcmodel.network.exchanges import NONE, Messages, pairwise, ring
from dfcmodel.network.flow_files import ListedFlows, check_given, text_of_file, whole_in
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.reductions import ALL_REDUCES
from hopflow.checks import choice, instance, one_number
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_workload", "read_workload"]

TRANSFORMERS = ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
KINDS = (*TRANSFORMERS, "DATA")
SIZES = {"model_parallel_NPU_group": "tensor", "ep": "expert", "all_gpus": "ranks"}
"""Sizes of groups that are used, by their names in the first line."""
NOT_READ = {
    "pp": (1, "stages of pipelines are not read"),
    "pp_comm": (0, "stages of pipelines are not read"),
    "checkpoints": (0, "activations that are computed again are not read"),
    "checkpoint_initiates": (0, "activations that are computed again are not read"),
}
"""What must have a certain value, and why."""
WITHOUT_MEANING = ("ga", "vpp")
"""Rounds of accumulation, whose layers all stand in the file, and the parts of a stage where there is one stage."""
OPERATIONS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
GROUPS = ("", "EP", "DP_EP")
"""Ends of the names of operations: the group among which they are; none: the tensor or the data group."""
FIELDS = 12
"""Words of a line."""


class _Units(NamedTuple):
    """What a file does not say: bytes per packet, the algorithm of all-reduces, the unit of time in s."""

    packet_size: float
    algorithm: str
    tick: float


class _Part(NamedTuple):
    """A computation and the operation that follows it: a pass of a layer."""

    line: int
    time: float
    operation: str
    group: str
    packets: int


class _Layer(NamedTuple):
    forward: _Part
    inputs: _Part
    weights: _Part


class _Sent(NamedTuple):
    """What a rank has sent in an operation: in its last step, and in the one before."""

    step: int
    now: list[int]
    before: list[int]


class _Step(NamedTuple):
    """A training step: who computes and exchanges what."""

    kind: str
    tensor: int
    expert: int
    ranks: int
    layers: tuple[_Layer, ...]

    def group_of(self, name: str) -> NDArray[np.int64]:
        """Return the ranks of each group of a kind, shape (groups, ranks of a group).

        Ranks are numbered through tensor groups first, then through the expert groups across them, then through the rest.
        """
        numbers = np.arange(self.ranks).reshape(-1, self.expert, self.tensor)
        if name == "tensor":
            return numbers.reshape(-1, self.tensor)
        if name == "expert":
            return numbers.transpose(0, 2, 1).reshape(-1, self.expert)
        if name == "rest":
            return numbers.transpose(1, 2, 0).reshape(-1, len(numbers))
        return numbers.reshape(-1, self.tensor).T  # data


@quantities(tick="time")
def load_workload(
    path: str | os.PathLike[str],
    hosts: Iterable[Hashable],
    *,
    packet_size: float = 1500.0,
    algorithm: str = "ring",
    tick: WithUnit = 1e-9,
    **given: Unpack[FlowsGiven],
) -> Flows:
    r"""Return the flows of a file; see `read_workload`.

    Raises
    ------
    ValueError
        Naming the file and the line that cannot be used.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import Fabric, load_workload
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=2))
    >>> file = Path(tempfile.mkdtemp()) / "step.txt"
    >>> _ = file.write_text("DATA\n1\nlayer -1 100 NONE 0 50 NONE 0 50 ALLREDUCE 60000 10\n")
    >>> len(load_workload(file, fabric.hosts, source=FixedRate(), links=fabric.links))
    24
    """
    text = text_of_file(path)
    return _read(f"{path}", text, hosts, _Units(packet_size, algorithm, tick), {**given})


@quantities(tick="time")
def read_workload(
    text: str,
    hosts: Iterable[Hashable],
    *,
    packet_size: float = 1500.0,
    algorithm: str = "ring",
    tick: WithUnit = 1e-9,
    **given: Unpack[FlowsGiven],
) -> Flows:
    r"""Return the flows of one training step of a workload of SimAI or ASTRA-sim 1.

    Each rank goes through the layers, computes, and takes part in the operation that follows: forward, then backward from the
    last layer, for each the gradients of inputs and those of weights (in ``DATA`` those of weights first, and no operation
    but theirs). It waits for its part of an operation of the forward pass or of gradients of inputs before it goes on; operations
    of gradients of weights run beside what follows, and beside each other. A rank begins a step of an operation when what it
    has sent in its step before is delivered.

    Parameters
    ----------
    text
        The contents of the file.
    hosts
        The nodes that have the ranks 0, 1, ...; as many as ``all_gpus`` at least. Without it all of them take part.
    packet_size
        Bytes per packet; an operation has one packet for each rank of its group at least.
    algorithm
        Of all-reduces, as of `all_reduce`. All-gathers and reduce-scatters go around a ring; in an all-to-all each rank
        exchanges an equal part with each other one, in rounds (`all_to_all_rounds`).
    tick
        What a unit of the times of computation is, s: nanoseconds in SimAI, cycles in ASTRA-sim.
    **given
        ``source``, ``links``, ``routes`` and options, as of `flows_from`.

    Raises
    ------
    ValueError
        Naming the line, for what is not of the format, or what is not read: stages of pipelines, activations that are
        computed again, kinds of parallelism other than ``DATA`` and ``HYBRID_TRANSFORMER``, with or without
        ``_FWD_IN_BCKWD``; and for groups that do not divide the ranks.

    Examples
    --------
    >>> from dfcmodel import Fabric, read_workload
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4))
    >>> text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 all_gpus: 8\n1\n"
    >>> text += "layer -1 2000 ALLREDUCE 60000 1000 NONE 0 1000 ALLREDUCE 30000 100\n"
    >>> flows = read_workload(text, fabric.hosts, source=FixedRate(), links=fabric.links)
    >>> len(flows), round(1e9 * flows[0].start), round(1e9 * flows[48].start), flows[48].after
    (64, 2000, 2000, (20, 23))
    """
    instance("text", text, str, "the contents of a file; load_workload takes its path")
    return _read("text", text, hosts, _Units(packet_size, algorithm, tick), {**given})


def _read(
    name: str, text: str, hosts: Iterable[Hashable], units: _Units, given: dict[str, Any]
) -> Flows:
    """Return the flows of a text, which errors call by a name."""
    size = one_number("packet_size", units.packet_size, above=0.0, hint="in bytes")
    tick = one_number("tick", units.tick, above=0.0, at_most=1.0, hint="in s")
    choice("algorithm", units.algorithm, tuple(ALL_REDUCES))
    check_given(given)
    ends, given = collective_hosts(hosts, given)
    try:
        flows = _Flows(_parsed(text, len(ends), size), units.algorithm)
        flows.run(tick)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not flows.size:
        raise ValueError(f"{name}: must have an operation in which more than one rank takes part")
    entropy = np.array(flows.source) * len(ends) + np.array(flows.target)
    listed = ListedFlows(
        flows.source, flows.target, flows.size, flows.start, flows.after, flows.delays
    )
    return listed.between(ends, {"entropy": entropy, **given})


class _Flows:
    """The flows of a step, in the order in which ranks come to them."""

    def __init__(self, step: _Step, algorithm: str) -> None:
        self.step, self.algorithm = step, algorithm
        self.source, self.target = list[int](), list[int]()
        self.size, self.start = list[int](), list[float]()
        self.after, self.delays = list[list[int]](), list[tuple[float, ...]]()
        self.awaited = [{NONE: 0.0} for _ in range(step.ranks)]
        """Of each rank: the flows that it waits for, or the beginning, and how long it computes after them, ticks."""

    def run(self, tick: float) -> None:
        """Add the flows of all operations, and give their starts in s."""
        is_data = self.step.kind == "DATA"
        for layer in self.step.layers:
            self._pass(layer.forward, "tensor", blocks=True, exchanges=not is_data)
        for layer in reversed(self.step.layers):
            if is_data:
                self._pass(layer.weights, "data", blocks=False)
                self._pass(layer.inputs, "tensor", blocks=True, exchanges=False)
            else:
                self._pass(layer.inputs, "tensor", blocks=True)
                self._pass(layer.weights, "data", blocks=False)
        self.start = [tick * each for each in self.start]
        self.delays = [tuple(tick * each for each in own) for own in self.delays]

    def _pass(self, part: _Part, group: str, *, blocks: bool, exchanges: bool = True) -> None:
        """Add what a part of a layer computes and exchanges among the ranks of each group."""
        self.awaited = [{n: part.time + time for n, time in own.items()} for own in self.awaited]
        if not exchanges or not part.operation or not part.packets:
            return
        named = {"EP": "expert", "DP_EP": "rest"}.get(part.group, group)
        members = self.step.group_of(named)
        N = members.shape[1]
        if N < 2:
            return
        try:
            messages = self._messages(part, N)
        except ValueError as error:
            raise ValueError(f"line {part.line}: {part.operation} of {N} ranks: {error}") from None
        for ranks in members.tolist():
            self._exchange(messages, ranks, blocks)

    def _messages(self, part: _Part, N: int) -> Messages:
        """Return the messages of an operation among N ranks."""
        if part.operation == "ALLTOALL":
            return pairwise(N, math.ceil(part.packets / N))
        packets = max(N, part.packets)
        made: Callable[[int, int], Messages] = ring
        if part.operation == "ALLREDUCE":
            made = ALL_REDUCES[self.algorithm]
        return made(N, packets)

    def _exchange(self, messages: Messages, ranks: list[int], blocks: bool) -> None:
        """Add the flows of an operation among some ranks; those that it ``blocks`` wait for it before they go on."""
        first = len(self.size)
        sent: dict[int, _Sent] = {}
        received: dict[int, int] = {}
        for n, (a, b, size, own, step) in enumerate(
            zip(*map(np.ndarray.tolist, messages), strict=True), first
        ):
            place = sent.setdefault(a, _Sent(step, [], []))
            if step > place.step:
                place = sent[a] = _Sent(step, [], place.now)
            rank, waits = ranks[a], {first + each: 0.0 for each in own if each != NONE}
            comes = not place.before  # to the operation: with the messages of its first step
            waits |= self.awaited[rank] if comes else dict.fromkeys(place.before, 0.0)
            self.source.append(rank)
            self.target.append(ranks[b])
            self.size.append(size)
            self._wait(waits)
            place.now.append(n)
            received[b] = n
        if blocks:
            for place_of, rank in enumerate(ranks):
                self.awaited[rank] = dict.fromkeys({*sent[place_of].now, received[place_of]}, 0.0)

    def _wait(self, waits: dict[int, float]) -> None:
        """Add what a flow waits for: times after other flows, or after the beginning, ticks."""
        begin, after = waits.pop(NONE, 0.0), sorted(waits)
        times = tuple(waits[each] for each in after)
        alike = begin <= min(times, default=begin) == max(times, default=begin)
        self.start.append(max(times, default=begin) if alike else begin)
        self.after.append(after)
        self.delays.append(() if alike else times)


def _parsed(text: str, hosts: int, packet_size: float) -> _Step:
    """Return the step of a file, with sizes in packets."""
    lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.split()]
    if len(lines) < 2:
        raise ValueError("must have the kind of parallelism, the number of layers, and the layers")
    (n, head), (at, count), *rows = lines
    kind, sizes = head[0], _sizes(n, head[1:])
    if kind not in KINDS:
        raise ValueError(f"line {n}, {kind!r}: must be one of {', '.join(KINDS)}")
    tensor, expert = sizes.get("tensor", 1), sizes.get("expert", 1)
    if kind == "DATA" and (tensor > 1 or expert > 1):
        raise ValueError(f"line {n}: DATA has one group of all ranks")
    ranks = sizes.get("ranks", hosts)
    if not 2 <= ranks <= hosts:
        raise ValueError(f"line {n}, all_gpus: {ranks}: must be 2 to {hosts}, the number of hosts")
    if ranks % (tensor * expert):
        groups = f"tensor groups of {tensor} and expert groups of {expert}"
        raise ValueError(f"line {n}, all_gpus: {ranks}: must be a multiple of {groups}")
    if len(count) != 1 or whole_in(at, "the number of layers", count[0]) != len(rows):
        raise ValueError(
            f"line {at}, {' '.join(count)!r}: must be {len(rows)}, the number of layers"
        )
    layers = tuple(_layer(row, words, packet_size) for row, words in rows)
    if not layers:
        raise ValueError("must have a layer")
    return _Step(kind, tensor, expert, ranks, layers)


def _sizes(n: int, words: list[str]) -> dict[str, int]:
    """Return the sizes of groups in the first line."""
    found: dict[str, int] = {}
    for name, value in _pairs(n, words):
        number = whole_in(n, name, value)
        if name in NOT_READ:
            only, why = NOT_READ[name]
            if number != only:
                raise ValueError(f"line {n}, {name}: {number}: must be {only}, {why}")
        elif name in SIZES:
            if number < 1:
                raise ValueError(f"line {n}, {name}: {number}: must be at least 1")
            found[SIZES[name]] = number
        elif name not in WITHOUT_MEANING:
            known = ", ".join((*SIZES, *NOT_READ, *WITHOUT_MEANING))
            raise ValueError(f"line {n}, {name!r}: must be one of {known}")
    return found


def _pairs(n: int, words: list[str]) -> Iterator[tuple[str, str]]:
    """Return names and values of the first line, whether a colon ends the name or not."""
    if len(words) % 2:
        raise ValueError(f"line {n}: {words[-1]!r} must have a value")
    return (
        (name.removesuffix(":"), value) for name, value in zip(words[::2], words[1::2], strict=True)
    )


def _layer(n: int, words: list[str], packet_size: float) -> _Layer:
    """Return the layer of a line."""
    if len(words) != FIELDS:
        raise ValueError(f"line {n}: {len(words)} words, must be {FIELDS}: {' '.join(words)!r}")
    return _Layer(*(_part(n, words[k : k + 3], packet_size) for k in (2, 5, 8)))


def _part(n: int, words: list[str], packet_size: float) -> _Part:
    """Return the computation and the operation of a pass."""
    time, size = whole_in(n, "time", words[0]), whole_in(n, "size", words[2])
    name, _, group = words[1].partition("_")
    if words[1] == "NONE":
        name = group = ""
    elif name not in OPERATIONS or group not in GROUPS:
        known = ", ".join(("NONE", *OPERATIONS))
        raise ValueError(
            f"line {n}, {words[1]!r}: must be one of {known}, with _EP, _DP_EP or nothing behind"
        )
    return _Part(n, float(time), name, group, math.ceil(size / packet_size))
