"""Marks of the functions of an engine.

An engine is a package of plain functions that is compiled as a whole (`hopflow.kernels.engine`). A mark returns its
function unchanged. As plain Python each function can be called, stepped through and tested alone, and is hundreds of
times slower. In the process that compiles an engine, `hopflow.kernels.build` replaces the marks by decorators of Numba
before the engine is imported.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "call_agent",
    "call_event",
    "call_law",
    "call_manager",
    "call_native",
    "call_on_array",
    "call_on_record",
    "calling_entry",
    "compiled",
    "entry",
    "inlined",
    "multiply_add",
    "prefetch",
    "summing",
    "unaliased_entry",
]

F = TypeVar("F", bound="Callable[..., Any]")


def compiled(function: F) -> F:
    """Mark a function that compiled functions call."""
    return function


def inlined(function: F) -> F:
    """Mark a function of the path of every step, or one that a single other function calls.

    A call costs more than what most of them do: a group of arrays is passed word by word.
    """
    return function


def summing(function: F) -> F:
    """Mark an inlined function whose sums may be taken in any order: those of amounts are exact."""
    return function


def entry(function: F) -> F:
    """Mark the function that Python calls."""
    return function


def unaliased_entry(function: F) -> F:
    """Mark the function that Python calls, as `counting_entry` does; its arrays share no memory.

    Compiled, what it writes to one array is not looked for in another, and references to arrays are not counted:
    it allocates nothing.
    """
    return function


def calling_entry(function: F) -> F:
    """Mark the function that Python calls, as `counting_entry` does; its arrays share no memory.

    Compiled, functions marked `compiled` stay calls, which pass what is read of the arrays.
    """
    return function


def call_event(event: Any, flow: Any, now: float, rtt: float, acks: float, marks: float) -> None:
    """Let an event of a window rule change a flow's window; see `responsefn.rule_events`."""
    event(flow, now, rtt, acks, marks)


def call_agent(event: Any, agent: Any) -> None:
    """Let a receiver agent see a packet; see `dfcmodel.network.callback_events`."""
    event(agent)


def call_law(event: Any, link: Any) -> None:
    """Let a law of flow control see a packet or a message; see `dfcmodel.network.callback_events`."""
    event(link)


def call_native(function: Any, state: int, rule: Any) -> None:
    """Let a function of a native rule decide on an event; see `dfcmodel.packets.kernel.tcp.native_rules`.

    Compiled, it takes the state, the address of the event in the record, and that of what it decides.
    """
    function(state, rule)


def call_manager(manager: Any, link: Any) -> None:
    """Let a queue manager see a link's arrivals; see `dfcmodel.network.callback_events`."""
    manager(link)


def multiply_add(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def prefetch(array: Any, index: int) -> None:
    """Have the cache line of an array's element fetched, without waiting for it: it is read soon."""


def call_on_array(function: Any, array: Any, a: float, b: float, c: float, d: float) -> None:
    """Let a function change an array of numbers; see `responsefn.kernel.flow`."""
    function(array, a, b, c, d)


def call_on_record(function: Any, record: Any, array: Any, *numbers: float) -> None:
    """Let a function see four numbers and change a record and an array; see `dfcmodel.packets.recoveries.compilation`.

    Compiled, the function takes the address of the record as one of floats and as one of whole numbers of 32 bits.
    """
    function(record, array, *numbers)
