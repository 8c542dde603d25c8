"""Which plans the fabric kernel runs: lossless switches, interfaces of hosts, senders at a rate."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import among, present
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.packets.layouts.managers import MANAGERS, marks_leaving
from dfcmodel.packets.ports import Interface
from responsefn import RateRule
from responsefn.rules.rates.rate_rule import sees_telemetry, window_place

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["is_fabric", "is_likely_fabric"]

REPAIRS = ("go-back-n", "none")
"""Repairs that send nothing again where nothing is lost, and whose timers begin again with each ACK."""
METHOD_FIELDS = (
    "seed", "convention", "recovery", "phases", "loss", "ack_transmission", "ack_delay", "count_smoothing",
    "frame_errors", "retry_delay", "spraying", "failures", "reroute_delay", "max_cpu_time",
)  # fmt: skip
PFC_FIELDS = ("classes", "xoff", "xon", "headroom", "signalling", "counts", "manager")
"""Fields of `Packets` and `PFC` that the fabric kernel has, or that the conditions below test. All others must have
their defaults."""


def is_fabric(plan: PacketPlan) -> bool:
    """Return whether the fabric kernel can run a plan, as long as no packet is lost.

    All packets go from interfaces of hosts over links under PFC, in one lossless class per link, and ACKs in the
    control class; managers mark what leaves and nothing else; senders have a rate, and repair losses by going back or
    not at all.
    """
    scenario = plan.scenario
    has_rates = _has_rates(scenario, plan.repairs)
    return _has_plain_method(plan) and has_rates and _has_plain_links(scenario) and _has_lossless_ports(plan)


def is_likely_fabric(scenario: Scenario, method: Packets) -> bool:
    """Return whether the fabric kernel probably runs a scenario, for predictions: it checks kinds, not routes."""
    return (
        not (method.is_ns2 or method.loss or method.frame_errors or method.failures)
        and _has_defaults(method, METHOD_FIELDS)
        and not scenario.all_elements
        and all(paths == () for paths in scenario.table.columns["paths"].values)
        and _has_plain_links(scenario)
        and all(_is_plain(link.discipline) for link in scenario.link_table.kinds)
        and bool(scenario.is_interface[scenario.routes.first].all())
        and _has_rates(scenario, method.repair_of(scenario))
    )


def _has_plain_links(scenario: Scenario) -> bool:
    """Return whether all links have the defaults of the fields that the kernel does not support."""
    return all(_has_defaults(link) for link in scenario.link_table.kinds)


def _has_defaults(record: Any, except_for: Sequence[str] = ()) -> bool:
    """Return whether a dataclass has the default of each field that has one, except for fields with these names.

    Fields with the metadata `IN_ALL_KERNELS` may have any value.
    """
    missing = dataclasses.MISSING
    for field in dataclasses.fields(record):
        if field.name in except_for or field.metadata.get("in_all_kernels"):
            continue
        default = field.default if field.default_factory is missing else field.default_factory()
        if default is not missing and getattr(record, field.name) != default:
            return False
    return True


def _has_plain_method(plan: PacketPlan) -> bool:
    """Return whether a plan has none of the options or elements, such as losses, that the kernel does not support."""
    return _has_defaults(plan.method, METHOD_FIELDS) and not (
        plan.method.is_ns2
        or plan.jitter > 0.0
        or plan.losses.any()
        or plan.errors.any()
        or plan.spraying is not None
        or plan.choices
        or plan.method.failures
        or plan.faults
        or plan.watchdogs
        or plan.scenario.all_elements
    )


def _has_rates(scenario: Scenario, repairs: Sequence[Any]) -> bool:
    """Return whether all senders have rates, and no options that the kernel does not support."""
    columns = scenario.table.columns

    def all_of(name: str, holds: Any) -> bool:
        return all(map(holds, columns[name].values))

    return (
        all_of("source", _has_plain_rate)
        and all_of("receiver", lambda value: value is None)
        and all_of("arrivals", lambda value: value is None)
        and all_of("stop", lambda value: value == math.inf)
        and all_of("weight", lambda value: value == 1)
        and all(str(value) in REPAIRS for value in among(repairs))
    )


def _has_plain_rate(source: Any) -> bool:
    """Return whether a source sets its rate by ACKs, marks and time alone: no telemetry, no limit in flight."""
    kind: Any = type(source)
    return isinstance(source, RateRule) and not (sees_telemetry(kind) or window_place(kind))


def _has_lossless_ports(plan: PacketPlan) -> bool:
    """Return whether flows begin at hosts' interfaces, and cross ports under PFC with one lossless class of data."""
    hops = plan.hops
    if not plan.at_senders[plan.forward.first].all():
        return False
    if (plan.at_senders[hops.port] > hops.begins).any():
        return False
    plain = plan.by_discipline(_is_plain)
    if not (plain.all() or plain[hops.port].all()):
        return False
    if not np.array_equal(plan.is_counted, ~(hops.is_ack | hops.begins)):
        return False
    if (plan.priorities == plan.priorities[0]).all():
        return True
    data = ~hops.is_ack
    classes = present(hops.port[data] * 9 + plan.priorities[hops.flow[data]], 9 * len(plan.ports))
    return len(np.unique(classes // 9)) == len(classes)


def _marks_by_address(rule: PFC) -> bool:
    """Return whether a discipline's manager marks leaving packets and is not built into the kernel."""
    manager: Any = rule.manager
    return marks_leaving(rule) and type(manager).on_step not in MANAGERS


def _is_plain(rule: Any) -> bool:
    """Return whether the kernel supports a discipline."""
    if isinstance(rule, Interface):
        return rule.acks == "control"
    if type(rule) is not PFC or not _has_defaults(rule, PFC_FIELDS):
        return False
    return rule.manager is None or _marks_by_address(rule)
