"""Training steps in the format of SimAI and ASTRA-sim: layers with computation times and collective operations.

The format is that of SimAI's and ASTRA-sim 1's workloads (``astra-sim/workload/Workload.cc``): the kind of parallelism
with the sizes of its groups, the number of layers, and a line for each layer::

    HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 1 pp: 1 ga: 1 all_gpus: 8
    1
    attention -1 1000 ALLREDUCE 8388608 500 ALLREDUCE 8388608 500 ALLREDUCE 4194304 100

A line has the name of the layer and an unused number. Then follow the time of computation, the operation and its bytes
for the forward pass, the gradients of inputs and the gradients of weights. The last word is the time of the update,
also unused.

The bytes of an all-gather are the total array in SimAI (``MockNcclGroup.cc`` divides them by the ranks), and each
rank's contribution in ASTRA-sim (``Ring.cc`` sends them in each step). SimAI's first line has sizes that ASTRA-sim
lacks, which distinguish the two formats. Both have ``checkpoints`` and ``checkpoint_initiates``: where these are the
only other sizes, as in ASTRA-sim and in early files of SimAI, an all-gather is refused.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.demands.exchanges import Messages, pairwise, ring
from dfcmodel.network.demands.flow_files import parse_whole_number
from dfcmodel.network.demands.reductions import ALL_REDUCES
from dfcmodel.network.demands.waiting_flows import BEGINNING, RankComputation, WaitingFlows, later, share_of
from hopflow.units import PacketUnits

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["flows_of_layers"]

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
"""Sizes that must have a fixed value, with the reason."""
IN_BOTH_FORMATS = ("model_parallel_NPU_group", "checkpoints", "checkpoint_initiates")
"""Sizes in the first line of ASTRA-sim 1 as well as of SimAI."""
WITHOUT_MEANING = ("ga", "vpp")
"""Ignored sizes: rounds of accumulation, since the file lists all layers, and parts of the single stage."""
OPERATIONS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
GROUPS = ("", "EP", "DP_EP")
"""Suffixes of operations that name their group; without a suffix the tensor or the data group."""
FIELDS = 12
"""Words of a line."""
NOT_USED = (1, FIELDS - 1)
"""Words of a line that are not used: a reserved number, and the time of the update."""
PLACEHOLDER = 1.0
"""Ticks of passes without a computation, as SimAI's generator writes them."""


DATA_EXCHANGES = "DATA exchanges gradients of weights alone"
NO_OPERATION = "NONE is no operation: write 0 bytes, or an operation"
ONE_RANK = "groups have one rank by the sizes in the first line"
"""Reasons why bytes are not exchanged."""


class _Part(NamedTuple):
    """A pass of a layer: number of its line, ticks of computation, and the operation after it, its group, its bytes."""

    line: int
    time: float
    operation: str
    group: str
    size: int


class _Layer(NamedTuple):
    """The passes of a layer: forward, and backward by inputs and by weights."""

    forward: _Part
    inputs: _Part
    weights: _Part


class _Step(NamedTuple):
    """A training step: its kind, the sizes of its groups, and its layers."""

    kind: str
    tensor: int
    expert: int
    ranks: int
    layers: tuple[_Layer, ...]
    gathers_shards: bool | None
    """Whether the bytes of an all-gather are each rank's contribution, as in ASTRA-sim; None: not known."""

    def group_of(self, name: str) -> NDArray[np.int64]:
        """Return the ranks of all "tensor", "expert", "rest" or "data" groups, shape (groups, ranks per group).

        Ranks are numbered through tensor groups first, then through the expert groups across them, then through the
        remaining dimension.
        """
        numbers = np.arange(self.ranks).reshape(-1, self.expert, self.tensor)
        if name == "tensor":
            return numbers.reshape(-1, self.tensor)
        if name == "expert":
            return numbers.transpose(0, 2, 1).reshape(-1, self.expert)
        if name == "rest":
            return numbers.transpose(1, 2, 0).reshape(-1, len(numbers))
        return numbers.reshape(-1, self.tensor).T  # data


