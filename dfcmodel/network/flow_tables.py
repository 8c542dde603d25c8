"""Flows as columns: a sequence of up to a million flows without an object per flow."""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dfcmodel.network.columns import Column, Routes, distinct, encode, present
from dfcmodel.network.endpoints.stacks import NO_STACK
from dfcmodel.network.flows import Flow
from dfcmodel.network.next_hops import NextHops
from dfcmodel.network.shortest_routes import SPRAY, ShortestRoutes, flow_keys
from hopflow.checks import count_of
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.links import Links

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["OPTIONS", "Choices", "ChosenPath", "Flows", "choose_together", "random_starts"]

OPTIONS = tuple(option for option in dataclasses.fields(Flow) if option.name not in ("name", "path"))
"""Fields of `Flow` that are columns of a table."""


class Choices(NamedTuple):
    """Method by which the shortest paths of a table of flows were chosen.

    Attributes
    ----------
    links
        The links of the network; they have all nodes of the paths.
    routes
        One of `dfcmodel.network.shortest_routes.CHOICES`, or tables of next hops.
    number
        Number of each flow among the flows of its pair of nodes, (F,); None for explicit entropy.
    """

    links: Links
    routes: str | NextHops
    number: Integers | None

    def is_like(self, other: Choices) -> bool:
        """Return whether another table's paths were chosen by the same method over the same links."""
        if self.routes != other.routes:
            return False
        return self.links is other.links or (self.links == other.links and self.links.seed == other.links.seed)

    def paths(self, source: Integers, target: Integers, keys: Integers) -> Routes:
        """Return paths between nodes, by index in the links; LookupError with the first flow without a path."""
        if isinstance(self.routes, NextHops):
            sources, targets = ([self.links.nodes[k] for k in indices.tolist()] for indices in (source, target))
            paths = self.routes.paths(sources, targets, keys, [False] * len(source))
            return Routes.of([[self.links.place_of[node] for node in path] for path in paths])
        choice = "ecmp" if self.routes == SPRAY else self.routes
        return ShortestRoutes(self.links).paths(source, target, choice, keys)


