"""Congestion control from a shared library, written in C or Rust for `hopflow_cc.h`."""

from __future__ import annotations

import ctypes
import hashlib
import math
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import file_path
from hopflow.fork_safety import ForkSafeLock
from hopflow.parameters import param
from responsefn import DeliveryRule
from responsefn.response import CLAIMS, Reference

__all__ = ["ABI", "ECT1", "Config", "Control", "Library", "NativeRule", "cc_header", "full_name", "is_library"]

ABI = 1
"""Version of the interface of `hopflow_cc.h`."""
SUFFIXES = (".so", ".dylib", ".dll")
"""Ends of the names of shared libraries."""
RECOVERIES = ("sack", "prr", "rack", "linux-6.12")
"""Loss recoveries that a table may name: those with selective acknowledgements."""
FUNCTIONS = ("init", "on_sent", "on_ack", "on_timeout", "on_timer", "observe", "destroy")
"""Functions of a table."""
REQUIRED = ("init", "on_ack", "on_timeout")
BYTES, NANOSECONDS, FLIGHT = 1, 2, 4
ECT1, ECT0 = 1, 2
MAX_NUMBERS = 32
DIGITS, FEWEST_DIGITS = 12, 8
"""Digits of a hash that are printed, and the fewest that name a library."""


class Config(ctypes.Structure):
    """The connection: ``hopflow_cc_config``."""

    _fields_ = (
        ("flow", ctypes.c_uint64), ("packet_bytes", ctypes.c_uint64), ("max_window", ctypes.c_double),
        ("initial_window", ctypes.c_double), ("initial_ssthresh", ctypes.c_double), ("max_ack_delay", ctypes.c_double),
    )  # fmt: skip


class Control(ctypes.Structure):
    """What a rule decides: ``hopflow_cc_control``."""

    _fields_ = (
        ("window", ctypes.c_double), ("ssthresh", ctypes.c_double), ("pacing_rate", ctypes.c_double),
        ("departure", ctypes.c_double), ("timer", ctypes.c_double), ("departure_ns", ctypes.c_uint64),
        ("timer_ns", ctypes.c_uint64), ("send_quantum", ctypes.c_double),
    )  # fmt: skip


class Table(ctypes.Structure):
    """The functions of a rule: ``hopflow_cc_rule``."""

    _fields_ = (
        ("abi", ctypes.c_uint64), ("size", ctypes.c_uint64),
        *((name, ctypes.c_char_p) for name in ("name", "claims", "recovery", "observed")),
        ("flags", ctypes.c_uint64), ("ecn", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
    )  # fmt: skip


INIT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Config), ctypes.c_uint64, ctypes.POINTER(Control))
OBSERVE = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double))
DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True)
class Library:
    """A loaded library and its table.

    Attributes
    ----------
    path, sha256
        The file that was loaded, as it was named, and the SHA-256 of its contents.
    name, claims, recovery, observed, flags, ecn
        Of the table; ``observed`` are the names of the observed numbers.
    functions
        Addresses by name; 0: it has none.
    """

    path: str
    sha256: str
    name: str
    claims: str
    recovery: str
    observed: tuple[str, ...]
    flags: int
    ecn: int
    functions: dict[str, int]

    @property
    def counts_bytes(self) -> bool:
        """Whether its amounts are bytes."""
        return bool(self.flags & BYTES)

    @property
    def counts_nanoseconds(self) -> bool:
        """Whether it answers in nanoseconds."""
        return bool(self.flags & NANOSECONDS)

    @property
    def limits_flight(self) -> bool:
        """Whether its window limits packets in flight."""
        return bool(self.flags & FLIGHT)

    @property
    def is_ecn_capable(self) -> bool:
        """Whether its packets can be marked."""
        return self.ecn in (ECT1, ECT0)

    def begin(self, config: Config, seed: int) -> tuple[int, Control]:
        """Return the address of a new connection's state, 0 without state, and its first decision."""
        control = Control()
        state = INIT(self.functions["init"])(ctypes.byref(config), seed, ctypes.byref(control))
        return int(state or 0), control

    def observe(self, state: int) -> tuple[str, list[float]]:
        """Return the name of the state that a connection is in and the numbers that it reports."""
        numbers = (ctypes.c_double * MAX_NUMBERS)()
        label = OBSERVE(self.functions["observe"])(state, numbers)
        return (label or b"").decode(errors="replace"), list(numbers)[: len(self.observed)]

    def destroy(self, state: int) -> None:
        """Release the state of a connection."""
        if self.functions["destroy"]:
            DESTROY(self.functions["destroy"])(state)