def flows_of_layers(text: str, hosts: int, packet_size: float, algorithm: str) -> WaitingFlows:
    r"""Return the flows of a training step among at most ``hosts`` hosts, with times in ticks.

    Raises
    ------
    ValueError
        Naming the line, for errors of format and unsupported parts.

    Examples
    --------
    >>> flows_of_layers("DATA\n1\nlayer -1 9 NONE 0 5 NONE 0 5 ALLREDUCE 60000 1\n", 2, 1500.0, "ring").size
    [20.0, 20.0, 20.0, 20.0]
    """
    return _Flows(_parse(text, hosts), packet_size, algorithm).run()


class _Flows:
    """Converter of a training step to flows, in the order of its passes; times in ticks."""

    def __init__(self, step: _Step, packet_size: float, algorithm: str) -> None:
        self.step, self.packet_size, self.algorithm = step, packet_size, algorithm
        self.flows = WaitingFlows()
        self.awaited = [BEGINNING] * step.ranks
        """Condition on which each rank continues: flows or the beginning, with the time it computes after them."""
        self.computation = RankComputation()
        """Computation of each rank so far: layers have the same times for all of them."""

    def run(self) -> WaitingFlows:
        """Return the flows of all passes of the step; once, since the object collects them."""
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
        self.flows.computations = (self.computation,)
        self.flows.ranks = (self.step.ranks, f"all_gpus: {self.step.ranks}")
        return self.flows

    def _pass(self, part: _Part, group: str, *, blocks: bool, exchanges: bool = True) -> None:
        """Add a pass: computation, then (``exchanges``) messages in groups; ``blocks``: later passes wait for them."""
        self.awaited = [later(waits, part.time) for waits in self.awaited]
        if part.time > PLACEHOLDER:
            self.computation = RankComputation(*(time + part.time for time in self.computation))
        if not part.size:
            return
        if not exchanges or not part.operation:
            self._leave_out(part, DATA_EXCHANGES if part.operation else NO_OPERATION)
            return
        named = {"EP": "expert", "DP_EP": "rest"}.get(part.group, group)
        members = self.step.group_of(named)
        N = members.shape[1]
        if N < 2:
            self._leave_out(part, ONE_RANK)
            return
        try:
            messages, share = self._messages(part, N)
        except ValueError as error:
            raise ValueError(f"line {part.line}: {part.operation} of {N} ranks: {error}") from None
        self.computation = self.computation._replace(trailing=0.0)
        for ranks in members.tolist():
            waits = [self.awaited[rank] for rank in ranks]
            after = self.flows.exchange(messages, share, ranks, waits)
            if blocks:
                for rank, waits_after in zip(ranks, after, strict=True):
                    self.awaited[rank] = waits_after

    def _leave_out(self, part: _Part, reason: str) -> None:
        """Record an operation with bytes that exchanges nothing."""
        name = f"{part.operation}{part.group and '_'}{part.group}" or "NONE"
        self.flows.without_messages[reason][name].append(part.line)

    def _messages(self, part: _Part, N: int) -> tuple[Messages, PacketUnits]:
        """Return an operation's messages among N ranks, in packets, and the bytes of a packet, as `PacketUnits`."""
        if part.operation == "ALLGATHER" and self.step.gathers_shards is None:
            raise ValueError(
                f"{part.size} bytes are the total array in SimAI, and each rank's contribution in ASTRA-sim 1. The "
                f"first line is of either program: add all_gpus: {self.step.ranks} for SimAI, or delete checkpoints "
                "and checkpoint_initiates for ASTRA-sim 1"
            )
        size = part.size * N if part.operation == "ALLGATHER" and self.step.gathers_shards else part.size
        packets = math.ceil(size / self.packet_size)
        if part.operation == "ALLTOALL":
            packets = math.ceil(packets / N)
            return pairwise(N, packets), share_of(size / N, packets, self.packet_size)
        packets = max(N, packets)
        algorithm: Callable[[int, int], Messages] = ring
        if part.operation == "ALLREDUCE":
            algorithm = ALL_REDUCES[self.algorithm]
            self.flows.has_all_reduce = True
        return algorithm(N, packets), share_of(size, packets, self.packet_size)