class ChosenPath(tuple[Hashable, ...]):  # a tuple of any length has no slots
    """Shortest path of a flow of a table with its `Choices`, for lists of flows from several tables.

    Attributes
    ----------
    choices
        The choices of its table.
    number
        Number of the flow among the flows of its pair of nodes.
    """

    choices: Choices
    number: int

    @classmethod
    def of(cls, nodes: Iterable[Hashable], choices: Choices, number: int) -> ChosenPath:
        """Return a path with the choices and the number of its flow."""
        path = cls(nodes)
        path.choices, path.number = choices, number
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class Flows(Sequence[Flow]):
    """Flows as columns, a sequence that builds each `Flow` on access.

    `flows_from`, `all_to_all`, `incast` and `permutation` return such a table, and `Scenario` takes it as its
    ``flows``. The sum of two tables has the flows of the first, then the flows of the second, whose indices in
    ``after`` are shifted. If both tables chose paths by ``"ecmp"``, ``"even"`` or the same tables of next hops over the
    same links, the sum chooses all paths again as one table, so that jobs do not share the choices of their switches. A
    `Scenario` of a list of their flows does the same.

    Parameters
    ----------
    nodes
        Distinct nodes, which include all nodes of the paths.
    paths
        Path of each flow as indices in ``nodes``, F paths.
    columns
        The options of `Flow` by name; a missing option has its default.
    names
        Names of the flows; None: ``"source->target"``, with the number of the flow in front unless unique.
    choices
        Method by which the shortest paths were chosen; None for explicit paths.

    Examples
    --------
    >>> from dfcmodel import CBR, all_to_all, chain
    >>> links = [*chain(3, rate=1e4, delay=1e-3, buffer=50)]
    >>> links += [link.__class__(link.target, link.source, 1e4, 1e-3, 50) for link in links]
    >>> flows = all_to_all((1, 2, 3), sizes=10, source=CBR(100.0), links=links)
    >>> len(flows), flows[1].name, flows[1].path
    (6, '1->3', (1, 2, 3))
    >>> second = all_to_all((1, 3), sizes=10, source=CBR(100.0), links=links, after=[(1,), ()])
    >>> len(flows + second), (flows + second)[6].after
    (8, (7,))
    """

    def __init__(
        self,
        nodes: Sequence[Hashable],
        paths: Routes,
        columns: dict[str, Column],
        names: Sequence[str] | None = None,
        choices: Choices | None = None,
    ) -> None:
        self.nodes, self.paths = tuple(nodes), paths
        if "stack" in columns and any(columns["stack"].values) and "delayed_acks" not in columns:
            options = "initial_window=10, delayed_acks='counted', quick_acks=1079, segments=True"
            raise ValueError(f"stack: is for single flows; write {options} for columns of them")
        self.columns = {
            option.name: columns.get(option.name)
            or Column((getattr(NO_STACK, option.name, option.default),), None, len(paths))
            for option in OPTIONS
        }
        self._names, self.choices = names, choices
        self._derived: dict[Hashable, NDArray[Any]] = {}

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> Flows:
        """Return flows as a table; a table is returned unchanged."""
        if isinstance(flows, Flows):
            return flows
        flows = list(flows)
        index_of: dict[Hashable, int] = {}
        indices = [index_of.setdefault(node, len(index_of)) for flow in flows for node in flow.path]
        counts = np.fromiter((len(flow.path) for flow in flows), dtype=np.int64, count=len(flows))
        columns = {option.name: encode([getattr(flow, option.name) for flow in flows]) for option in OPTIONS}
        names = tuple(flow.name for flow in flows)
        return cls(tuple(index_of), Routes(np.array(indices, dtype=np.int64), counts), columns, names)

    def with_column(self, name: str, column: Column) -> Flows:
        """Return the table with the values of one option replaced."""
        columns = {**self.columns, name: column}
        return Flows(self.nodes, self.paths, columns, self._names, self.choices)

    def __add__(self, other: object) -> Flows:
        """Return a table of these flows followed by another table's, or by a tuple or list of `Flow`."""
        if not isinstance(other, (Flows, tuple, list)):
            return NotImplemented
        second = Flows.of(other)
        first = len(self)
        if not first or not len(second):
            return second if len(second) else self
        index_of = {node: n for n, node in enumerate(self.nodes)}
        renumbered = np.array([index_of.setdefault(node, len(index_of)) for node in second.nodes])
        paths = Routes(
            np.concatenate([self.paths.places, renumbered[second.paths.places]]),
            np.concatenate([self.paths.counts, second.paths.counts]),
        )
        columns = {
            name: _concatenate(column, second.columns[name]) for name, column in self.columns.items() if name != "after"
        }
        after = [*self._predecessors(0), *second._predecessors(first)]
        columns["after"] = (
            Column(Routes.of(after), np.arange(len(after)), len(after))
            if any(after)
            else Column(((),), None, len(after))
        )
        names = [*self.names, *second.names] if self.are_named or second.are_named else None
        table = Flows(tuple(index_of), paths, columns, names)
        return table._choose_together(self, second)

    def __radd__(self, other: object) -> Flows:
        """Append the table to a tuple of `Flow`; 0, the start of `sum`, returns the table unchanged."""
        if isinstance(other, int) and other == 0:
            return self
        return Flows.of(other) + self if isinstance(other, tuple) else NotImplemented

    def _predecessors(self, first: int) -> list[tuple[int, ...]]:
        """Return the predecessors of each flow as numbers, counted from ``first`` for the first flow."""
        column = self.columns["after"]
        if not any(column.values):
            return [()] * len(self)
        routes = isinstance(column.values, Routes)
        number = {} if routes else {name: f for f, name in enumerate(self.names)}
        try:
            return [
                tuple(first + (number[reference] if isinstance(reference, str) else reference) for reference in awaited)
                for awaited in column
            ]
        except KeyError as error:
            raise ValueError(f"after = {error.args[0]!r}: must be a name of a flow of its table") from None

    def _choose_together(self, first: Flows, second: Flows) -> Flows:
        """Return this sum of two tables with all paths chosen again, if both chose theirs by the same method."""
        choice, others = first.choices, second.choices
        if choice is None or others is None or choice.number is None or others.number is None:
            return self
        if choice.routes == SPRAY or not choice.is_like(others):
            return self
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        source, target = self.paths.first.astype(np.int64), last.astype(np.int64)
        pairs = np.unique(source * len(self.nodes) + target, return_inverse=True)[1].reshape(-1)
        used = np.zeros(len(self), dtype=np.int64)  # numbers of the first table between two nodes
        np.maximum.at(used, pairs[: len(first)], choice.number + 1)
        number = np.concatenate([choice.number, others.number + used[pairs[len(first) :]]])
        choices = Choices(choice.links, choice.routes, number)
        paths = choices.paths(source, target, flow_keys(source, target, number, choice.links.seed))
        return Flows(self.nodes, paths, self.columns, self._names, choices)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, f: int) -> Flow: ...

    @overload
    def __getitem__(self, f: slice) -> tuple[Flow, ...]: ...

    def __getitem__(self, f: Any) -> Any:
        """Return a flow, or a tuple of flows for a slice."""
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(len(self))))
        count = len(self)
        if not -count <= f < count:
            raise IndexError(f"flow {f}: there are {count}")
        f = int(f) % count
        flow = object.__new__(Flow)
        path = self.path(f)
        if self.choices is not None and self.choices.number is not None and self.choices.routes != SPRAY:
            path = ChosenPath.of(path, self.choices, int(self.choices.number[f]))
        values = {"name": self.name(f), "path": path}
        values |= {name: column[f] for name, column in self.columns.items()}
        for name, value in values.items():
            object.__setattr__(flow, name, value)
        return flow

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Flows, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(flow == other_flow for flow, other_flow in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(source).__name__ for source in self.columns["source"].values))
        return f"Flows({count_of(len(self), 'flow')} between {count_of(len(self.nodes), 'node')}: {kinds})"

    def path(self, f: int) -> tuple[Hashable, ...]:
        """Return the nodes of the path of a flow."""
        return tuple(self.nodes[n] for n in self.paths[f])

    def name(self, f: int) -> str:
        """Return the name of a flow."""
        if self._names is not None:
            return self._names[f]
        path = self.paths[f]
        name = f"{self.nodes[path[0]]}->{self.nodes[path[-1]]}"
        return name if self._has_distinct_names else f"{f}: {name}"

    @property
    def names(self) -> Iterator[str]:
        """The names of the flows, in order."""
        return iter(self._names) if self._names is not None else map(self.name, range(len(self)))

    @property
    def are_named(self) -> bool:
        """Whether the table has explicit names; derived names are distinct."""
        return self._names is not None

    @cached_property
    def _has_distinct_names(self) -> bool:
        """Whether ``source->target`` is a unique name for every flow."""
        texts = {str(node) for node in self.nodes}
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return False
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        span = len(self.nodes)
        keys = self.paths.first.astype(np.int64) * span + last
        return len(present(keys, span * span)) == len(keys)

    def _derive(self, key: Hashable, column: Callable[[], Column]) -> NDArray[Any]:
        """Return a derived column as a read-only array, cached by ``key``."""
        array = self._derived.get(key)
        if array is None:
            array = self._derived[key] = column().array()
            array.flags.writeable = False
        return array

    def numbers(self, name: str) -> Floats:
        """Return a numeric option of all flows, shape (F,); read-only."""
        return self._derive(name, lambda: self.columns[name].map(float))

    def given(self, name: str) -> NDArray[np.bool_]:
        """Return whether an option of each flow is not None, shape (F,); read-only."""
        return self._derive(("given", name), lambda: self.columns[name].map(lambda value: value is not None))

    @cached_property
    def unusual(self) -> frozenset[str]:
        """Options that at least one flow sets to a value other than its default."""
        return frozenset(
            option.name
            for option in OPTIONS
            if any(value != option.default for value in self.columns[option.name].values)
        )

    @cached_property
    def waits(self) -> NDArray[np.bool_]:
        """Whether each flow starts after others, shape (F,)."""
        column = self.columns["after"]
        if isinstance(column.values, Routes):
            return np.asarray(column.values.counts[column.whole()] > 0)
        return column.map(bool).array()

    def numbers_or_nan(self, name: str) -> Floats:
        """Return an option of all flows, shape (F,); NaN for values that are not numbers."""
        return self.columns[name].map(_number_or_nan).array()

    def which(self, name: str) -> Integers:
        """Return the index of each flow's value in the column of an option, shape (F,)."""
        return self.columns[name].whole()

    def each(self, name: str, value: Any) -> NDArray[Any]:
        """Return a function of an option, computed once per distinct value, shape (F,)."""
        return self.columns[name].map(value).array()

    def of_kind(self, *kinds: type) -> NDArray[np.bool_]:
        """Return whether each flow's source is an instance of one of ``kinds``, shape (F,); read-only."""
        return self._derive(kinds, lambda: self.columns["source"].map(lambda source: isinstance(source, kinds)))

    def alike(self, *columns: NDArray[Any] | str) -> tuple[Integers, Integers]:
        """Group flows that are equal in all columns; return each group's first flow and each flow's group.

        Parameters
        ----------
        columns
            Names of options, or one number per flow, shape (F,).

        Returns
        -------
        first, group
            Groups are in the order of their first flows, shapes (G,) and (F,).
        """
        group: Integers | None = None  # a single group
        for column in columns:
            if isinstance(column, str):
                if self.columns[column].which is None:
                    continue
                codes, span = self.which(column), len(self.columns[column].values)
            else:
                if len(column) and (column == column[0]).all():
                    continue
                values, codes = np.unique(column, return_inverse=True)
                codes, span = codes.reshape(-1), len(values)
            if span > 1:
                keys = codes if group is None else group * span + codes
                group = np.unique(keys, return_inverse=True)[1].reshape(-1)
        if group is None:
            return np.arange(min(1, len(self))), np.zeros(len(self), dtype=np.int64)
        _, first = distinct(group, int(group.max(initial=0)) + 1)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return first[order], rank[group]