class NativeRule(DeliveryRule):
    """Congestion control in C or Rust: a shared library that implements `hopflow_cc.h`.

    It runs at packet level, in place of any other window rule. ``hopflow cc-header`` prints the folder of the header,
    which describes the interface, and ``docs/howto-native.md`` builds a rule from an empty folder. The library is
    loaded as a copy, so that a library that is compiled again is loaded again. Its hash is part of the rule and of
    each result. In another process, such as one of a sweep, a file with another hash is refused.

    Loss recovery, ECN, and whether the window limits sequence numbers or packets in flight, are those that the table of
    the library declares; ``recovery`` of `Packets` may name another recovery with selective acknowledgements.

    Parameters
    ----------
    library
        Path of the shared library.
    record
        Folder in which each run records the calls of the library in a file, for ``hopflow_cc_replay.c``; None: not.
        Calls then pass through Python and take much longer.
    sha256
        Hash that the file must have, or its first digits, at least 8; None: that of the file.

    Raises
    ------
    ValueError
        For a file that cannot be loaded or has another hash; for a missing function, another version of the interface,
        or a table with invalid values.

    Examples
    --------
    >>> from dfcmodel import NativeRule
    >>> NativeRule("missing.so")
    Traceback (most recent call last):
    ...
    ValueError: library = 'missing.so': cannot be loaded: No such file or directory
    """

    class Params(NamedTuple):
        """Path, folder of records, and hash of the library."""

        library: Any = param()
        record: Any = param(None, source="own choice: records take time")
        sha256: str | None = param(None, source="own choice: the file as it is")

    class State(NamedTuple):
        """Window and threshold in packets, pacing rate, and losses and marks since the last call of the library."""

        cwnd: float = 10.0
        ssthresh: float = math.inf
        pacing_rate: float = math.inf
        losses: float = 0.0
        marks: float = 0.0

    package: ClassVar[str] = "dfcmodel"
    catalogue_rows = ()
    reference = Reference("the author of the library", "own")
    why_no_rate: ClassVar[str] = "it is compiled code, which a simulation calls packet by packet"
    sets_initial_window: ClassVar[bool] = True

    def check(self) -> None:
        """Load the library, and set ``sha256``; ValueError for another hash."""
        for name in ("library", "record"):
            value = getattr(self.params, name)
            if value is not None:
                object.__setattr__(self, "params", self.params._replace(**{name: str(file_path(name, value))}))
        stated = self.params.sha256
        if stated is not None and (not isinstance(stated, str) or len(stated) < FEWEST_DIGITS):
            raise ValueError(f"sha256 = {stated!r}: must be at least {FEWEST_DIGITS} digits of a hash, or None")
        object.__setattr__(self, "params", self.params._replace(sha256=self._load().sha256))

    def _load(self) -> Library:
        """Return the library of the file; ValueError unless its hash begins with the stated one, if any."""
        loaded, stated = _load(self.params.library), self.params.sha256
        if stated is not None and not loaded.sha256.startswith(stated.lower()):
            msg = "is not that of the file; was the library compiled again?"
            raise ValueError(f"sha256 = {stated} of {self.params.library!r}: {msg} Its hash is {loaded.sha256}")
        return loaded

    @property
    def loaded(self) -> Library:
        """The library in this process, which a copy from another process loads when it is used.

        Raises
        ------
        ValueError
            If the file cannot be loaded there, or has another hash.
        """
        return _libraries.get(self.params.sha256) or self._load()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return (function, arguments) for a pickle, which can be read without the library: it is loaded when used."""
        return _rebuild, (self.params._asdict(), self._given)

    @property
    def claims(self) -> str:  # type: ignore[override]  # declared by the library, not by the class
        """What the library claims to be: ``"newreno"``, ``"cubic-rfc9438"``, ``"bbr-draft"`` or ``"other"``."""
        return self.loaded.claims

    @property
    def recovery(self) -> str:  # type: ignore[override]
        """Loss recovery that the library declares."""
        return self.loaded.recovery

    def __repr__(self) -> str:
        """Return the rule as a call with path, folder of records, and the first `DIGITS` digits of the hash."""
        record = "" if self.params.record is None else f"record={self.params.record!r}, "
        return f"NativeRule({self.params.library!r}, {record}sha256={self.params.sha256[:DIGITS]!r})"

    def __str__(self) -> str:
        """Return the name in the table and the first digits of the hash; `repr` where the library cannot be loaded."""
        try:
            return f"{self.loaded.name} ({self.params.sha256[:FEWEST_DIGITS]})"
        except ValueError:
            return repr(self)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Leave the window as it is: the library receives the number of ACKs for which a window grows."""
        return s

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Count the start of a loss recovery."""
        return s._replace(losses=s.losses + 1.0)

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Count a congestion mark."""
        return s._replace(marks=s.marks + 1.0)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Leave the window as it is: the library reduces it."""
        return s

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Leave the window as it is: the library sees each ACK."""
        return s


def full_name(rule: Any) -> str:
    """Return a rule as a string, of a library with its path and hash.

    >>> from responsefn import Reno
    >>> full_name(Reno())
    'Reno()'
    """
    return repr(rule) if str(rule) == repr(rule) else f"{rule}: {rule!r}"


