"""Chains state by state: PRISM's explicit files, UMB, Matrix Market, and graphs of NetworkX.

Explicit files of PRISM (its manual, appendix "Explicit model files"): ``.tra`` has the numbers of states and
transitions and a line ``from to rate`` for each, and newer versions write the kind of model into a comment;
``.lab`` declares labels and lists the labels of states; ``.srew`` lists rewards of states and ``.trew`` rewards of
transitions, one file for each reward structure; ``.sta`` names the states. Storm's (its documentation of
``--explicit``): ``.tra`` begins with ``ctmc`` and has no counts, ``.lab`` declares labels between ``#DECLARATION`` and
``#END``, and ``.srew`` has no counts either.
"""

from __future__ import annotations

import contextlib
import glob
import io
import itertools
import re
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.callers import warn_caller
from hopflow.checks import count_of, file_path, instance, one_number
from hopflow.fork_safety import cached_property
from hopflow.parameters import param, validate_parameters
from hopflow.results import ByValue
from hopflow.whole_files import replacing
from markov.chains import ROW_SUM_TOLERANCE, MarkovChain
from markov.computing.matrices import off_diagonal, with_diagonal
from markov.computing.resources import check_room
from markov.files.chains import FileChain, ListedStates
from markov.files.language import FileError
from markov.files.models import FileModel, program_of_list
from markov.files.parsing import decimal, read_text
from markov.files.umb import initial_states_of, read_umb, starts_at_random, write_umb
from markov.models.measures import functionals
from markov.models.spaces import Space
from markov.selections import as_chain

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import NDArray

    from markov.files.properties import PropertyResult

    Vector = NDArray[np.float64]

__all__ = ["ExplicitModel", "from_networkx", "read_explicit", "to_networkx", "write_explicit"]

SUFFIXES = (".tra", ".umb", ".mtx")
BYTES_PER_TRANSITION = 100.0
NATURAL = re.compile("[0-9]{1,18}")
LIKE_PROBABILITIES = "the numbers from each state sum to 1, as probabilities do, and are taken for rates in 1/s"
PROBABILITY_TOLERANCE = 1e-9  # of sums of rounded probabilities
KIND = re.compile(r"^#+[ \t]*Transitions[ \t]*\((\w{1,20})\)", re.MULTILINE | re.IGNORECASE)
"""The comment with the kind of model that newer versions of PRISM write above transitions."""
REWARD_NAME = re.compile(r'^#+[ \t]*Reward structure:?[ \t]*"([^"\n]*)"', re.MULTILINE)
"""The comment with their name that newer versions of PRISM write above rewards."""
RATIO = re.compile("-?[0-9]{1,300}/[0-9]{1,300}")
"""A number that PRISM writes in exact mode."""