def _parse(text: str, hosts: int) -> _Step:
    """Return the training step that a text describes, for at most ``hosts`` ranks; ValueError names the line."""
    lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.split()]
    if len(lines) < 2:
        raise ValueError("must have the kind of parallelism, the number of layers, and the layers")
    (n, head), (at, count), *rows = lines
    kind = head[0]
    if kind not in KINDS:
        raise ValueError(f"line {n}, {kind!r}: must be one of {', '.join(KINDS)}")
    sizes = _sizes(n, head[1:])
    if kind != "DATA" and "tensor" not in sizes:
        raise ValueError(f"line {n}: model_parallel_NPU_group must be given, 1 for none")
    tensor, expert = sizes.get("tensor", 1), sizes.get("expert", 1)
    if kind == "DATA" and (tensor > 1 or expert > 1):
        raise ValueError(f"line {n}: DATA has one group of all ranks")
    ranks = sizes.get("ranks", hosts)
    if not 2 <= ranks <= hosts:
        raise ValueError(f"line {n}, all_gpus: {ranks}: must be 2 to {hosts}, the number of hosts")
    if ranks % (tensor * expert):
        groups = f"tensor groups of {tensor} and expert groups of {expert}"
        raise ValueError(f"line {n}, all_gpus: {ranks}: must be a multiple of {groups}")
    if len(count) != 1 or parse_whole_number(at, "the number of layers", count[0]) != len(rows):
        raise ValueError(f"line {at}, {' '.join(count)!r}: must be {len(rows)}, the number of layers")
    layers = tuple(_layer(row, words) for row, words in rows)
    if not layers:
        raise ValueError("must have a layer")
    for part in itertools.chain.from_iterable(layers):
        if part.group and "expert" not in sizes:
            raise ValueError(
                f"line {part.line}, {part.operation}_{part.group}: line {n} must have ep, the ranks of an expert group"
            )
    names = {name for name, _ in _pairs(n, head[1:])}
    of_simai = names - {*IN_BOTH_FORMATS}
    is_unknown = not of_simai and not names <= {"model_parallel_NPU_group"}
    return _Step(kind, tensor, expert, ranks, layers, gathers_shards=None if is_unknown else not of_simai)


def _sizes(n: int, words: list[str]) -> dict[str, int]:
    """Return sizes "tensor", "expert", "ranks" as line n states them; ValueError for unknown or duplicate names."""
    sizes: dict[str, int] = {}
    names = set[str]()
    for name, value in _pairs(n, words):
        if name in names:
            raise ValueError(f"line {n}, {name}: is given twice")
        names.add(name)
        number = parse_whole_number(n, name, value)
        if name in NOT_READ:
            only, why = NOT_READ[name]
            if number != only:
                raise ValueError(f"line {n}, {name}: {number}: must be {only}, {why}")
        elif name in SIZES:
            if number < 1:
                raise ValueError(f"line {n}, {name}: {number}: must be at least 1")
            sizes[SIZES[name]] = number
        elif name not in WITHOUT_MEANING:
            allowed = ", ".join((*SIZES, *NOT_READ, *WITHOUT_MEANING))
            raise ValueError(f"line {n}, {name!r}: must be one of {allowed}")
    return sizes


def _pairs(n: int, words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and a value from the first line, line n; names may end in a colon."""
    if len(words) % 2:
        raise ValueError(f"line {n}: {words[-1]!r} must have a value")
    return ((name.removesuffix(":"), value) for name, value in zip(words[::2], words[1::2], strict=True))


def _layer(n: int, words: list[str]) -> _Layer:
    """Return the layer of line n from its words; ValueError, which names the line, for other words."""
    if len(words) != FIELDS:
        raise ValueError(f"line {n}: {len(words)} words, must be {FIELDS}: {' '.join(words)!r}")
    for k in NOT_USED:
        if not re.fullmatch("-?[0-9]+", words[k]):
            raise ValueError(f"line {n}, word {k + 1}, {words[k][:40]!r}: must be a whole number")
    return _Layer(*(_part(n, words[k : k + 3]) for k in (2, 5, 8)))


def _part(n: int, words: list[str]) -> _Part:
    """Return a pass of a layer from three words of line n: time, in ticks, operation, size; ValueError for others."""
    time, size = parse_whole_number(n, "time", words[0]), parse_whole_number(n, "size", words[2])
    name, _, group = words[1].partition("_")
    if words[1] == "NONE":
        name = group = ""
    elif name not in OPERATIONS or group not in GROUPS:
        allowed = ", ".join(("NONE", *OPERATIONS))
        raise ValueError(f"line {n}, {words[1]!r}: must be one of {allowed}, with _EP, _DP_EP or nothing behind")
    return _Part(n, float(time), name, group, size)
