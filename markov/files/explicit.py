"""Chains state by state: PRISM's explicit files, UMB, Matrix Market, and graphs of NetworkX.

Explicit files (manual of PRISM, appendix "Explicit model files"): ``.tra`` has the numbers of states and
transitions and a line ``from to rate`` for each; ``.lab`` declares labels and lists those of states;
``.srew`` lists rewards of states; ``.sta`` names the states.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.checks import choice, file_path, instance
from hopflow.equality import ByValue
from hopflow.whole_files import replacing
from markov.chains import MarkovChain
from markov.computing.matrices import off_diagonal
from markov.computing.memory import check_room
from markov.files.errors import FileError
from markov.files.parsing.tokens import read_text
from markov.files.umb_reading import read_umb
from markov.files.umb_writing import write_umb
from markov.models.measures import functionals
from markov.selections import as_chain

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import NDArray

__all__ = ["ExplicitModel", "from_networkx", "read_explicit", "to_networkx", "write_explicit"]

SUFFIXES = (".tra", ".umb", ".mtx")
BYTES_PER_TRANSITION = 100.0
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class ExplicitModel(ByValue):
    """A chain that files list state by state; `stationary`, `transient` and `passage` take it.

    Attributes
    ----------
    chain
        The `MarkovChain`, states 0 .. n - 1 or named by a ``.sta`` file. Of ``.umb``: states by the
        values of their variables, ascending; labels and rewards are its measures.
    labels
        Whether each state has a label, shape (states,), by its name.
    rewards
        Rewards per s of the states, shape (states,); zeros without any. Of ``.umb``: the first ones.

    Examples
    --------
    See `read_explicit`, which returns one.

    >>> from markov import MarkovChain
    >>> from markov.results import ExplicitModel
    >>> ExplicitModel(MarkovChain([[-1.0, 1.0], [1.0, -1.0]]), {}, [0.0, 1.0]).rewards.tolist()
    [0.0, 1.0]
    """

    def __init__(self, chain: MarkovChain, labels: Mapping[str, Any], rewards: Any = None) -> None:
        self.chain = chain
        self.labels = {name: np.asarray(v, dtype=bool) for name, v in labels.items()}
        given = np.zeros(chain.size) if rewards is None else rewards
        self.rewards = np.asarray(given, dtype=np.float64)

    def __repr__(self) -> str:
        return f"ExplicitModel: {self.chain.size} states, labels {', '.join(self.labels) or 'none'}"


def read_explicit(path: str | Path) -> ExplicitModel:
    """Return the chain of a ``.tra`` file, with ``.sta``, ``.lab`` and ``.srew`` beside it; of ``.umb`` or ``.mtx``.

    Parameters
    ----------
    path
        The file of transitions with rates; a file in the unified Markov binary format of PRISM and
        Storm; or a generator, or rates, in Matrix Market format. The files beside ``.tra`` have the same
        name and are read where they exist.

    Raises
    ------
    FileError
        With line and reason: a number that is none, a state out of range, a rate that is not finite and
        >= 0. Of ``.umb``: for models that are no continuous-time Markov chain, such as MDPs, games and
        intervals of probabilities.

    Notes
    -----
    A rate in ``.umb`` is the float64 next to the product of an exit rate and a probability, which may be
    rationals. Rewards for leaving a state, or on a branch, count at the rate of doing so. Variables that are
    not whole numbers below 2^62 or truth values are left out, and states are then numbers. The label ``init``
    has the initial states.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_explicit, stationary, write_explicit
    >>> with TemporaryDirectory() as folder:
    ...     write_explicit([[-0.25, 0.25], [1.0, -1.0]], Path(folder, "machine.tra"))
    ...     found = read_explicit(Path(folder, "machine.tra"))
    >>> stationary(found).pi.tolist()
    [0.8, 0.2]
    """
    path = file_path("path", path)
    if path.suffix == ".mtx":
        return ExplicitModel(MarkovChain(_matrix_market(path)), {})
    if path.suffix == ".umb":
        return ExplicitModel(*read_umb(path))
    if path.suffix != ".tra":
        raise FileError((path.name, None), f"the path must end in {', '.join(SUFFIXES)}")
    rates = _transitions(path)
    n = rates.shape[0]
    own = np.asarray(rates.sum(axis=1)).ravel()
    names = _names(path.with_suffix(".sta"), n)
    chain = MarkovChain(sp.csr_matrix(rates - sp.diags(own)), states=names)
    rewards = _rewards(path.with_suffix(".srew"), n)
    return ExplicitModel(chain, _labels(path.with_suffix(".lab"), n), rewards)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the words of the lines that have any, with the lines' numbers."""
    numbered = enumerate(read_text(path).splitlines(), start=1)
    return [(k, line.split()) for k, line in numbered if line.strip() and line[0] != "#"]