class ExplicitModel(ByValue):
    """A chain that a file lists state by state, with labels and rewards; `stationary` and `transient` take it.

    Attributes
    ----------
    chain
        The `MarkovChain`, states 0 .. n - 1 or named by a ``.sta`` file. Of ``.umb``: states by the
        values of their variables, ascending; labels and rewards are its measures.
    labels
        Whether each state has a label, shape (states,), by its name.
    rewards
        Rewards per s of the states, shape (states,); zeros without rewards. Of ``.umb``: the first reward structure.
    variables
        Values of the variables that a ``.sta`` file names, whole numbers or truth values, shape (states,), by name;
        empty of other files. `property` knows them by their names, ``answer.bound(model.variables["n"])`` is a mean.

    Labels and rewards of files are measures of the chain: ``stationary(model)["full"]``. Rewards are called
    ``reward`` where the file gives them no name.

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
        values = np.zeros(chain.size) if rewards is None else rewards
        self.rewards = np.asarray(values, dtype=np.float64)

    @property
    def variables(self) -> Mapping[str, NDArray[Any]]:
        """Values of the variables that a ``.sta`` file names, shape (states,), by name."""
        model = self.chain.model
        return (
            dict(model.source.variables)
            if isinstance(model, FileChain) and isinstance(model.source, ListedStates)
            else {}
        )

    @cached_property
    def model(self) -> FileModel:
        """The chain as a `FileModel`, whose method `property` evaluates CSL on it.

        Variables are the components of states and the variables of a ``.sta`` file, or ``state``, the number of the
        state. A ``.tra`` file without the label ``init`` begins in state 0, as in PRISM, with a warning where other
        states have other values; of ``.umb`` without an initial state, properties need a filter.
        """
        source = self.chain.model.source if isinstance(self.chain.model, FileChain) else None
        if not isinstance(source, ListedStates):
            message = "has no labels and no rewards: properties are of .tra and .umb files"
            raise FileError(("matrix", None), message)
        return FileModel(program_of_list(source))

    def property(self, text: str, **options: Any) -> PropertyResult:
        """Return the value of a CSL property with an error bound, as `FileModel.property` does."""
        return self.model.property(text, **options)

    def __repr__(self) -> str:
        return f"ExplicitModel: {count_of(self.chain.size, 'state')}, labels {', '.join(self.labels) or 'none'}"


def advice_for_ending(path: Path) -> str:
    """Return what to do with a file of another kind, by the ending of its name, for messages."""
    if path.suffix == ".drn":
        return "; DRN files of Storm are not read: export .umb instead"
    if path.suffix in (".csv", ".npy", ".npz", ".mat"):
        return "; a matrix is a chain in Python, MarkovChain(Q), DiscreteChain(P), with names of the states"
    return ""


def read_explicit(path: str | Path) -> ExplicitModel:
    """Return the chain of a ``.tra`` file and its ``.sta``, ``.lab``, ``.srew`` and ``.trew``, of ``.umb`` or ``.mtx``.

    Rewards of ``m.tra`` are in ``m.srew`` and ``m.trew``, or in ``m1.srew``, ``m1.trew``, ``m2.srew``, ... where PRISM
    wrote several reward structures. Numbers in ``.tra``, ``.srew`` and ``.trew`` are decimals or ratios of whole
    numbers.

    Parameters
    ----------
    path
        The file of transitions with rates; a file in the unified Markov binary format of PRISM and
        Storm; or a generator, or rates, in Matrix Market format. The files beside ``.tra`` have the same
        name and are read where they exist.

    Raises
    ------
    FileError
        With line and reason: a malformed number, a state out of range, a rate that is not finite and >= 0, counts that
        differ from the lists, a label or a state given twice, transitions of another kind of model than a CTMC, a
        reward of one of several transitions between two states, initial states that ``.tra`` and ``.lab`` list
        differently, files of rewards whose numbers have a gap, or of which some have no ``.trew``. Of ``.umb``: for
        models that are no continuous-time Markov chain, such as MDPs, games and intervals of probabilities.

    Notes
    -----
    A rate in ``.umb`` is the float64 next to the product of an exit rate and a probability, which may be
    rationals. A ``.tra`` file that does not name its kind of model is taken for that of a CTMC: its numbers are rates,
    with a warning where those from each state sum to one.
    Rewards of transitions in ``.trew``, for leaving a state, or on a branch of ``.umb``, count at the rate of the
    transition; rewards in ``.trew`` do not count in ``R=? [ I=t ]``, as in PRISM. Variables other than integers below
    2^62 and truth values are omitted, and states are then numbers. The label ``init`` has the initial states, which
    newer versions of PRISM may list in ``.tra`` as well.

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
        matrix = _read_matrix_market(path)
        try:
            return ExplicitModel(MarkovChain(matrix), {})
        except ValueError as error:
            raise FileError((path.name, None), str(error)) from None
    if path.suffix == ".umb":
        return ExplicitModel(*read_umb(path))
    if path.suffix != ".tra":
        raise FileError((path.name, None), f"the path must end in {', '.join(SUFFIXES)}{advice_for_ending(path)}")
    structures = _reward_files(path)
    rates, started, of_storm = _read_transitions(path)
    n = rates.total.shape[0]
    loops = rates.total.diagonal()
    off = sp.csr_matrix(rates.total - sp.diags(loops))
    off.eliminate_zeros()
    names, variables = _read_states(path.with_suffix(".sta"), n)
    labels = (_read_storm_labels if of_storm else _read_prism_labels)(path.with_suffix(".lab"), n)
    if started is not None and not np.array_equal(labels.setdefault("init", started), started):
        raise FileError((path.name, None), f"initial states that differ from those of {path.with_suffix('.lab').name}")
    rewards: dict[str, Vector] = {}
    of_states: dict[str, Vector] = {}
    for k, (state_file, transition_file) in enumerate(structures, start=1):
        name = other_name = ""
        values = flows = np.zeros(n)
        if state_file.is_file():
            name, values = _read_state_rewards(state_file, n, counted=not of_storm)
        if transition_file.is_file():
            other_name, flows = _read_transition_rewards(transition_file, rates, counted=not of_storm)
        elif not values.any():
            reason = f"lists no reward: those of transitions would be in {transition_file.name}, which is missing"
            raise FileError((state_file.name, None), reason)
        if name and other_name and name != other_name:
            raise FileError(
                (transition_file.name, None), f"rewards {other_name!r}: must be {name!r} as in {state_file.name}"
            )
        name = name or other_name or ("reward" if len(structures) == 1 else f"reward{k}")
        if name in rewards:
            raise FileError((state_file.name, None), f"rewards {name!r}: another file has that name")
        rewards[name], of_states[name] = values + flows, values
    space = Space.of_single(range(n) if names is None else names)
    initial = labels.get("init", np.zeros(n, dtype=bool))
    listed = ListedStates(
        name=path.name,
        space=space,
        codes=np.arange(n)[None],
        Q=with_diagonal(off),
        label_arrays=labels,
        reward_arrays=rewards,
        is_initial=initial,
        loops=loops,
        variables=variables,
        state_rewards=of_states,
        default_start=True,
    )
    return ExplicitModel(listed.chain, labels, next(iter(rewards.values()), None))