def _rebuild(params: dict[str, Any], explicit: set[str]) -> NativeRule:
    """Return a rule of another process, whose library is loaded when it is used."""
    rule = NativeRule.__new__(NativeRule)
    object.__setattr__(rule, "params", NativeRule.Params(**params))
    object.__setattr__(rule, "_given", explicit)
    return rule


def cc_header() -> Path:
    """Return the folder of ``hopflow_cc.h``, its form in Rust, and ``hopflow_cc_replay.c``.

    Examples
    --------
    >>> from dfcmodel import cc_header
    >>> sorted(path.name for path in cc_header().iterdir())
    ['hopflow_cc.h', 'hopflow_cc.rs', 'hopflow_cc_replay.c']
    """
    return Path(__file__).with_name("native")


def is_library(name: str) -> bool:
    """Return whether a name is that of a shared library."""
    return name.endswith(SUFFIXES)


_libraries: dict[str, Library] = {}
_paths: dict[tuple[str, int, int, int], str] = {}
"""Hashes of files that were loaded, by path, size, time of modification and inode."""
_lock = ForkSafeLock()


def _load(path: str) -> Library:
    """Return a library, loaded once per contents from a copy that is named by its hash."""
    file = Path(path)
    try:
        status = file.stat()
        key = (str(file.resolve()), status.st_size, status.st_mtime_ns, status.st_ino)
        with _lock:
            if key not in _paths:
                contents = file.read_bytes()
                sha256 = hashlib.sha256(contents).hexdigest()
                if sha256 not in _libraries:
                    _libraries[sha256] = _read_table(path, sha256, _open(path, contents, sha256))
                _paths[key] = sha256
            return _libraries[_paths[key]]
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"library = {path!r}: cannot be loaded: {reason}") from None


def _open(path: str, contents: bytes, sha256: str) -> Any:
    """Return a ``ctypes`` library loaded from a copy of ``contents``: a linker may write the file ``path`` again."""
    folder = Path(tempfile.mkdtemp(prefix="hopflow-"))
    copy = folder / f"{sha256}{Path(path).suffix}"
    try:
        copy.write_bytes(contents)
        return ctypes.CDLL(str(copy))
    except OSError as error:
        reason = str(error).replace(str(copy), path)
        raise ValueError(f"library = {path!r}: cannot be loaded: {reason}") from None
    finally:
        if sys.platform != "win32":  # a loaded library stays in memory
            shutil.rmtree(folder, ignore_errors=True)


def _read_table(path: str, sha256: str, library: Any) -> Library:
    """Return a loaded ``ctypes`` library with its table; ValueError for an invalid table."""
    where = f"library = {path!r}"
    try:
        table_of = library.hopflow_cc
    except AttributeError:
        msg = "has no function hopflow_cc; declare it with HOPFLOW_CC_EXPORT of hopflow_cc.h"
        raise ValueError(f"{where}: {msg}") from None
    table_of.restype, table_of.argtypes = ctypes.POINTER(Table), (ctypes.c_uint64,)
    pointer = table_of(ABI)
    if not pointer:
        msg = f"hopflow_cc({ABI}) returns null: it has no table for version {ABI} of the interface"
        raise ValueError(f"{where}: {msg}")
    table = pointer.contents
    if table.abi != ABI:
        msg = f"must be {ABI}; compile it with the header of this installation, see hopflow cc-header"
        raise ValueError(f"{where}: abi of its table = {table.abi}: {msg}")
    if table.size != ctypes.sizeof(Table):
        msg = f"must be {ctypes.sizeof(Table)}, sizeof(hopflow_cc_rule)"
        raise ValueError(f"{where}: size of its table = {table.size}: {msg}")
    functions = {name: int(getattr(table, name) or 0) for name in FUNCTIONS}
    for name in REQUIRED:
        if not functions[name]:
            raise ValueError(f"{where}: {name} of its table is null: must be a function")
    texts = {name: (getattr(table, name) or b"").decode(errors="replace") for name in ("name", "claims", "recovery")}
    for name, allowed in (("claims", CLAIMS), ("recovery", RECOVERIES)):
        if texts[name] not in allowed:
            msg = f"must be {', '.join(map(repr, allowed))}"
            raise ValueError(f"{where}: {name} of its table = {texts[name]!r}: {msg}")
    for name, largest in (("flags", BYTES | NANOSECONDS | FLIGHT), ("ecn", ECT0)):
        if getattr(table, name) > largest:
            raise ValueError(f"{where}: {name} of its table = {getattr(table, name)}: must be at most {largest}")
    observed = tuple((table.observed or b"").decode(errors="replace").split())
    if len(observed) > MAX_NUMBERS:
        msg = f"must be at most {MAX_NUMBERS}"
        raise ValueError(f"{where}: names in observed of its table = {len(observed)}: {msg}")
    if observed and not functions["observe"]:
        raise ValueError(f"{where}: observe of its table is null: must be a function, which writes {observed[0]}")
    name = texts["name"] or Path(path).stem
    return Library(path, sha256, name, texts["claims"], texts["recovery"], observed, table.flags, table.ecn, functions)