def choose_together(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return flows of several tables with their paths chosen as in the sum of the tables (`Flows.__add__`)."""
    tables: dict[int, tuple[Choices, list[int]]] = {}
    for f, flow in enumerate(flows):
        if isinstance(flow.path, ChosenPath):
            tables.setdefault(id(flow.path.choices), (flow.path.choices, []))[1].append(f)
    if len(tables) < 2:
        return flows
    chosen = list(flows)
    remaining = list(tables.values())
    while remaining:
        first = remaining[0][0]
        group = [members for choices, members in remaining if first.is_like(choices)]
        remaining = [(choices, members) for choices, members in remaining if not first.is_like(choices)]
        if len(group) > 1:
            _choose_paths_again(chosen, first, group)
    return tuple(chosen)


def _choose_paths_again(flows: list[Flow], choices: Choices, tables: list[list[int]]) -> None:
    """Replace the paths of flows, whose indices ``tables`` lists by table, by the paths of one table."""
    used: dict[tuple[Hashable, Hashable], int] = {}
    members: list[int] = []
    numbers_of_flows: list[int] = []
    for table in tables:
        offset = dict(used)
        for f in table:
            path: Any = flows[f].path
            number = path.number + offset.get((path[0], path[-1]), 0)
            used[path[0], path[-1]] = max(used.get((path[0], path[-1]), 0), number + 1)
            members.append(f)
            numbers_of_flows.append(number)
    index_of = {node: n for n, node in enumerate(choices.links.nodes)}
    source = np.array([index_of[flows[f].path[0]] for f in members], dtype=np.int64)
    target = np.array([index_of[flows[f].path[-1]] for f in members], dtype=np.int64)
    number = np.array(numbers_of_flows, dtype=np.int64)
    together = choices._replace(number=number)
    routes = together.paths(source, target, flow_keys(source, target, number, choices.links.seed))
    for n, f in enumerate(members):
        flow = copy.copy(flows[f])
        path = ChosenPath.of((choices.links.nodes[k] for k in routes[n]), together, int(number[n]))
        object.__setattr__(flow, "path", path)
        flows[f] = flow


def _concatenate(first: Column, second: Column) -> Column:
    """Return the concatenation of two columns."""
    values = encode([*first.values, *second.values])
    first_codes, second_codes = first.whole(), second.whole() + len(first.values)
    which = values.whole()[np.concatenate([first_codes, second_codes])]
    return Column(values.values, which if len(values.values) > 1 else None, len(which))


def _number_or_nan(value: Any) -> float:
    try:
        return float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        return math.nan


def random_starts(table: Flows, jitter: float, random: np.random.Generator) -> Floats:
    """Return the starts of flows in s, each delayed by a random time of up to ``jitter`` s, (F,).

    A run draws them first from its generator, at both levels, so that both have the same starts with one seed.
    """
    return table.numbers("start") + random.uniform(0.0, jitter, len(table))