def _split_lines(text: str) -> list[tuple[int, list[str]]]:
    """Return (line number, words) of each line with words, except comments, which begin with ``#``."""
    numbered = enumerate(text.split("\n"), start=1)
    return [(k, line.split()) for k, line in numbered if line.strip() and line[0] != "#"]


def _parse_state(word: str, n: int, location: tuple[str, int]) -> int:
    """Return the state that a word denotes; FileError unless it is an integer from 0 to n - 1."""
    if not NATURAL.fullmatch(word) or int(word) >= n:
        raise FileError(location, f"{word[:20]!r}: must be a state, 0 to {n - 1}")
    return int(word)


def _parse_number(word: str, location: tuple[str, int]) -> float:
    """Return the decimal number that a word denotes, as a float; FileError if it is not finite."""
    if decimal(word) is None:
        raise FileError(location, f"{word[:20]!r}: must be a finite number")
    return float(word)


def _parse_ratio(word: str, location: tuple[str, int]) -> float:
    """Return the decimal number or ratio of integers that a word denotes, as a float."""
    if RATIO.fullmatch(word) and int(word.partition("/")[2]):
        return float(Fraction(word))
    return _parse_number(word, location)


def _reward_files(path: Path) -> list[tuple[Path, Path]]:
    """Return (``.srew`` path, ``.trew`` path) of each reward structure beside a file; one of them may not exist.

    Raises
    ------
    FileError
        For files that are not numbered 1, 2, .. without a gap, or stand beside one without a number, and where only
        some structures have rewards of transitions: read without a missing file, rewards would be too small.
    """
    suffixes = ".srew", ".trew"
    numbered: set[str] = set()
    for file in path.parent.glob(f"{glob.escape(path.stem)}*"):
        digits = file.stem.removeprefix(path.stem)
        # rewards beside a .tra file of the same name belong to that file
        if file.suffix in suffixes and digits.isdecimal() and not file.with_suffix(".tra").is_file():
            numbered.add(digits)
    if any(path.with_suffix(suffix).is_file() for suffix in suffixes):
        stems, expected = [path.stem], set[str]()
    else:
        expected = {str(k) for k in range(1, len(numbered) + 1)}
        stems = [f"{path.stem}{k}" for k in range(1, len(numbered) + 1)]
    if superfluous := sorted(numbered - expected):
        missing = min(expected - numbered, key=int, default="")
        file = next(f for suffix in suffixes if (f := path.with_name(f"{path.stem}{superfluous[0]}{suffix}")).is_file())
        reason = (
            f"{path.stem}{missing}.srew is missing"
            if missing
            else f"rewards stand in {path.stem}.srew or .trew as well"
        )
        raise FileError((file.name, None), f"{reason}: must be one file, or files numbered from 1 without a gap")
    structures = [(path.with_name(f"{stem}.srew"), path.with_name(f"{stem}.trew")) for stem in stems]
    if any(of_transitions.is_file() for _, of_transitions in structures):
        for _, of_transitions in structures:
            if not of_transitions.is_file():
                raise FileError((of_transitions.name, None), "is missing, and other rewards of transitions are there")
    return structures


def _read_counts(path: Path, lines: list[tuple[int, list[str]]], unit: str) -> tuple[int, int]:
    """Return (states, entries) from the first line of a file; FileError unless as many lines follow as it announces."""
    words = lines[0][1] if lines else []
    if len(words) != 2 or not all(map(NATURAL.fullmatch, words)):
        mrmc = "; files of MRMC, which number states from 1, are not read" if words[:1] == ["STATES"] else ""
        message = f"{' '.join(words)[:20]!r}: numbers of states and of {unit} are expected{mrmc}"
        raise FileError((path.name, lines[0][0] if lines else 1), message)
    n, count = map(int, words)
    if n < 1 or count != len(lines) - 1:
        message = f"{count_of(n, 'state')} and {count} {unit} are announced, {len(lines) - 1} are there"
        raise FileError((path.name, lines[0][0]), message)
    return n, count


