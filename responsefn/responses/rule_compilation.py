"""The steps of window rules under loss: compiled per rule, called by address from loops that are not."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import build, is_built
from responsefn.responses import rule_kernels as templates
from responsefn.responses.kernel.rows import PARAMETERS, STATE
from responsefn.responses.rule_checks import check_dynamics
from responsefn.responses.rule_events import SIGNATURE, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

__all__ = ["addresses", "as_function", "compile_step", "is_compiled", "parameters_in"]


def parameters_in(rows: NDArray[np.float64], rule: Dynamics, width: int = 1) -> None:
    """Write the parameters of a rule behind the rows of ``width`` runs."""
    numbers = tuple(numbers_of(rule).values())
    rows[PARAMETERS * width : PARAMETERS * width + len(numbers)] = numbers


def addresses(step: Any) -> NDArray[Any]:
    """Return an array of a step's address, or of its Python function, for a loop of the kernel."""
    if hasattr(step, "address"):
        return np.array([step.address], dtype=np.uint64)
    plain = np.empty(1, dtype=object)
    plain[0] = step
    return plain


def as_function(step: Any) -> Callable[..., None]:
    """Return a compiled step as a Python function of an array and four numbers."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_double] * 4)(step.address)

    def function(run: NDArray[np.float64], *numbers: float, compiled: Any = step) -> None:
        del compiled  # kept, so that its machine code is
        call(run.ctypes.data, *numbers)

    return function


def compile_step(
    step: Callable[..., Any],
    rule: Dynamics,
    *,
    move: Callable[..., Any] = templates.block,
    width: int = 1,
    compiled: bool = True,
) -> Any:
    """Return a step of `rule_kernels` with the functions of a rule in it.

    Compiled it has an ``address``, else it is a Python function. In the template ``load()`` and
    ``store()`` read and write the state ``s`` and the parameters ``q`` of a single run, ``take()`` and
    ``put()`` the state of run ``i`` of ``width``; ``move()`` is `ack` or `block`; ``advance()`` moves the
    state ``s`` by ``k`` ACKs of which each adds ``more``, to what one ACK makes ``new`` in the fields
    that are set outright.

    Raises
    ------
    RuleError
        Where the rule cannot be run (`rule_checks.check_dynamics`).
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    check_dynamics(rule)
    return build(step, signature=SIGNATURE, compiled=compiled, **_parts(step, rule, move, width))


def is_compiled(step: Callable[..., Any], rule: Dynamics) -> bool:
    """Return whether `compile_step` finds its machine code in the cache folder."""
    check_dynamics(rule)
    return is_built(step, signature=SIGNATURE, **_parts(step, rule, templates.block, 1))


def _parts(
    step: Callable[..., Any], rule: Dynamics, move: Callable[..., Any], width: int
) -> dict[str, Any]:
    fields, names = rule.State._fields, tuple(numbers_of(rule))
    tuples = {"State": fields, "Params": names, "Event": ("time", "rtt")}
    one = [f"run[{STATE + n}]" for n in range(len(fields))]
    several = [f"run[{(STATE + n) * width} + i]" for n in range(len(fields))]
    parameters = [f"run[{PARAMETERS * width + n}]" for n in range(len(names))]
    snippets = {
        "parameters": _tuple("q", "Params", parameters),
        "load": f"{_tuple('s', 'State', one)}\n{_tuple('q', 'Params', parameters)}",
        "store": _assignments(one, fields),
    }
    if step is templates.loss:
        return {
            "functions": {"on_loss": rule.on_loss}, "snippets": snippets, "tuples": tuples
        }  # fmt: skip
    moved = (
        f"new.{name}" if name in rule.assigned else f"s.{name} + k * more.{name}" for name in fields
    )
    return {
        "functions": {"on_ack": rule.on_ack},
        "changes": {"change": ("on_ack", rule.assigned)} if move is templates.block else {},
        "helpers": (templates.doubling, move),
        "snippets": snippets | {
            "layout": f"width = {width}",
            "take": _tuple("s", "State", several),
            "put": _assignments(several, fields),
            "move": f"s, k, cwnd, lag = {move.__name__}(s, q, begun + time, rtt, service, left)",
            "advance": _tuple("s", "State", moved),
        },
        "tuples": tuples,
    }  # fmt: skip


def _tuple(name: str, kind: str, values: Iterable[str]) -> str:
    return f"{name} = {kind}({', '.join(values)},)"


def _assignments(places: Iterable[str], fields: Iterable[str]) -> str:
    return "\n".join(f"{at} = s.{name}" for at, name in zip(places, fields, strict=True))