def _state(word: str, n: int, place: tuple[str, int]) -> int:
    if not word.isascii() or not word.isdigit() or int(word) >= n:
        raise FileError(place, f"{word[:20]!r}: must be a state, 0 to {n - 1}")
    return int(word)


def _real(word: str, place: tuple[str, int]) -> float:
    if not NUMBER.fullmatch(word) or not np.isfinite(float(word)):
        raise FileError(place, f"{word[:20]!r}: must be a finite number")
    return float(word)


def _transitions(path: Path) -> sp.csr_matrix:
    lines = _lines(path)
    if not lines or len(lines[0][1]) != 2 or not all(w.isdigit() for w in lines[0][1]):
        raise FileError((path.name, 1), "numbers of states and of transitions are expected")
    n, count = map(int, lines[0][1])
    if n < 1 or count != len(lines) - 1:
        said = f"{n} states and {count} transitions are announced, {len(lines) - 1} are there"
        raise FileError((path.name, 1), said)
    check_room(f"{path.name}: {n} states", BYTES_PER_TRANSITION * (n + count))
    rows, columns, rates = (np.empty(count, dtype=t) for t in (np.int64, np.int64, np.float64))
    for k, (number, words) in enumerate(lines[1:]):
        place = path.name, number
        if len(words) not in (3, 4):
            raise FileError(place, "a line is FROM TO RATE")
        rows[k], columns[k] = _state(words[0], n, place), _state(words[1], n, place)
        rates[k] = _real(words[2], place)
        if rates[k] < 0.0:
            raise FileError(place, f"rate {rates[k]:g}: must be >= 0")
    off = rows != columns
    return sp.csr_matrix((rates[off], (rows[off], columns[off])), shape=(n, n))


def _names(path: Path, n: int) -> list[str] | None:
    """Return the names of states: ``0:(1,true)`` after a line with the variables."""
    if not path.is_file():
        return None
    names: list[str | None] = [None] * n
    for number, words in _lines(path)[1:]:
        state, colon, name = " ".join(words).partition(":")
        if not colon:
            raise FileError((path.name, number), "a line is STATE:(VALUES)")
        names[_state(state, n, (path.name, number))] = name
    if None in names:
        raise FileError((path.name, None), f"state {names.index(None)} has no line")
    return [str(name) for name in names]


def _labels(path: Path, n: int) -> dict[str, NDArray[np.bool_]]:
    if not path.is_file():
        return {}
    lines = _lines(path)
    declared = re.findall(r'(\d+)="([^"]*)"', " ".join(lines[0][1])) if lines else []
    if not declared:
        raise FileError((path.name, 1), 'labels are expected: 0="init" 1="full"')
    found = {name: np.zeros(n, dtype=bool) for _, name in declared}
    by_number = dict(declared)
    for number, words in lines[1:]:
        place = path.name, number
        state = _state(words[0].removesuffix(":"), n, place)
        for word in words[1:]:
            if word not in by_number:
                raise FileError(place, f"{word[:20]!r}: no label has this number")
            found[by_number[word]][state] = True
    return found


def _rewards(path: Path, n: int) -> NDArray[np.float64]:
    found = np.zeros(n)
    if path.is_file():
        for number, words in _lines(path)[1:]:
            place = path.name, number
            if len(words) != 2:
                raise FileError(place, "a line is STATE REWARD")
            found[_state(words[0], n, place)] = _real(words[1], place)
    return found


def _matrix_market(path: Path) -> sp.csr_matrix:
    """Return a generator; of rates alone, without diagonal, the one that they make."""
    from scipy.io import mmread

    try:
        given = sp.coo_matrix(mmread(str(path)))
    except (ValueError, OSError, OverflowError) as error:
        raise FileError((path.name, None), f"no Matrix Market file: {error}") from None
    if given.shape[0] != given.shape[1] or given.data.dtype.kind not in "iuf":
        raise FileError((path.name, None), f"shape {given.shape}: must be square, of real numbers")
    if given.diagonal().any():
        return sp.csr_matrix(given, dtype=np.float64)
    rates = sp.csr_matrix(given, dtype=np.float64)
    return sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel()))