class _Rates(NamedTuple):
    """Total rate, and number of transitions, from each state to each state, loops included; shape (n, n)."""

    total: sp.csr_matrix
    transitions: sp.csr_matrix


def _read_transitions(path: Path) -> tuple[_Rates, NDArray[np.bool_] | None, bool]:
    """Return the rates of a ``.tra`` file, its initial states (None if not listed), and whether Storm wrote it."""
    text = read_text(path)
    lines = _split_lines(text)
    first = lines[0][1] if lines else []
    of_storm = len(first) == 1 and first[0].lower() == "ctmc"
    if len(first) == 1 and first[0].isalpha() and not of_storm:
        message = f"a model of type {first[0]!r} (Storm): must be ctmc"
        raise FileError((path.name, lines[0][0]), message)
    for kind in KIND.finditer(text):
        if kind[1].upper() != "CTMC":
            number = 1 + text.count("\n", 0, kind.start())
            raise FileError((path.name, number), f"transitions of a model of type {kind[1]}: must be CTMC")
    if any(":" in word for _, words in lines[1:2] for word in words[1:]):
        message = "rows of PRISM (-exportrows) are not read: export a line for each transition"
        raise FileError((path.name, lines[1][0]), message)
    initial_lines = [] if of_storm else list(itertools.takewhile(lambda line: line[1][0] == "-", lines[1:]))
    del lines[1 : 1 + len(initial_lines)]
    count = len(lines) - 1
    n = 10**18 if of_storm else _read_counts(path, lines, "transitions")[0]
    started = np.zeros(n, dtype=bool) if initial_lines else None
    for number, words in initial_lines:
        if len(words) != 3 or words[2] != "-":
            raise FileError((path.name, number), "a line of an initial state is - STATE -")
        started[_parse_state(words[1], n, (path.name, number))] = True  # type: ignore[index]
    check_room(f"{path.name}: {n} states", BYTES_PER_TRANSITION * (count if of_storm else n + count))
    rows, columns = np.empty((2, count), dtype=np.int64)
    rates = np.empty(count)
    for k, (number, words) in enumerate(lines[1:]):
        location = path.name, number
        if len(words) not in (3, 4):
            raise FileError(location, "a line is FROM TO RATE, and an action after it")
        if len(words) == 4 and not words[3].isidentifier():
            raise FileError(location, f"{words[3][:20]!r} after the rate: must be the name of an action")
        rows[k], columns[k] = _parse_state(words[0], n, location), _parse_state(words[1], n, location)
        rates[k] = _parse_ratio(words[2], location)
        if rates[k] < 0.0:
            raise FileError(location, f"rate {rates[k]:g}: must be >= 0")
    if of_storm:
        n = 1 + int(max(rows.max(initial=0), columns.max(initial=0)))
        check_room(f"{path.name}: {n} states", BYTES_PER_TRANSITION * (n + count))
    total, transitions = (sp.csr_matrix((x, (rows, columns)), shape=(n, n)) for x in (rates, np.ones(count)))
    if not of_storm and not KIND.search(text) and _are_like_probabilities(total, transitions):
        remedy = "if they are, make '# Transitions (CTMC)' the first line; a chain in discrete time is a DiscreteChain"
        warnings.warn(f"{path.name}: {LIKE_PROBABILITIES}: {remedy}", stacklevel=4)
    return _Rates(total, transitions), started, of_storm


def _are_like_probabilities(total: sp.csr_matrix, transitions: sp.csr_matrix) -> bool:
    """Return whether all rows with transitions sum to one, some by several transitions, so that they may be steps."""
    if total.data.min(initial=0.0) < 0.0:
        return False
    sums, counts = (np.asarray(matrix.sum(axis=1)).ravel() for matrix in (total, transitions))
    return bool((counts > 1).any() and (np.abs(sums[counts > 0] - 1.0) <= PROBABILITY_TOLERANCE).all())


