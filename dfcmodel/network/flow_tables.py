"""Flows as columns: a sequence of flows without an object for each, of which a scenario may have a million."""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dfcmodel.network.columns import Column, Routes, distinct, encoded, present
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

__all__ = ["OPTIONS", "Choices", "ChosenPath", "Flows", "chosen_together", "random_starts"]

OPTIONS = tuple(each for each in dataclasses.fields(Flow) if each.name not in ("name", "path"))
"""Fields of a flow that are columns of a table, each with one value for all flows or one for each."""


class Choices(NamedTuple):
    """How the shortest paths of a table of flows were chosen.

    Attributes
    ----------
    links
        The links of the network, among whose nodes those of the paths are.
    routes
        One of `dfcmodel.network.shortest_routes.CHOICES`, or tables of next hops.
    number
        Of each flow among those between its ends, (F,); None: what is hashed was given.
    """

    links: Links
    routes: str | NextHops
    number: Integers | None

    def is_like(self, other: Choices) -> bool:
        """Return whether the paths of another table were chosen in the same way, over the same links."""
        if self.routes != other.routes:
            return False
        return self.links is other.links or (self.links == other.links and self.links.seed == other.links.seed)

    def paths(self, source: Integers, target: Integers, keys: Integers) -> Routes:
        """Return the paths between nodes of the links; LookupError with the first flow for which there is none."""
        if isinstance(self.routes, NextHops):
            sources, targets = ([self.links.nodes[k] for k in places.tolist()] for places in (source, target))
            paths = self.routes.paths(sources, targets, keys, [False] * len(source))
            return Routes.of([[self.links.place_of[node] for node in path] for path in paths])
        chosen = "ecmp" if self.routes == SPRAY else self.routes
        return ShortestRoutes(self.links).paths(source, target, chosen, keys)


