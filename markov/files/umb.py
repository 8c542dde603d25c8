"""Chains as files in the unified Markov binary format (UMB), which PRISM, Storm and Modest read and write.

A file is a tar archive: ``index.json`` describes the contents, and binary files have the transitions, labels, rewards
and values of variables. States have choices, which have branches; a Markov chain has one choice in each state.
Specification: https://github.com/pmc-tools/umb, format version 1.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import math
import re
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

import hopflow
from hopflow.checks import count_of
from hopflow.whole_files import replacing
from markov.chains import MarkovChain
from markov.computing.matrices import off_diagonal, rank_of, with_diagonal
from markov.computing.resources import check_room
from markov.files.chains import FileChain, ListedStates, reward_of_measure
from markov.files.language import FileError
from markov.files.rules import field_names
from markov.models.bare import named_state
from markov.models.functions import evaluate_mapping
from markov.models.measures import functionals
from markov.models.spaces import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.models.rules import ChainModel

    Vector = NDArray[np.float64]

__all__ = ["CHAIN", "MAX_VALUE_BITS", "initial_states_of", "read_umb", "starts_at_random", "write_umb"]

# --------------------------------------------------------------------------------------------- reading


BYTES_PER_BRANCH = 100.0
VERSIONS = (0, 1)  # umbi 0.2.5 writes 0.1
MAX_INDEX_BYTES = 1 << 26  # bytes of index.json
MAX_BYTES_BEFORE_INDEX = 1 << 30  # bytes of members before the index
MAX_VALUE_BYTES = 1 << 10  # bytes of one value of a state
REQUIRED = (
    "state-is-initial.bin",
    "state-to-choices.bin",
    "choice-to-branches.bin",
    "branch-to-target.bin",
    "state-to-exit-rate.bin",
    "branch-to-probability.bin",
)
REQUIRED_FOLDERS = ("annotations/aps/", "annotations/rewards/", "valuations/states/")
SKIPPED = (
    "annotations/",
    "valuations/",
    "actions/",
    "choice-actions/",
    "branch-actions/",
    "observations/",
    "players/",
    "state-to-",
    "state-is-",
    "choice-to-",
    "branch-to-",
)
"""Prefixes of the names of members that a Markov chain does not need: they are not read."""
MAX_VALUE_BITS = 62
SUM_TOLERANCE = 1e-9  # of the sum of the probabilities out of a state: tools round them
CHAIN = {"time": "stochastic", "#players": 0, "#observations": 0}
"""Entries of the index for a continuous-time Markov chain."""
OTHER_MODELS = {
    "#players": "is a model with {0} players, who make choices: must be a Markov chain, without players",
    "#observations": "is a model with {0} observations: must be a Markov chain, without them",
    "time": "is a model in {0} time: must be a continuous-time Markov chain, time 'stochastic'",
}
UNREADABLE = (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError)


@dataclass
class Archive:
    """The members of a UMB archive in memory, with its index, and methods that decode and check them."""

    path: Path
    files: dict[str, bytes]
    index: dict[str, Any]

    def error(self, reason: str) -> FileError:
        """Return a FileError of this file."""
        return FileError((self.path.name, None), reason)

    def section(self, *keys: str) -> dict[str, Any]:
        """Return the object at nested keys of the index, empty if it is missing; FileError for another type."""
        section = self.index
        for key in keys:
            inner: Any = section.get(key, {})
            if not isinstance(inner, dict):
                raise self.error(f"index.json: {'.'.join(keys)} must be an object")
            section = inner
        return section

    def count(self, key: str) -> int:
        """Return an integer of the index's ``transition-system``; FileError unless it is >= 0 and < 2^62."""
        value = self.section("transition-system").get(key)
        if type(value) is not int or not 0 <= value < 2**62:
            raise self.error(f"index.json: {key} = {value!r}: must be a whole number, 0 to 2^62")
        return value

    def integers(self, name: str, count: int) -> NDArray[np.int64] | None:
        """Return the unsigned integers in a member, shape (count,); None without the member."""
        if name not in self.files:
            return None
        values = self._array(name, "<u8", count)
        if len(values) and values.max() >= 2**62:
            raise self.error(f"{name}: {values.max()} is out of range")
        return values.astype(np.int64)

    def ranges(self, name: str, count: int, targets: int) -> NDArray[np.int64]:
        """Return the offsets of the targets of ``count`` sources, shape (count + 1,); the last is ``targets``."""
        starts = self.integers(name, count + 1)
        if starts is None:
            starts = np.arange(count + 1)
        if starts[0] != 0 or starts[-1] != targets or (np.diff(starts) < 0).any():
            raise self.error(f"{name}: must ascend from 0 to {targets}")
        return starts

    def truths(self, name: str, count: int) -> NDArray[np.bool_]:
        """Return the truth values in a member, shape (count,), stored as bits; all False without the member."""
        if name not in self.files:
            return np.zeros(count, dtype=bool)
        data = self._array(name, np.dtype(np.uint8), -(-count // 64) * 8)
        return np.unpackbits(data, bitorder="little")[:count].astype(bool)

    def numbers(self, name: str, kind: Any, count: int) -> list[Fraction] | Vector:
        """Return the finite numbers in a member: an array of doubles, or a list of fractions for rationals."""
        kind = kind if isinstance(kind, dict) else {}
        named, size = kind.get("type"), kind.get("size")
        if named not in ("double", "rational"):
            raise self.error(f"{name}: has type {named!r}: must be 'double' or 'rational'")
        if name not in self.files:
            raise self.error(f"{name} is missing")
        if named == "double":
            values = self._array(name, "<f8", count).astype(np.float64)
            if not np.isfinite(values).all():
                raise self.error(f"{name}: must have finite numbers")
            return values
        size = 128 if size is None else size
        if type(size) is not int or size < 128 or size % 128:
            raise self.error(f"{name}: rationals of {size!r} bits: must be a multiple of 128")
        half = size // 16
        rows = self._array(name, np.dtype((np.void, 2 * half)), count).tolist()
        pairs = [(int.from_bytes(r[:half], "little", signed=True), int.from_bytes(r[half:], "little")) for r in rows]
        if any(bottom == 0 for _, bottom in pairs):
            raise self.error(f"{name}: a denominator is zero")
        return [Fraction(top, bottom) for top, bottom in pairs]

    def _array(self, name: str, dtype: Any, count: int) -> NDArray[Any]:
        """Return a member's bytes as an array of ``count`` entries; FileError for another length."""
        data, expected = self.files[name], np.dtype(dtype).itemsize * count
        if len(data) != expected:
            raise self.error(f"{name}: has {len(data)} bytes: must have {expected}")
        return np.frombuffer(data, dtype=dtype)


def read_umb(path: Path) -> tuple[MarkovChain, dict[str, NDArray[np.bool_]], Vector | None]:
    """Return (chain, labels, first reward structure or None) of a UMB file; FileError for other models."""
    archive = _open_archive(path)
    for key, message in OTHER_MODELS.items():
        value = archive.section("transition-system").get(key)
        if value != CHAIN[key] or isinstance(value, bool):
            raise archive.error(message.format(value))
    n, branches = archive.count("#states"), archive.count("#branches")
    if n < 1 or archive.count("#choices") > n:
        raise archive.error(f"has {archive.count('#choices')} choices in {n} states")
    check_room(f"{path.name}: {n} states", BYTES_PER_BRANCH * (n + branches))
    starts, targets = _read_branches(archive, n, branches)
    sources = np.repeat(np.arange(n), np.diff(starts))
    exits, probabilities, rates = _read_rates(archive, sources, n, branches)
    labels, rewards = _read_annotations(archive, sources, exits, probabilities)
    space, codes = _read_states(archive, n)
    order = np.lexsort(codes[::-1])
    rank = rank_of(order)
    off = (sources != targets) & (rates > 0.0)
    targets_of_rates = rank[sources[off]], rank[targets[off]]
    matrix = sp.csr_matrix((rates[off], targets_of_rates), shape=(n, n))
    matrix.sum_duplicates()
    labels = {name: of[order] for name, of in labels.items()}
    rewards = {name: of[order] for name, of in rewards.items()}
    initial = archive.truths("state-is-initial.bin", n)[order]
    announced = archive.section("transition-system").get("#initial-states", int(initial.sum()))
    if type(announced) is not int or announced != initial.sum():
        marked = count_of(int(initial.sum()), "state")
        raise archive.error(f"state-is-initial.bin: marks {marked}, and #initial-states = {announced!r}")
    if not np.array_equal(labels.get("init", initial), initial):
        raise archive.error("annotations/aps: the label 'init' is of other states than state-is-initial.bin")
    is_loop = sources == targets
    loops = np.bincount(sources[is_loop], rates[is_loop], n)[order].astype(np.float64)
    listed = ListedStates(
        name=path.name,
        space=space,
        codes=codes[:, order],
        Q=with_diagonal(matrix),
        label_arrays=labels,
        reward_arrays=rewards,
        is_initial=initial,
        loops=loops,
        variables={},
        state_rewards=rewards,
        default_start=False,
    )
    first = next(iter(rewards.values()), None)
    return listed.chain, {"init": initial} | labels, first


def _open_archive(path: Path) -> Archive:
    """Return the archive with the members that a chain needs; FileError for other files.

    The index is read first: it limits the sizes of the other members. Unneeded members are skipped.
    """
    archive = Archive(path, {}, {})
    try:
        before = 0
        with tarfile.open(path, "r:*") as tar:
            for member in tar:
                before += member.size
                if before > MAX_BYTES_BEFORE_INDEX:
                    raise archive.error(f"{member.name[:80]!r}: too much before index.json")
                if _member_name(archive, member) == "index.json":
                    if member.size > MAX_INDEX_BYTES:
                        raise archive.error(f"index.json: larger than {MAX_INDEX_BYTES} bytes")
                    text = _read_member(tar, member)
                    try:
                        index = json.loads(text)
                    except (ValueError, RecursionError) as error:
                        raise archive.error(f"index.json: {error}") from None
                    if not isinstance(index, dict) or index.get("format-version") not in VERSIONS:
                        raise archive.error("index.json: must be an object with format-version 0 or 1")
                    archive.index = index
                    break
            else:
                raise archive.error("index.json is missing")
        with tarfile.open(path, "r:*") as tar:
            _read_members(archive, tar)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0].rstrip(": ")  # a line for each method of compression follows
        raise FileError((path.name, None), f"no archive of UMB: {reason}") from None
    return archive


def _read_members(archive: Archive, tar: tarfile.TarFile) -> None:
    """Read the needed members into ``archive.files``; FileError if one is larger than the counts allow."""
    counts = [archive.count(key) for key in ("#states", "#choices", "#branches")]
    kinds = [archive.section("transition-system").get(f"{name}-type") for name in ("exit-rate", "branch-probability")]
    kinds += [
        about.get("type") for about in archive.section("annotations", "rewards").values() if isinstance(about, dict)
    ]
    sizes = [kind.get("size") for kind in kinds if isinstance(kind, dict)]
    width = max([MAX_VALUE_BYTES, *(min(size, 1 << 20) // 8 for size in sizes if type(size) is int)])
    longest = width * (sum(counts) + 2)
    names: set[str] = set()
    total = 0
    for member in tar:
        name = _member_name(archive, member)
        if name is None:
            continue
        if name in names:
            raise archive.error(f"{name!r}: two members have this name")
        names.add(name)
        total += member.size
        needed = name in REQUIRED or name.startswith(REQUIRED_FOLDERS)
        allowed = MAX_INDEX_BYTES if name == "index.json" or not needed else longest
        if member.size > allowed:
            raise archive.error(f"{name!r}: has {member.size} bytes: must have at most {allowed}")
        check_room(f"{archive.path.name}: {total} bytes", total)
        if needed:
            archive.files[name] = _read_member(tar, member)


def _member_name(archive: Archive, member: tarfile.TarInfo) -> str | None:
    """Return the name of a member, None for a folder; FileError for names and kinds outside of the format."""
    name = member.name.removeprefix("./")
    if member.isdir():
        return None
    parts = name.split("/")
    is_format_name = name in REQUIRED or name == "index.json" or name.startswith((*REQUIRED_FOLDERS, *SKIPPED))
    if not member.isreg() or not is_format_name or any(part in ("", ".", "..") for part in parts):
        message = "is no plain member of the format UMB"
        raise archive.error(f"{member.name[:80]!r}: {message}")
    return name


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the bytes of a member."""
    content = tar.extractfile(member)
    assert content is not None
    return content.read()


def _read_branches(archive: Archive, n: int, branches: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of each state's branches, shape (n + 1,), and the branches' target states."""
    choices = archive.count("#choices")
    of_states = archive.ranges("state-to-choices.bin", n, choices)
    if (np.diff(of_states) > 1).any():
        raise archive.error("has states with several choices: must be a Markov chain")
    of_choices = archive.ranges("choice-to-branches.bin", choices, branches)
    targets = archive.integers("branch-to-target.bin", branches)
    if targets is None:
        targets = np.arange(branches)
    if len(targets) and targets.max() >= n:
        raise archive.error(f"branch-to-target.bin: {targets.max()}: must be below {n}")
    return of_choices[of_states], targets


def _read_rates(archive: Archive, sources: NDArray[np.int64], n: int, branches: int) -> tuple[Vector, Vector, Vector]:
    """Return exit rates of states, probabilities of branches, and rates of branches, each rounded once."""
    system = archive.section("transition-system")
    exits = archive.numbers("state-to-exit-rate.bin", system.get("exit-rate-type"), n)
    name = "branch-to-probability.bin"
    probabilities = archive.numbers(name, system.get("branch-probability-type"), branches)
    both = _as_floats(exits), _as_floats(probabilities)
    if min(v.min(initial=0.0) for v in both) < 0.0:
        raise archive.error("has a negative probability or exit rate")
    sums = np.bincount(sources, both[1], n)
    is_left = np.bincount(sources, minlength=n) > 0
    if (stuck := ~is_left & (both[0] > 0.0)).any():
        s = int(np.argmax(stuck))
        raise archive.error(f"state-to-exit-rate.bin: state {s} has the exit rate {both[0][s]:g}, and no branch")
    wrong = (np.abs(sums - 1.0) > SUM_TOLERANCE) & is_left
    if wrong.any():
        s = int(np.argmax(wrong))
        raise archive.error(f"{name}: those of state {s} sum to {sums[s]}: must sum to 1")
    if isinstance(exits, list) or isinstance(probabilities, list):
        pairs = zip(sources.tolist(), probabilities, strict=True)
        exact = [Fraction(exits[s]) * Fraction(p) for s, p in pairs]
        return *both, _as_floats(exact)
    return *both, exits[sources] * probabilities


def _as_floats(values: Sequence[Fraction] | Vector) -> Vector:
    """Return fractions or floats as an array of float64."""
    return np.array([float(v) for v in values]) if isinstance(values, list) else np.asarray(values)


def _read_annotations(
    archive: Archive, sources: NDArray[np.int64], exits: Vector, probabilities: Vector
) -> tuple[dict[str, NDArray[np.bool_]], dict[str, Vector]]:
    """Return the labels and the reward rates per second of the states, shape (n,) each, by alias or identifier.

    Rewards of choices and branches count at the rate of their transitions.
    """
    n = len(exits)
    labels: dict[str, NDArray[np.bool_]] = {}
    rewards: dict[str, Vector] = {}
    for key, about in archive.section("annotations", "aps").items():
        name = f"annotations/aps/{key}/states/values.bin"
        labels[_new_alias(archive, labels, key, about)] = archive.truths(name, n)
    counts = archive.ranges("state-to-choices.bin", n, archive.count("#choices"))
    for key, about in archive.section("annotations", "rewards").items():
        alias = _new_alias(archive, rewards, key, about)
        about = about if isinstance(about, dict) else {}
        folder, total = f"annotations/rewards/{key}", np.zeros(n)
        for kind, count in (("states", n), ("choices", counts[-1]), ("branches", len(sources))):
            name = f"{folder}/{kind}/values.bin"
            if name not in archive.files:
                continue
            values = _as_floats(archive.numbers(name, about.get("type"), count))
            if kind == "states":
                total += values
            elif kind == "choices":
                total[np.diff(counts) > 0] += values * exits[np.diff(counts) > 0]
            else:
                total += exits * np.bincount(sources, values * probabilities, n)
        rewards[alias] = total
    return labels, rewards


def _new_alias(archive: Archive, names: Mapping[str, Any], key: str, about: Any) -> str:
    """Return the alias of an annotation, or its identifier; FileError if another annotation has that name."""
    alias = str(about.get("alias", key)) if isinstance(about, dict) else key
    if alias in names:
        raise archive.error(f"index.json: annotations: two have the name {alias!r}")
    return alias


def _read_states(archive: Archive, n: int) -> tuple[Space, NDArray[np.int64]]:
    """Return the components of states and their codes, shape (components, n), from the variables' values."""
    numbers = Space.of_single(range(n)), np.arange(n)[None]
    about = archive.section("valuations", "states")
    name, classes = "valuations/states/valuations.bin", about.get("classes")
    if name not in archive.files or not isinstance(classes, list) or len(classes) != 1:
        return numbers
    variables = classes[0].get("variables") if isinstance(classes[0], dict) else None
    read = [] if not isinstance(variables, list) else list(map(_read_variable, variables))
    if not read or None in read or not any(v[0] for v in read if v):
        return numbers
    width = sum(v[2] for v in read if v)
    if width % 8:
        raise archive.error(f"index.json: variables of {width} bits: must be whole bytes")
    data = archive._array(name, np.dtype((np.uint8, width // 8)), n)
    check_room(f"{archive.path.name}: values of variables", 9.0 * n * width)
    bits = np.unpackbits(data, axis=1, bitorder="little")
    fields, codes, offset_of_bits = {}, [], 0
    for title, kind, size, offset in (v for v in read if v):
        part, offset_of_bits = bits[:, offset_of_bits : offset_of_bits + size].astype(np.int64), offset_of_bits + size
        if title is None:
            continue
        code = part @ (1 << np.arange(size, dtype=np.int64))
        if kind == "bool":
            code = (code > 0).astype(np.int64)
        elif kind == "int":
            code -= part[:, -1] << size
        code += offset
        fields[title] = [False, True] if kind == "bool" else range(int(code.min()), int(code.max()) + 1)
        codes.append(code)
    values = np.array(codes)
    if len(fields) < len(codes) or np.unique(values, axis=1).shape[1] < n:
        return numbers
    titles = tuple(field_names(list(fields)))
    space = Space(named_state("State", titles), dict(zip(titles, fields.values(), strict=True)))
    return space, values


def _read_variable(about: Any) -> tuple[str | None, str, int, int] | None:
    """Return (name, type, bits, offset) of a variable's description; None for types that are not read."""
    if not isinstance(about, dict):
        return None
    if type(about.get("padding")) is int and about["padding"] > 0:
        return None, "padding", about["padding"], 0
    kind, offset = about.get("type"), about.get("offset", 0)
    if not isinstance(kind, dict) or about.get("is-optional") or type(offset) is not int:
        return None
    size = kind.get("size", 1 if kind.get("type") == "bool" else 64)
    plain = type(size) is int and 0 < size <= MAX_VALUE_BITS and abs(offset) < 2**MAX_VALUE_BITS
    if kind.get("type") not in ("bool", "int", "uint") or not plain:
        return None
    return str(about.get("name")), kind["type"], size, offset


# --------------------------------------------------------------------------------------------- writing


MAX_KEY_LENGTH = 60  # of a label or reward in names of files; its alias is the full name


def write_umb(chain: MarkovChain, path: Path, *, exact: bool) -> None:
    """Write a chain as UMB: exit rates and probabilities as doubles, or as rationals that give back the rates exactly.

    Absorbing states get a self-loop at rate 1, as in the files of PRISM: each choice has a branch. Other self-loops are
    not written.
    """
    rates = sp.csr_matrix(off_diagonal(chain.Q))
    absorbing = np.diff(rates.indptr) == 0
    rates = sp.csr_matrix(rates + sp.diags(absorbing.astype(np.float64)))
    rates.eliminate_zeros()
    kinds, files = (_rational_files if exact else _float_files)(rates)
    files["choice-to-branches.bin"] = rates.indptr.astype("<u8").tobytes()
    files["branch-to-target.bin"] = rates.indices.astype("<u8").tobytes()
    initial = initial_states_of(chain)
    if initial.any():
        files["state-is-initial.bin"] = _pack_bits(initial)
    annotations = _write_annotations(chain, files)
    index: dict[str, Any] = {
        "format-version": 1,
        "format-revision": 0,
        "file-data": {"tool": "hopflow", "tool-version": hopflow.__version__},
        "transition-system": {
            **CHAIN,
            "#states": chain.size,
            "#initial-states": int(initial.sum()),
            "#choices": chain.size,
            "#choice-actions": 0,
            "#branches": rates.nnz,
            "#branch-actions": 0,
            "exit-rate-type": kinds[0],
            "branch-probability-type": kinds[1],
        },
        "annotations": annotations,
    }
    described = _pack_valuations(chain)
    if described is not None:
        index["valuations"] = {"states": {"unique": True, "classes": [{"variables": described[0]}]}}
        files["valuations/states/valuations.bin"] = described[1]
    _write_archive(path, {"index.json": json.dumps(index, indent=1).encode()} | files)


def initial_states_of(chain: MarkovChain) -> NDArray[np.bool_]:
    """Return whether the chain may start in each state, shape (n,); nowhere if the model has no start.

    Nowhere either where several states have probabilities at time 0, which files cannot say.
    """
    model, initial = chain.model, np.zeros(chain.size, dtype=bool)
    if isinstance(model, FileChain):
        starts = [model.state_of(k) for k in model.source.initial_states.tolist()]
    else:
        starts = [] if model is None or starts_at_random(model) or (start := model.start()) is None else [start]
    initial[[chain.number_of(start) for start in starts]] = True
    return initial


def starts_at_random(model: ChainModel) -> bool:
    """Return whether several states of a model have probabilities at time 0."""
    return len(model.start_probabilities() or ()) > 1


def _write_annotations(chain: MarkovChain, files: dict[str, bytes]) -> dict[str, Any]:
    """Add the model's labels and rewards to ``files``; return their part of the index."""
    index: dict[str, Any] = {}
    model = chain.model
    if model is None:
        return index
    function = model.function_of_state("labels", q := model.symbols())
    labels = evaluate_mapping(function, q, chain.table.part(slice(0, 1)), model.name)
    for name, mean in functionals(model, chain.table).items():
        if mean.over is not None or mean.of.ndim != 1:
            continue
        of, truths = mean.of, name in labels and bool(np.isin(mean.of, (0.0, 1.0)).all())
        group, kind = ("aps", {"type": "bool", "size": 1}) if truths else ("rewards", {"type": "double", "size": 64})
        about = index.setdefault(group, {})
        key = re.sub("[^0-9a-z_-]", "-", name.lower())[:MAX_KEY_LENGTH] or "-"
        while key in about:
            key += "-"
        about[key] = {"alias": reward_of_measure(name), "applies-to": ["states"], "type": kind}
        data = _pack_bits(of != 0.0) if truths else of.astype("<f8").tobytes()
        files[f"annotations/{group}/{key}/states/values.bin"] = data
    return index


def _float_files(rates: sp.csr_matrix) -> tuple[list[Any], dict[str, bytes]]:
    """Return the types and the members of exit rates and probabilities in float64."""
    exits = np.asarray(rates.sum(axis=1)).ravel()
    probabilities = rates.data / np.repeat(exits, np.diff(rates.indptr))
    return [{"type": "double", "size": 64}] * 2, {
        "state-to-exit-rate.bin": exits.astype("<f8").tobytes(),
        "branch-to-probability.bin": probabilities.astype("<f8").tobytes(),
    }


def _rational_files(rates: sp.csr_matrix) -> tuple[list[Any], dict[str, bytes]]:
    """Return the types and the members of exit rates and probabilities as fractions."""
    exits, probabilities = list[Fraction](), list[Fraction]()
    for s in range(rates.shape[0]):
        row = [Fraction(v) for v in rates.data[rates.indptr[s] : rates.indptr[s + 1]].tolist()]
        exits.append(sum(row, Fraction(0)))
        probabilities += [rate / exits[-1] for rate in row]
    (first, exit_bytes), (second, shares) = _pack_rationals(exits), _pack_rationals(probabilities)
    return [{"type": "rational", "size": size} for size in (first, second)], {
        "state-to-exit-rate.bin": exit_bytes,
        "branch-to-probability.bin": shares,
    }


def _pack_rationals(values: list[Fraction]) -> tuple[int, bytes]:
    """Return the bits per fraction, a multiple of 128, and the bytes of numerators and denominators."""
    longest = max((max(v.numerator.bit_length() + 1, v.denominator.bit_length()) for v in values), default=1)
    half = 8 * math.ceil(longest / 64)
    parts = (v.numerator.to_bytes(half, "little", signed=True) + v.denominator.to_bytes(half, "little") for v in values)
    return 16 * half, b"".join(parts)


def _pack_bits(truths: NDArray[np.bool_]) -> bytes:
    """Return truth values as bytes: one bit each, filled up to words of 64 bits."""
    data = np.packbits(truths, bitorder="little").tobytes()
    return data.ljust(-(-len(truths) // 64) * 8, b"\0")


def _pack_valuations(chain: MarkovChain) -> tuple[list[dict[str, Any]], bytes] | None:
    """Return the description of the state's variables, and their values as bytes; None for values of other types."""
    space, codes = chain.space, chain.components
    if space is None or codes is None or list(space.fields) == ["state"]:
        return None
    variables, bits = list[dict[str, Any]](), []
    for component, code in zip(space.components, codes.values(), strict=True):
        component_values, values = component.values, code
        if not isinstance(component_values, range):
            kinds = {type(value) for value in component_values}
            if kinds not in ({bool}, {int}) or max(map(abs, component_values)) >= 2**MAX_VALUE_BITS:
                return None
            values = np.array(component_values, dtype=np.int64)[code]
        truths = type(component_values[0]) is bool
        low, high = int(values.min()), int(values.max())
        kind = "bool" if truths else "int" if low < 0 else "uint"
        size = max(1, high.bit_length(), (~low).bit_length() if low < 0 else 0) + (low < 0)
        if size > MAX_VALUE_BITS:
            return None
        variables.append({"name": component.name, "type": {"type": kind, "size": size}})
        bits.append((values[:, None] >> np.arange(size)) & 1)
    padding = -sum(part.shape[1] for part in bits) % 8
    if padding:
        variables.append({"padding": padding})
    packed = np.packbits(np.hstack(bits).astype(np.uint8), axis=1, bitorder="little")
    return variables, packed.tobytes()


def _write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a compressed tar archive of members by name, with the same bytes for the same members."""
    with (
        replacing(path) as scratch,
        scratch.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