def _read_states(path: Path, n: int) -> tuple[list[str] | None, dict[str, NDArray[Any]]]:
    """Return the states' names in a ``.sta`` file (None without it), and the listed variables' values, by name."""
    if not path.is_file():
        return None, {}
    names: list[str | None] = [None] * n
    state_by_name: dict[str, int] = {}
    is_warned = False
    lines = _split_lines(read_text(path))
    for number, words in lines[1:]:
        word, colon, name = " ".join(words).partition(":")
        location = path.name, number
        if not colon:
            raise FileError(location, "a line is STATE:(VALUES)")
        if name.startswith("(") and (skipped := name.partition(")")[2].strip()):
            name = name[: name.index(")") + 1]
            if not is_warned:
                message = f"{skipped[:40]!r} after the values of a state is skipped, and such texts of other lines"
                warnings.warn(f"{path.name}, line {number}: {message}", stacklevel=4)
            is_warned = True
        state = _parse_state(word, n, location)
        if names[state] is not None or state_by_name.setdefault(name, state) != state:
            raise FileError(location, f"state {state} or its values have a line before")
        names[state] = name
    if None in names:
        raise FileError((path.name, None), f"state {names.index(None)} has no line")
    rows = [str(name) for name in names]
    titles = _split_values("".join(lines[0][1])) if lines else []
    values = [_split_values(name) for name in rows]
    if any(len(row) != len(titles) for row in values):
        k = next(k for k, row in enumerate(values) if len(row) != len(titles))
        raise FileError((path.name, None), f"state {k} has {count_of(len(values[k]), 'value')}, must be {len(titles)}")
    if wrong := [title for title in titles if not title.isidentifier()]:
        raise FileError((path.name, lines[0][0]), f"{wrong[0][:40]!r}: must be the name of a variable, such as (n,up)")
    if len(set(titles)) < len(titles):
        raise FileError((path.name, lines[0][0]), "a variable is named twice")
    columns = {title: _parse_column(column) for title, column in zip(titles, zip(*values, strict=True), strict=False)}
    return rows, {title: column for title, column in columns.items() if column is not None}


def _split_values(text: str) -> list[str]:
    """Return the words of a text such as ``(1,true)``, without parentheses and commas."""
    return [word.strip() for word in text.strip().removeprefix("(").removesuffix(")").split(",")]


def _parse_column(words: Sequence[str]) -> NDArray[Any] | None:
    """Return an array of integers below 2^62 or of truth values from words; None if the words are others."""
    if set(words) <= {"true", "false"}:
        return np.array([word == "true" for word in words])
    if all(NATURAL.fullmatch(word.removeprefix("-")) and abs(int(word)) < 2**62 for word in words):
        return np.array([int(word) for word in words])
    return None


def _read_prism_labels(path: Path, n: int) -> dict[str, NDArray[np.bool_]]:
    """Return the labels of a ``.lab`` file of PRISM: whether each state has them, shape (n,), by name."""
    if not path.is_file():
        return {}
    lines = _split_lines(read_text(path))
    location = path.name, lines[0][0] if lines else 1
    by_number: dict[str, str] = {}
    remaining = " ".join(lines[0][1]) if lines else ""
    while remaining:
        number, _, after = remaining.partition('="')
        name, quote, remaining = after.partition('"')
        remaining = remaining.lstrip()
        if not NATURAL.fullmatch(number) or not quote:
            raise FileError(location, 'labels are expected: 0="init" 1="full"')
        if number in by_number or name in by_number.values():
            raise FileError(location, f'{number}="{name[:20]}": the number or the name stands there twice')
        by_number[number] = name
    if not by_number:
        raise FileError(location, 'labels are expected: 0="init" 1="full"')
    return _parse_labels(path, lines[1:], n, by_number)


def _read_storm_labels(path: Path, n: int) -> dict[str, NDArray[np.bool_]]:
    """Return the labels of a ``.lab`` file of Storm: whether each state has them, shape (n,), by name."""
    if not path.is_file():
        return {}
    lines = [(k, line.split()) for k, line in enumerate(read_text(path).split("\n"), 1) if line.split()]
    heads = [k for k, (_, words) in enumerate(lines) if words == ["#END"]]
    if not lines or lines[0][1] != ["#DECLARATION"] or len(heads) != 1:
        message = "labels between #DECLARATION and #END are expected (Storm), as the transitions are Storm's"
        raise FileError((path.name, 1), message)
    names = [name for _, words in lines[1 : heads[0]] for name in words]
    if len(set(names)) < len(names):
        raise FileError((path.name, 2), "a label is declared twice")
    return _parse_labels(path, lines[heads[0] + 1 :], n, {name: name for name in names})


