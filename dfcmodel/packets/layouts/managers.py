"""Queue managers of ports in the arrays of the compiled engine: their parameters and first states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, manager_signature_of
from dfcmodel.network.queueing.coupled import PI2, DualPI2
from dfcmodel.network.queueing.disciplines import manager_of
from dfcmodel.network.queueing.managers import PIE, RED, CoDel
from dfcmodel.packets.kernel.layout import CALLED, CONTROL, EARLY, MANAGES, MARKS_LEAVING
from dfcmodel.packets.kernel.queues.managers import (
    BY_ADDRESS,
    CODEL,
    COUPLED,
    EARLY_DETECTION,
    PROPORTIONAL,
    SQUARED,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.queueing.disciplines import Discipline
    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "MANAGERS",
    "lay_out_called",
    "lay_out_control",
    "lay_out_early",
    "lay_out_managers",
    "manager_numbers",
    "marks_leaving",
    "signatures_of_managers",
]

MANAGERS: dict[Any, int] = {
    RED.on_step: EARLY_DETECTION, PIE.on_step: PROPORTIONAL, CoDel.on_step: CODEL, PI2.on_step: SQUARED,
}  # fmt: skip
"""Managers that are compiled with the kernel, by their function in the fluid."""


def lay_out_managers(plan: PacketPlan, port_rows: NDArray[Any]) -> dict[str, Any]:
    """Return arrays of the managers' parameters and states, by name; set each port's manager in ``port_rows``."""
    codes, ports = manager_numbers(plan), port_rows[: len(plan.ports)]
    ports["manager"], is_late = codes, plan.by_discipline(marks_leaving)
    ports["effects"] |= np.where(is_late, MARKS_LEAVING, np.where(ports["manager"] > 0, MANAGES, 0))
    ports["kind"] = np.array(codes) == MANAGERS[RED.on_step]
    ports["plain"] &= ports["kind"] == 0
    return {
        "early": lay_out_early(plan, codes),
        "control": lay_out_control(plan, codes),
        "called": lay_out_called(plan),
    }


def manager_numbers(plan: PacketPlan) -> list[int]:
    """Return the code of each port's manager: 0 for none, that of one built into the kernel, or `BY_ADDRESS`."""
    codes: list[int] = plan.by_discipline(_manager_number).tolist()
    return codes


def _manager_number(discipline: Discipline) -> int:
    """Return the code of a discipline's manager: 0 for none, that of one built into the kernel, or `BY_ADDRESS`."""
    if isinstance(discipline, DualPI2):
        return COUPLED
    manager = manager_of(discipline)
    return 0 if manager is None else MANAGERS.get(type(manager).on_step, BY_ADDRESS)


def marks_leaving(discipline: Discipline) -> bool:
    """Return whether a discipline's manager marks packets as they leave, not as they arrive."""
    manager = manager_of(discipline)
    return manager is not None and manager.at == "departure"


def signatures_of_managers(plan: PacketPlan) -> tuple[Signature, ...]:
    """Return the distinct signatures of the managers that the kernel calls by address."""
    rules = [rule for rule in plan.ports.disciplines if _manager_number(rule) == BY_ADDRESS]
    managers = map(manager_of, rules)
    return tuple(dict.fromkeys(manager_signature_of(rule) for rule in managers if rule is not None))


def lay_out_called(plan: PacketPlan) -> NDArray[Any]:
    """Return parameters and states of managers called by address, a row per port; one row if no port has any."""
    signatures = signatures_of_managers(plan)
    if not signatures:
        return np.zeros(1, CALLED)
    called, codes = np.zeros(len(plan.ports), CALLED), manager_numbers(plan)
    for p, port in enumerate(plan.ports):
        manager = manager_of(port.discipline)
        if manager is not None and codes[p] == BY_ADDRESS:
            row, state = called[p], type(manager).State()
            row["drop"], row["mark"] = state[:2]
            row["state"][: len(state) - 2] = state[2:]
            parameters = list(manager.numbers(plan.scenario.packet_size).values())
            row["parameters"][: len(parameters)] = parameters
            row["capacity"] = 1.0 / plan.transmission[p, 0]
            row["kind"] = signatures.index(manager_signature_of(manager))
    return called


def lay_out_control(plan: PacketPlan, codes: list[int]) -> NDArray[Any]:
    """Return parameters and states of CoDel, PIE and PI2, a row per port, by `manager_numbers`; or a single row."""
    if not set(codes) - {0, BY_ADDRESS, MANAGERS[RED.on_step]}:
        return np.zeros(1, CONTROL)
    control = np.zeros(len(plan.ports), CONTROL)
    for p, port in enumerate(plan.ports):
        rule: Any = manager_of(port.discipline) or port.discipline
        row = control[p]
        if codes[p] == MANAGERS[CoDel.on_step]:
            row["target"], row["interval"] = rule.target, rule.interval
        elif codes[p] == MANAGERS[PIE.on_step]:
            row["target"], row["interval"] = rule.target, rule.update
            row["alpha"], row["beta"] = rule.alpha, rule.beta
            row["next"], row["pace"] = rule.update, 8.0 / port.bits
            row["burst"] = row["most_burst"] = rule.burst
        elif isinstance(rule, (PI2, DualPI2)):
            row["target"], row["interval"], row["next"] = rule.target, rule.update, rule.update
            row["alpha"], row["beta"], row["coupling"] = rule.alpha, rule.beta, rule.coupling
            row["ecn"], row["pace"] = rule.ecn, 8.0 / port.bits
            if isinstance(rule, DualPI2):
                row["ramp"], row["width"] = rule.ramp, rule.ramp_width
                row["share"] = rule.classic_share
    return control


def lay_out_early(plan: PacketPlan, codes: list[int]) -> NDArray[Any]:
    """Return RED's parameters and states, a row per port, by `manager_numbers`; one row if no port has RED."""
    if MANAGERS[RED.on_step] not in codes:
        return np.zeros(1, EARLY)
    early = np.zeros(len(plan.ports), EARLY)
    for p, port in enumerate(plan.ports):
        rule: Any = manager_of(port.discipline)
        if codes[p] == MANAGERS[RED.on_step]:
            row = early[p]
            size = rule.mean_packet or plan.scenario.packet_size
            row["pace"] = port.bits / (8.0 * size)
            for name in ("weight", "low", "high", "max_p"):
                row[name] = getattr(rule, name)
            row["most"] = rule.high * (2.0 if rule.gentle else 1.0)
            row["mean"], row["ecn"] = rule.mean_packet or 0.0, rule.ecn
            row["part"] = 1.0 / (rule.mean_packet or plan.data_bytes_in_queue[p]) if port.cell else 1.0
    return early