def write_explicit(model: Any, path: str | Path, *, exact: bool = False) -> None:
    """Write a chain as ``.tra``, with ``.lab`` where the model has labels; as ``.umb`` or as ``.mtx``.

    Parameters
    ----------
    model
        As for `stationary`.
    path
        Where to; its ending says the format. Rates in ``.tra`` and ``.mtx`` are read back exactly.
        ``.umb`` has labels, rewards and values of variables too.
    exact
        Of ``.umb``: rationals, with which rates are read back exactly. Otherwise exit rates and
        probabilities are float64, and the rates that they make differ by some rounding.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import write_explicit
    >>> with TemporaryDirectory() as folder:
    ...     write_explicit([[-0.25, 0.25], [1.0, -1.0]], Path(folder, "machine.tra"))
    ...     print(Path(folder, "machine.tra").read_text(), end="")
    2 2
    0 1 0.25
    1 0 1.0
    """
    path, chain = file_path("path", path), as_chain(model)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path = {str(path)!r}: must end in {', '.join(SUFFIXES)}")
    if choice("exact", exact, (False, True)) and path.suffix != ".umb":
        raise ValueError(f"exact = True: goes with .umb, rates in {path.suffix} are exact")
    if path.suffix == ".umb":
        write_umb(chain, path, exact=exact)
        return
    if path.suffix == ".mtx":
        from scipy.io import mmwrite

        with replacing(path) as scratch:
            content = io.BytesIO()  # of a file SciPy reports no failed write
            mmwrite(content, chain.Q, precision=17)
            scratch.write_bytes(content.getvalue())
        return
    rates = sp.coo_matrix(off_diagonal(chain.Q))
    lines = [f"{chain.size} {rates.nnz}"]
    triples = zip(rates.row.tolist(), rates.col.tolist(), rates.data.tolist(), strict=True)
    lines += [f"{x} {y} {rate!r}" for x, y, rate in triples]
    files = {path: lines}
    labels = _of_model(chain)
    if labels:
        names = list(labels)
        files[path.with_suffix(".lab")] = lines = [
            " ".join(f'{k}="{name}"' for k, name in enumerate(names))
        ]
        for x in range(chain.size):
            held = [str(k) for k, name in enumerate(names) if labels[name][x]]
            if held:
                lines.append(f"{x}: {' '.join(held)}")
    with contextlib.ExitStack() as stack:  # both are on the disk before either takes its name
        for file, text in files.items():
            scratch = stack.enter_context(replacing(file))
            scratch.write_text("\n".join(text) + "\n", encoding="utf-8")


def _of_model(chain: MarkovChain) -> dict[str, NDArray[np.bool_]]:
    """Return measures that are zero or one in every state."""
    found = {} if chain.model is None else functionals(chain.model, chain.table)
    means = {name: m.of for name, m in found.items() if m.over is None and m.of.ndim == 1}
    return {name: of != 0.0 for name, of in means.items() if np.isin(of, (0.0, 1.0)).all()}


def to_networkx(model: Any) -> nx.DiGraph[int]:
    """Return the transitions as a directed graph of NetworkX: ``rate`` of edges, numbers as nodes.

    Examples
    --------
    >>> from markov import to_networkx
    >>> to_networkx([[-0.25, 0.25], [1.0, -1.0]]).edges(data="rate")
    OutEdgeDataView([(0, 1, 0.25), (1, 0, 1.0)])
    """
    import networkx as nx

    chain = as_chain(model)
    rates = sp.coo_matrix(off_diagonal(chain.Q))
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(chain.size))
    triples = zip(rates.row.tolist(), rates.col.tolist(), rates.data.tolist(), strict=True)
    graph.add_weighted_edges_from(triples, weight="rate")
    return graph


def from_networkx(graph: Any, *, rate: str = "rate") -> MarkovChain:
    """Return the chain of a directed graph; its nodes are the names of the states.

    Parameters
    ----------
    graph
        A ``networkx.DiGraph`` or ``MultiDiGraph``; edges between the same nodes add up.
    rate
        The attribute of edges that is the rate in 1/s.

    Raises
    ------
    ValueError
        When the graph is not directed or an edge has no such attribute.

    Examples
    --------
    >>> import networkx as nx
    >>> from markov import from_networkx, stationary
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("up", "down", rate=0.25)
    >>> graph.add_edge("down", "up", rate=1.0)
    >>> stationary(from_networkx(graph)).probability("up")
    0.8
    """
    import networkx as nx

    instance("graph", graph, nx.Graph, "a directed graph of networkx")
    instance("rate", rate, str)
    if not graph.is_directed():
        raise ValueError("graph: must be directed")
    nodes = list(graph)
    places = {node: k for k, node in enumerate(nodes)}
    matrix = np.zeros((3, graph.number_of_edges()))
    for k, (x, y, value) in enumerate(graph.edges(data=rate)):
        if value is None:
            raise ValueError(f"graph: the edge {x!r} to {y!r} has no rate {rate!r}")
        matrix[:, k] = places[x], places[y], value
    rows, columns = matrix[0].astype(np.int64), matrix[1].astype(np.int64)
    off, n = rows != columns, len(nodes)
    rates = sp.csr_matrix((matrix[2, off], (rows[off], columns[off])), shape=(n, n))
    Q = rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    return MarkovChain(sp.csr_matrix(Q), states=nodes)