def _parse_labels(
    path: Path, lines: list[tuple[int, list[str]]], n: int, names: Mapping[str, str]
) -> dict[str, NDArray[np.bool_]]:
    """Return the labels, shape (n,) each, by name, from lines of a state and the numbers or names of its labels."""
    labels = {name: np.zeros(n, dtype=bool) for name in names.values()}
    visited = np.zeros(n, dtype=bool)
    for number, words in lines:
        location = path.name, number
        state = _parse_state(words[0].removesuffix(":"), n, location)
        if visited[state]:
            raise FileError(location, f"state {state} has a line before")
        visited[state] = True
        for word in words[1:]:
            if word not in names:
                raise FileError(location, f"{word[:20]!r}: no label has this number or name")
            labels[names[word]][state] = True
    return labels


def _read_state_rewards(path: Path, n: int, *, counted: bool) -> tuple[str, Vector]:
    """Return the name of the rewards in a ``.srew`` file, and the reward rate of each state, shape (n,)."""
    name, lines = _read_reward_lines(path, n, counted)
    values, visited = np.zeros(n), np.zeros(n, dtype=bool)
    for number, words in lines:
        location = path.name, number
        if len(words) != 2:
            raise FileError(location, "a line is STATE REWARD")
        state = _parse_state(words[0], n, location)
        if visited[state]:
            raise FileError(location, f"state {state} has a reward before")
        visited[state], values[state] = True, _parse_ratio(words[1], location)
    return name, values


def _read_transition_rewards(path: Path, rates: _Rates, *, counted: bool) -> tuple[str, Vector]:
    """Return the name of the rewards in a ``.trew`` file, and their sum per second in each state, shape (n,)."""
    n = rates.total.shape[0]
    name, lines = _read_reward_lines(path, n, counted)
    values, visited = np.zeros(n), set[tuple[int, int]]()
    for number, words in lines:
        location = path.name, number
        if len(words) != 3:
            raise FileError(location, "a line is FROM TO REWARD")
        pair = _parse_state(words[0], n, location), _parse_state(words[1], n, location)
        if pair in visited:
            raise FileError(location, f"the transition from {pair[0]} to {pair[1]} has a reward before")
        count = int(rates.transitions[pair])
        if count != 1:
            reason = "its reward may be of one of them: export .umb" if count else "no reward can be of it"
            raise FileError(location, f"{count_of(count, 'transition')} from {pair[0]} to {pair[1]}: {reason}")
        visited.add(pair)
        values[pair[0]] += float(rates.total[pair]) * _parse_ratio(words[2], location)
    return name, values


