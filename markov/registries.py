"""Registries of methods and of chains, for the command line, the tables of the documentation and the tests.

Another distribution adds methods and chains by entry points of the groups ``hopflow.methods`` and ``hopflow.chains``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.registry import Registry
from markov.methods.gth import GTH
from markov.methods.iterative import GaussSeidel, Power
from markov.methods.krylov import Krylov
from markov.methods.level_reduction import Levels
from markov.methods.multilevel import Multilevel
from markov.methods.sparse_lu import SparseLU
from markov.models.gallery import MM1K, BirthDeath, Cluster, Courtois, CoxTandem, JacksonTandem, Kanban, Polling
from markov.models.pause import PauseChain, PauseTandem
from markov.models.rules import ChainModel
from markov.multigrid.matrix_free import MatrixFree

if TYPE_CHECKING:
    from markov.methods.solution import Method

__all__ = [
    "CHAINS",
    "METHODS",
    "ChainEntry",
    "MethodEntry",
    "chain_named",
    "chain_names",
    "method_named",
    "method_names",
]


class MethodEntry(NamedTuple):
    """A method of `stationary` for pi Q = 0, with its row of the documentation's table and its variants for tests.

    Attributes
    ----------
    method
        The method with its defaults.
    how, cost, when
        Entries of the table in the documentation, in Markdown.
    bounds_entries
        Whether its solutions have an ``entry_error``.
    """

    method: Method
    how: str
    cost: str
    when: str
    bounds_entries: bool = False


class ChainEntry(NamedTuple):
    """A class of chain models, with the instances of few states on which tests run every method."""

    kind: type[ChainModel]
    small: tuple[ChainModel, ...]


METHODS = (
    MethodEntry(
        GTH(),
        "elimination without subtractions",
        "$n^3$ time, $n^2$ memory",
        "up to some thousand states; nearly decomposable chains",
        bounds_entries=True,
    ),
    MethodEntry(
        Levels(),
        "the same level by level; cyclic reduction where levels repeat",
        r"$L m^3$ time, $L m^2$ memory for $L$ levels of $m$ states; $m^3 \log L$ for a run of equal ones",
        "some numbering keeps the levels small",
        bounds_entries=True,
    ),
    MethodEntry(SparseLU(), "sparse factorization with diagonal pivots", "the fill-in", "middle size"),
    MethodEntry(
        Multilevel(),
        "aggregation multigrid over boxes of components' values, or groups of states",
        "20 to 40 cycles of some eight passes over the transitions, at any size",
        "large",
    ),
    MethodEntry(
        MatrixFree(),
        "the same on a grid of the states of a model, with rates from its rules",
        "the same number of cycles; 30 bytes per state",
        "30,000 states and more: [large chains without a matrix](markov-scale.md)",
    ),
    MethodEntry(
        GaussSeidel(),
        "forward and backward sweeps over the jump chain",
        "two passes over the transitions per iteration",
        "chains that mix quickly",
    ),
    MethodEntry(
        Krylov(),
        "GMRES or BiCGSTAB with incomplete LU or our multigrid, then Gauss-Seidel",
        "the factors or levels, 60 vectors",
        "middle size, slow Gauss-Seidel",
    ),
    MethodEntry(Power(), "the lazy jump chain", "one pass per step, thousands of steps", "as a baseline"),
)
"""Methods in the order of the table: direct methods, multigrids, other iterations."""

CHAINS = (
    ChainEntry(BirthDeath, (BirthDeath(),)),
    ChainEntry(MM1K, (MM1K(),)),
    ChainEntry(JacksonTandem, (JacksonTandem(),)),
    ChainEntry(Courtois, (Courtois(),)),
    ChainEntry(
        PauseTandem,
        (PauseTandem(), PauseTandem(recovery="up", pause_at_threshold="both", low_threshold=4)),
    ),
    ChainEntry(PauseChain, (PauseChain(buffers=(3, 4, 4), high_threshold=3),)),
    ChainEntry(Cluster, (Cluster(workstations=2),)),
    ChainEntry(Kanban, (Kanban(),)),
    ChainEntry(CoxTandem, (CoxTandem(capacity=7),)),
    ChainEntry(Polling, (Polling(stations=4),)),
)

_METHODS: Registry[Any] = Registry(
    {type(entry.method).__name__: type(entry.method).__module__ for entry in METHODS},
    "hopflow.methods",
    "solve",
    "a method of stationary, a class such as GTH",
)
_CHAINS: Registry[ChainModel] = Registry(
    {entry.kind.__name__: entry.kind.__module__ for entry in CHAINS},
    "hopflow.chains",
    ChainModel,
    "a ChainModel, a class such as MM1K",
)


def method_names() -> list[str]:
    """Return the names of all methods on the command line, in lower case."""
    return _METHODS.names()


def method_named(parameter: str, name: str) -> Method:
    """Return the method with this name, in any case, at its defaults; ValueError names ``parameter``.

    >>> method_named("method", "GTH")
    GTH(block=64)
    """
    method: Method = _METHODS.named(parameter, name)()
    return method


def chain_names() -> list[str]:
    """Return the names of all chains on the command line, in lower case."""
    return _CHAINS.names()


def chain_named(parameter: str, name: str) -> type[ChainModel]:
    """Return the class of chain models with this name, in any case; ValueError names ``parameter``.

    >>> chain_named("chain", "kanban")().tickets
    1
    """
    return _CHAINS.named(parameter, name)
