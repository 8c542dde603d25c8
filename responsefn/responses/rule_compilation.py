"""The steps of window rules under loss: compiled per rule, called by address from the loops of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import make_kernel
from responsefn.responses import rule_kernels as templates
from responsefn.responses.kernel.rows import PARAMETERS, STATE
from responsefn.responses.rule_checks import check_dynamics
from responsefn.responses.rule_events import SIGNATURE, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

__all__ = ["compile_step", "parameters_in"]


def parameters_in(run: NDArray[np.float64], rule: Dynamics) -> None:
    """Write the parameters of a rule into their rows of a run."""
    numbers = tuple(numbers_of(rule).values())
    run[PARAMETERS : PARAMETERS + len(numbers)] = numbers


def compile_step(
    step: Callable[..., Any],
    rule: Dynamics,
    *,
    move: Callable[..., Any] = templates.block,
    compiled: bool = True,
) -> NDArray[Any]:
    """Return a step of `rule_kernels` with the functions of a rule in it, for the loops of the kernel.

    It is an array of the step's address, or without ``compiled`` of a Python function. In the template
    ``load()`` and ``store()`` read and write the state ``s`` and the parameters ``q`` of a run;
    ``move()`` is `ack` or `block`; ``advance()`` moves the state ``s`` by ``k`` ACKs of which each adds
    ``more``, to what one ACK makes ``new`` in the fields that are set outright.

    Raises
    ------
    RuleError
        Where the rule cannot be run (`rule_checks.check_dynamics`).
    KernelError
        Naming the file and the line of the rule that cannot be compiled.
    """
    check_dynamics(rule)
    function = make_kernel(step, signature=SIGNATURE, compiled=compiled, **_parts(step, rule, move))
    if compiled:
        return np.array([function.address], dtype=np.uint64)
    functions = np.empty(1, dtype=object)
    functions[0] = function
    return functions


def _parts(step: Callable[..., Any], rule: Dynamics, move: Callable[..., Any]) -> dict[str, Any]:
    fields, names = rule.State._fields, tuple(numbers_of(rule))
    tuples = {"State": fields, "Params": names, "Event": ("time", "rtt")}
    state = [f"run[{STATE + n}]" for n in range(len(fields))]
    parameters = [f"run[{PARAMETERS + n}]" for n in range(len(names))]
    snippets = {
        "load": f"{_tuple('s', 'State', state)}\n{_tuple('q', 'Params', parameters)}",
        "store": "\n".join(f"{row} = s.{name}" for row, name in zip(state, fields, strict=True)),
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
            "move": f"s, k, cwnd, lag = {move.__name__}(s, q, begun + time, rtt, service, left)",
            "advance": _tuple("s", "State", moved),
        },
        "tuples": tuples,
    }  # fmt: skip


def _tuple(name: str, kind: str, values: Iterable[str]) -> str:
    return f"{name} = {kind}({', '.join(values)},)"