class ChosenPath(tuple[Hashable, ...]):  # a tuple of any length has no slots
    """Shortest path of a flow of a table, and how it was chosen, for lists of flows of several tables.

    Attributes
    ----------
    choices
        The choices of its table.
    number
        Of the flow among those between its ends.
    """

    choices: Choices
    number: int

    @classmethod
    def of(cls, nodes: Iterable[Hashable], choices: Choices, number: int) -> ChosenPath:
        """Return the path over some nodes."""
        path = cls(nodes)
        path.choices, path.number = choices, number
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class Flows(Sequence[Flow]):
    """Flows as columns, in place of a tuple of `Flow`, which is made when it is asked for.

    `flows_from`, `all_to_all`, `incast` and `permutation` return one, `Scenario` takes it as its ``flows``. Tables are added:
    the flows of the second one follow, and so do their places in ``after``. Paths that both took by ``"ecmp"``, ``"even"``
    or the same tables of next hops over the same links are chosen as of one table, so that jobs do not share the choices of their switches.
    A `Scenario` of a list of their flows chooses them so, too.

    Parameters
    ----------
    nodes
        Nodes, each once, among which are all over which they go.
    paths
        Places in ``nodes`` of the path of each flow, F of them.
    columns
        The options of the flows by name, those of `Flow`; a missing one has its default.
    names
        A name for each flow; None: ``"source->target"``, with the number of the flow before it where this is not unique.
    choices
        How their shortest paths were chosen; None: they were given.

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
            msg = "is for single flows; write initial_window=10, delayed_acks='counted', quick_acks=1079, segments=True for columns of them"
            raise ValueError(f"stack: {msg}")
        self.columns = {
            each.name: columns.get(each.name) or Column((getattr(NO_STACK, each.name, each.default),), None, len(paths))
            for each in OPTIONS
        }
        self._names, self.choices = names, choices
        self._derived: dict[Hashable, NDArray[Any]] = {}

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> Flows:
        """Return the table of some flows; of a table itself."""
        if isinstance(flows, Flows):
            return flows
        flows = list(flows)
        place: dict[Hashable, int] = {}
        places = [place.setdefault(node, len(place)) for flow in flows for node in flow.path]
        counts = np.fromiter((len(flow.path) for flow in flows), dtype=np.int64, count=len(flows))
        columns = {each.name: encoded([getattr(flow, each.name) for flow in flows]) for each in OPTIONS}
        names = tuple(flow.name for flow in flows)
        return cls(tuple(place), Routes(np.array(places, dtype=np.int64), counts), columns, names)

    def with_column(self, name: str, column: Column) -> Flows:
        """Return the table with the values of one option replaced."""
        columns = {**self.columns, name: column}
        return Flows(self.nodes, self.paths, columns, self._names, self.choices)

    def __add__(self, other: object) -> Flows:
        """Return the flows of this table and then those of another one, or of a tuple of `Flow`."""
        if not isinstance(other, (Flows, tuple, list)):
            return NotImplemented
        second = Flows.of(other)
        first = len(self)
        if not first or not len(second):
            return second if len(second) else self
        place = {node: n for n, node in enumerate(self.nodes)}
        renumbered = np.array([place.setdefault(node, len(place)) for node in second.nodes])
        paths = Routes(
            np.concatenate([self.paths.places, renumbered[second.paths.places]]),
            np.concatenate([self.paths.counts, second.paths.counts]),
        )
        columns = {
            name: _joined(column, second.columns[name]) for name, column in self.columns.items() if name != "after"
        }
        after = [*self._awaited(0), *second._awaited(first)]
        columns["after"] = (
            Column(Routes.of(after), np.arange(len(after)), len(after))
            if any(after)
            else Column(((),), None, len(after))
        )
        names = [*self.names, *second.names] if self.are_named or second.are_named else None
        found = Flows(tuple(place), paths, columns, names)
        return found._chosen_together(self, second)

    def __radd__(self, other: object) -> Flows:
        """Return the table behind a tuple of `Flow`; itself behind 0, with which `sum` begins."""
        if isinstance(other, int) and other == 0:
            return self
        return Flows.of(other) + self if isinstance(other, tuple) else NotImplemented

    def _awaited(self, first: int) -> list[tuple[int, ...]]:
        """Return the numbers of the flows for which each one waits, if this table's first flow has the number ``first``."""
        column = self.columns["after"]
        if not any(column.values):
            return [()] * len(self)
        routes = isinstance(column.values, Routes)
        number = {} if routes else {name: f for f, name in enumerate(self.names)}
        try:
            return [
                tuple(first + (number[each] if isinstance(each, str) else each) for each in awaited)
                for awaited in column
            ]
        except KeyError as error:
            raise ValueError(f"after = {error.args[0]!r}: must be a name of a flow of its table") from None

    def _chosen_together(self, first: Flows, second: Flows) -> Flows:
        """Return this table, the sum of two, with the paths that both chose chosen as of one table."""
        own, others = first.choices, second.choices
        if own is None or others is None or own.number is None or others.number is None:
            return self
        if own.routes == SPRAY or not own.is_like(others):
            return self
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        source, target = self.paths.first.astype(np.int64), last.astype(np.int64)
        pairs = np.unique(source * len(self.nodes) + target, return_inverse=True)[1].reshape(-1)
        used = np.zeros(len(self), dtype=np.int64)  # numbers of the first table between two nodes
        np.maximum.at(used, pairs[: len(first)], own.number + 1)
        number = np.concatenate([own.number, others.number + used[pairs[len(first) :]]])
        choices = Choices(own.links, own.routes, number)
        paths = choices.paths(source, target, flow_keys(source, target, number, own.links.seed))
        return Flows(self.nodes, paths, self.columns, self._names, choices)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, f: int) -> Flow: ...

    @overload
    def __getitem__(self, f: slice) -> tuple[Flow, ...]: ...

    def __getitem__(self, f: Any) -> Any:
        """Return a flow, which was checked with the table, or several."""
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(len(self))))
        count = len(self)
        if not -count <= f < count:
            raise IndexError(f"flow {f}: there are {count}")
        f = int(f) % count
        flow = self.unnamed(f)
        object.__setattr__(flow, "name", self.name(f))
        return flow

    def unnamed(self, f: int) -> Flow:
        """Return a flow whose name is empty: names take a look at all flows."""
        flow = object.__new__(Flow)
        path = self.path(f)
        if self.choices is not None and self.choices.number is not None and self.choices.routes != SPRAY:
            path = ChosenPath.of(path, self.choices, int(self.choices.number[f]))
        given = {"name": "", "path": path}
        given |= {name: column[f] for name, column in self.columns.items()}
        for name, value in given.items():
            object.__setattr__(flow, name, value)
        return flow

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Flows, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(own == each for own, each in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(each).__name__ for each in self.columns["source"].values))
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
        return name if self._has_own_ends else f"{f}: {name}"

    @property
    def names(self) -> Iterator[str]:
        """The names of the flows, one after the other."""
        return iter(self._names) if self._names is not None else map(self.name, range(len(self)))

    @property
    def are_named(self) -> bool:
        """Whether names were given; otherwise they are distinct."""
        return self._names is not None

    @cached_property
    def _has_own_ends(self) -> bool:
        """Whether the ends of each flow make a name of its own."""
        texts = {str(node) for node in self.nodes}
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return False
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        span = len(self.nodes)
        keys = self.paths.first.astype(np.int64) * span + last
        return len(present(keys, span * span)) == len(keys)

    def _once(self, key: Hashable, column: Callable[[], Column]) -> NDArray[Any]:
        """Return the array of a column that follows from the table, made when it is first asked for; read-only."""
        found = self._derived.get(key)
        if found is None:
            found = self._derived[key] = column().array()
            found.flags.writeable = False
        return found

    def numbers(self, name: str) -> Floats:
        """Return an option of all flows that is a number, shape (F,); read-only."""
        return self._once(name, lambda: self.columns[name].map(float))

    def given(self, name: str) -> NDArray[np.bool_]:
        """Return whether an option of each flow is not None, shape (F,); read-only."""
        return self._once(("given", name), lambda: self.columns[name].map(lambda value: value is not None))

    @cached_property
    def unusual(self) -> frozenset[str]:
        """Options that are not as they are by default for all flows."""
        return frozenset(
            each.name for each in OPTIONS if any(value != each.default for value in self.columns[each.name].values)
        )

    @cached_property
    def waits(self) -> NDArray[np.bool_]:
        """Whether each flow starts after others, shape (F,)."""
        column = self.columns["after"]
        if isinstance(column.values, Routes):
            return np.asarray(column.values.counts[column.whole()] > 0)
        return column.map(bool).array()

    def numbers_or_nan(self, name: str) -> Floats:
        """Return an option of all flows, shape (F,); nan where it is not a number."""
        return self.columns[name].map(_number_or_nan).array()

    def which(self, name: str) -> Integers:
        """Return which of the values of an option each flow has, shape (F,)."""
        return self.columns[name].whole()

    def each(self, name: str, value: Any) -> NDArray[Any]:
        """Return what follows from an option, computed once for each of its values, shape (F,)."""
        return self.columns[name].map(value).array()

    def of_kind(self, *kinds: type) -> NDArray[np.bool_]:
        """Return whether the source of each flow is of one of some kinds, shape (F,); read-only."""
        return self._once(kinds, lambda: self.columns["source"].map(lambda source: isinstance(source, kinds)))

    def alike(self, *columns: NDArray[Any] | str) -> tuple[Integers, Integers]:
        """Return the first one of each group of flows that do not differ in some columns, and the group of each flow.

        Parameters
        ----------
        columns
            Names of options, or one number per flow, shape (F,).

        Returns
        -------
        first, group
            In the order of their first flows, shapes (G,) and (F,).
        """
        group: Integers | None = None  # all are alike
        for column in columns:
            if isinstance(column, str):
                if self.columns[column].which is None:
                    continue
                own, span = self.which(column), len(self.columns[column].values)
            else:
                if len(column) and (column == column[0]).all():
                    continue
                values, own = np.unique(column, return_inverse=True)
                own, span = own.reshape(-1), len(values)
            if span > 1:
                keys = own if group is None else group * span + own
                group = np.unique(keys, return_inverse=True)[1].reshape(-1)
        if group is None:
            return np.arange(min(1, len(self))), np.zeros(len(self), dtype=np.int64)
        _, first = distinct(group, int(group.max(initial=0)) + 1)
        order = np.argsort(first)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return first[order], place[group]