def _read_reward_lines(path: Path, n: int, counted: bool) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return the name of the rewards in a file, empty if it has none, and the lines that list them."""
    text = read_text(path)
    name = REWARD_NAME.search(text)
    lines = _split_lines(text)
    if counted:
        states, _ = _read_counts(path, lines, "rewards")
        if states != n:
            raise FileError((path.name, lines[0][0]), f"{count_of(states, 'state')}: the transitions have {n}")
        lines = lines[1:]
    return name[1] if name else "", lines


def _read_matrix_market(path: Path) -> sp.csr_matrix:
    """Return the generator in a Matrix Market file; rates without a diagonal get one.

    Of the format (R. F. Boisvert, R. Pozo, K. A. Remington, NISTIR 5935, 1996) are read: coordinates and arrays, real
    and integer, general, symmetric and skew-symmetric.
    """
    head, _, text = read_text(path).partition("\n")
    words = head.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        message = "no Matrix Market file: %%MatrixMarket matrix coordinate real general is expected"
        raise FileError((path.name, 1), message)
    form, field, symmetry = words[2:]
    allowed = {
        form: ("coordinate", "array"),
        field: ("real", "integer"),
        symmetry: ("general", "symmetric", "skew-symmetric"),
    }
    for word, choices in allowed.items():
        if word not in choices:
            raise FileError((path.name, 1), f"Matrix Market, {word[:20]!r}: must be {' or '.join(choices)}")
    numbered = enumerate(text.split("\n"), start=2)
    lines = [(k, line.split()) for k, line in numbered if line.strip() and not line.startswith("%")]
    location = path.name, lines[0][0] if lines else 1
    sizes = lines[0][1] if lines else []
    if len(sizes) != (3 if form == "coordinate" else 2) or not all(map(NATURAL.fullmatch, sizes)):
        raise FileError(location, "Matrix Market: the line of sizes is missing, or is none")
    n, width = int(sizes[0]), int(sizes[1])
    if n != width or n < 1:
        raise FileError(location, f"shape ({n}, {width}): must be square")
    first = {"general": 0, "symmetric": 0, "skew-symmetric": 1}[symmetry]
    if form == "coordinate":
        count = int(sizes[2])
    elif symmetry == "general":
        count = n * n
    else:
        count = n * (n + 1 - 2 * first) // 2
    if count != len(lines) - 1:
        raise FileError(location, f"{count} entries are announced, {len(lines) - 1} are there")
    check_room(f"{path.name}: {n} states", BYTES_PER_TRANSITION * (n + count))
    rows, columns = np.empty((2, count), dtype=np.int64)
    values = np.empty(count)
    row, column = (first, 0)
    for k, (number, entry) in enumerate(lines[1:]):
        location = path.name, number
        if len(entry) != (3 if form == "coordinate" else 1):
            raise FileError(location, "a line is ROW COLUMN VALUE, or one VALUE of an array")
        if form == "coordinate":
            row, column = (_parse_state(word, n + 1, location) - 1 for word in entry[:2])
            if row < 0 or column < 0 or (symmetry != "general" and column > row - first):
                below = "" if symmetry == "general" else f" and below its diagonal, as it is {symmetry}"
                message = f"must be within the matrix, rows and columns 1 to {n}{below}"
                raise FileError(location, f"entry ({row + 1}, {column + 1}): {message}")
        rows[k], columns[k], values[k] = row, column, _parse_number(entry[-1], location)
        if form == "array":
            row += 1
            if row == n:
                column += 1
                row = 0 if symmetry == "general" else column + first
    if symmetry != "general":
        off = rows != columns
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        rows, columns = np.append(rows, columns[off]), np.append(columns, rows[off])
        values = np.append(values, sign * values[off])
    matrix = sp.csr_matrix((values, (rows, columns)), shape=(n, n))
    if matrix.nnz < len(values):
        raise FileError((path.name, None), "Matrix Market: an entry stands there twice")
    if matrix.diagonal().any():
        return matrix
    if _are_like_probabilities(matrix, matrix.sign()):
        remedy = "a generator with its diagonal says so; a chain in discrete time is a DiscreteChain"
        warnings.warn(f"{path.name}: {LIKE_PROBABILITIES}: {remedy}", stacklevel=4)
    matrix.eliminate_zeros()
    return with_diagonal(matrix)


@validate_parameters
def write_explicit(model: Any, path: str | Path, *, exact: bool = param(False)) -> None:
    """Write a chain as ``.tra``, with ``.lab`` where the model has a start or labels; as ``.umb`` or as ``.mtx``.

    Parameters
    ----------
    model
        As for `stationary`.
    path
        Where to; its ending says the format. Rates in ``.tra`` and ``.mtx`` are read back exactly. The label ``init``
        in ``.lab`` has the initial states. ``.umb`` has labels, rewards and values of variables too.
    exact
        Of ``.umb``: rationals, with which rates are read back exactly. Otherwise exit rates and
        probabilities are float64, and the rates that they make differ by some rounding.

    Raises
    ------
    ValueError
        For another ending; for a ``.sta``, ``.lab``, ``.srew`` or ``.trew`` file beside ``.tra``, which would be read
        with it; for a model whose label ``init`` is not of its initial states.

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
    if exact and path.suffix != ".umb":
        raise ValueError(f"exact = True: goes with .umb, rates in {path.suffix} are exact")
    if path.suffix == ".umb":
        _labels_to_write(chain)
        write_umb(chain, path, exact=exact)
        return
    if path.suffix == ".mtx":
        from scipy.io import mmwrite

        with replacing(path) as scratch:
            content = io.BytesIO()  # SciPy does not report a failed write to a file
            mmwrite(content, chain.Q, precision=17)
            scratch.write_bytes(content.getvalue())
        return
    rates = sp.coo_matrix(off_diagonal(chain.Q))
    lines = [f"{chain.size} {rates.nnz}"]
    triples = zip(rates.row.tolist(), rates.col.tolist(), rates.data.tolist(), strict=True)
    lines += [f"{x} {y} {rate!r}" for x, y, rate in triples]
    files = {path: lines}
    labels = _labels_to_write(chain)
    _refuse_companions(path, writes_labels=bool(labels))
    if labels:
        names = list(labels)
        files[path.with_suffix(".lab")] = lines = [" ".join(f'{k}="{name}"' for k, name in enumerate(names))]
        for x in range(chain.size):
            held = [str(k) for k, name in enumerate(names) if labels[name][x]]
            if held:
                lines.append(f"{x}: {' '.join(held)}")
    with contextlib.ExitStack() as stack:  # both files are complete before the first is renamed
        for file, text in files.items():
            scratch = stack.enter_context(replacing(file))
            scratch.write_text("\n".join(text) + "\n", encoding="utf-8")