def chosen_together(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return flows of a list with the paths of several tables chosen as of the tables' sum, by `Flows.__add__`."""
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
            _choose_anew(chosen, first, group)
    return tuple(chosen)


def _choose_anew(flows: list[Flow], choices: Choices, tables: list[list[int]]) -> None:
    """Replace the paths of flows, whose places are given by table, by those of one table."""
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
    place = {node: n for n, node in enumerate(choices.links.nodes)}
    source = np.array([place[flows[f].path[0]] for f in members], dtype=np.int64)
    target = np.array([place[flows[f].path[-1]] for f in members], dtype=np.int64)
    number = np.array(numbers_of_flows, dtype=np.int64)
    together = choices._replace(number=number)
    routes = together.paths(source, target, flow_keys(source, target, number, choices.links.seed))
    for n, f in enumerate(members):
        flow = copy.copy(flows[f])
        path = ChosenPath.of((choices.links.nodes[k] for k in routes[n]), together, int(number[n]))
        object.__setattr__(flow, "path", path)
        flows[f] = flow


def _joined(first: Column, second: Column) -> Column:
    """Return the column of the values of one and then of another."""
    values = encoded([*first.values, *second.values])
    own, others = first.whole(), second.whole() + len(first.values)
    which = values.whole()[np.concatenate([own, others])]
    return Column(values.values, which if len(values.values) > 1 else None, len(which))


def _number_or_nan(value: Any) -> float:
    try:
        return float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        return math.nan


def random_starts(table: Flows, jitter: float, random: np.random.Generator) -> Floats:
    """Return the starts of flows in s, each delayed by a random time of up to ``jitter`` s, (F,).

    They are the first numbers that a run takes from its generator, at both levels: with one seed both have the same starts.
    """
    return table.numbers("start") + random.uniform(0.0, jitter, len(table))