def _labels_to_write(chain: MarkovChain) -> dict[str, NDArray[np.bool_]]:
    """Return the labels of a file by name: ``init``, where the chain has a start, and those of the model.

    ValueError for a model whose own label ``init`` has another meaning.
    """
    measures = {} if chain.model is None else functionals(chain.model, chain.table)
    means = {name: m.of for name, m in measures.items() if m.over is None and m.of.ndim == 1}
    labels = {name: of != 0.0 for name, of in means.items() if np.isin(of, (0.0, 1.0)).all()}
    if chain.model is not None and starts_at_random(chain.model):
        message = "starts in several states with probabilities, which a file cannot say: it has no initial state"
        remark = f"{message}, and a .tra file without one is read as a chain that begins in state 0"
        warnings.warn(f"{chain.model.name} {remark}", stacklevel=4)
    initial = initial_states_of(chain)
    if not np.array_equal(labels.pop("init", initial), initial):
        raise ValueError(
            "model: its label 'init' is not of its initial states, whose label that is in files: rename it"
        )
    return {"init": initial} | labels if initial.any() else labels


def _refuse_companions(path: Path, *, writes_labels: bool) -> None:
    """Raise ValueError for files beside a ``.tra`` file that would be read as of its chain, and are of another one."""
    companions = [path.with_suffix(".sta"), *([] if writes_labels else [path.with_suffix(".lab")])]
    companions += [file for files in _reward_files(path) for file in files]
    for file in companions:
        if file.is_file():
            reason = f"{file.name} lies beside it, and would be read with it"
            raise ValueError(f"path = {str(path)!r}: {reason}: remove it, or choose another name")


def to_networkx(model: Any) -> nx.DiGraph[int]:
    """Return the transitions as a directed graph of NetworkX, with ``rate`` of edges and states' numbers as nodes.

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


@validate_parameters
def from_networkx(graph: Any, *, rate: str = param("rate")) -> MarkovChain:
    """Return the `MarkovChain` of a directed graph, whose nodes become the names of the states.

    Parameters
    ----------
    graph
        A ``networkx.DiGraph`` or ``MultiDiGraph``; edges between the same nodes add up. An edge from a node to itself
        changes nothing. Its rate is >= 0, or the negative sum of the node's other rates, as on the diagonal of a
        generator.
    rate
        The attribute of edges that is the rate in 1/s, a finite number >= 0.

    Raises
    ------
    ValueError
        When the graph is not directed, or an edge has no such attribute or a bad rate; the message names the edge.

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
    if not graph.is_directed():
        raise ValueError("graph: must be directed")
    nodes = list(graph)
    index = {node: k for k, node in enumerate(nodes)}
    matrix = np.zeros((3, graph.number_of_edges()))
    for k, (x, y, value) in enumerate(graph.edges(data=rate)):
        if value is None:
            raise ValueError(f"graph: the edge {x!r} to {y!r} has no rate {rate!r}")
        minimum = 0.0 if x != y else None
        number = one_number(f"graph: the edge {x!r} to {y!r}: {rate}", value, at_least=minimum)
        matrix[:, k] = index[x], index[y], number
    rows, columns = matrix[0].astype(np.int64), matrix[1].astype(np.int64)
    off, n = rows != columns, len(nodes)
    rates = sp.csr_matrix((matrix[2, off], (rows[off], columns[off])), shape=(n, n))
    exits = np.asarray(rates.sum(axis=1)).ravel()
    for node, value in zip(rows[~off], matrix[2, ~off], strict=True):
        if value < 0.0 and not abs(value + exits[node]) <= ROW_SUM_TOLERANCE * exits[node]:
            where = f"graph: the edge {nodes[node]!r} to itself: {rate} = {value:g}"
            raise ValueError(f"{where}: must be >= 0, or {-exits[node]:g} as on the diagonal of a generator")
    total, edges = (sp.csr_matrix((x, (rows, columns)), shape=(n, n)) for x in (matrix[2], np.ones(len(rows))))
    if _are_like_probabilities(total, edges):
        remedy = "if they are, edges of rate -1 from nodes to themselves say so; a chain in steps is a DiscreteChain"
        warn_caller(UserWarning(f"graph: {LIKE_PROBABILITIES}: {remedy}"), "markov")
    return MarkovChain(sp.csr_matrix(rates - sp.diags(exits)), states=nodes)
