"""Lossless fabrics: headroom, shared pools, deadlock and pause storms of pause-controlled links."""

from __future__ import annotations

from dfcmodel.lossless.audits.audits import TableAudit, audit_headroom
from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable, Watermark
from dfcmodel.lossless.audits.identification import Identification, identify
from dfcmodel.lossless.audits.row_audits import RowAudit
from dfcmodel.lossless.audits.switch_chips import Chip, chip, chips
from dfcmodel.lossless.audits.table_files import read_table
from dfcmodel.lossless.audits.verdicts import RowVerdict
from dfcmodel.lossless.buffer_dependencies import Dependencies, Route
from dfcmodel.lossless.cabled_fabrics import Cable, Fabric
from dfcmodel.lossless.credit_runs import CreditScenario, CreditWitness
from dfcmodel.lossless.credit_windows import Credits, credits
from dfcmodel.lossless.deadlocks import Deadlock, buffer_cycles, deadlock, line_rate_scenario
from dfcmodel.lossless.fabrics import (
    dragonfly,
    fat_tree,
    leaf_spine,
    rail_optimized,
    torus,
    with_hosts,
)
from dfcmodel.lossless.frames import FrameScenario, Witness, search_worst, witness
from dfcmodel.lossless.free_routings import UpDown, class_per_hop, class_per_turn, up_down
from dfcmodel.lossless.headroom_tables import headroom_table
from dfcmodel.lossless.headrooms import Headroom, headroom
from dfcmodel.lossless.link_retries import ErrorBursts, LinkRetry, link_retry
from dfcmodel.lossless.paused_links import PausedLink
from dfcmodel.lossless.pools.blocked_times import BlockedTime, longest_blocking
from dfcmodel.lossless.pools.headroom_pools import HeadroomPool, headroom_pool
from dfcmodel.lossless.pools.overflows import (
    Convolution,
    OverflowChain,
    Recombination,
    Splitting,
    overflow,
)
from dfcmodel.lossless.pools.pool_overflows import OverflowEstimate, OverflowTime
from dfcmodel.lossless.pools.pool_risks import PoolRisk
from dfcmodel.lossless.pools.pool_traffic import Episodes, PacketRuns, PausedGroups
from dfcmodel.lossless.pools.pool_worst_cases import PoolWitness, PoolWorstCase, worst_demand
from dfcmodel.lossless.pools.recombined_overflows import RecombinedEstimate
from dfcmodel.lossless.port_guards import WatchdogAlarm
from dfcmodel.lossless.storms import StormSpread, storm_spread
from dfcmodel.lossless.watchdog_risks import WatchdogRisk, recommend_watchdog, watchdog_risk
from dfcmodel.lossless.watchdog_runs import WatchdogRun, watch_packets
from dfcmodel.lossless.watchdogs import Watchdog, simulate_watchdog

__all__ = [
    "BlockedTime",
    "BufferRow",
    "BufferTable",
    "Cable",
    "Chip",
    "Convolution",
    "CreditScenario",
    "CreditWitness",
    "Credits",
    "Deadlock",
    "Dependencies",
    "Episodes",
    "ErrorBursts",
    "Fabric",
    "FrameScenario",
    "Headroom",
    "HeadroomPool",
    "Identification",
    "LinkRetry",
    "OverflowChain",
    "OverflowEstimate",
    "OverflowTime",
    "PacketRuns",
    "PausedGroups",
    "PausedLink",
    "PoolRisk",
    "PoolWitness",
    "PoolWorstCase",
    "Recombination",
    "RecombinedEstimate",
    "Route",
    "RowAudit",
    "RowVerdict",
    "Splitting",
    "StormSpread",
    "TableAudit",
    "UpDown",
    "Watchdog",
    "WatchdogAlarm",
    "WatchdogRisk",
    "WatchdogRun",
    "Watermark",
    "Witness",
    "audit_headroom",
    "buffer_cycles",
    "chip",
    "chips",
    "class_per_hop",
    "class_per_turn",
    "credits",
    "deadlock",
    "dragonfly",
    "fat_tree",
    "headroom",
    "headroom_pool",
    "headroom_table",
    "identify",
    "leaf_spine",
    "line_rate_scenario",
    "link_retry",
    "longest_blocking",
    "overflow",
    "rail_optimized",
    "read_table",
    "recommend_watchdog",
    "search_worst",
    "simulate_watchdog",
    "storm_spread",
    "torus",
    "up_down",
    "watch_packets",
    "watchdog_risk",
    "with_hosts",
    "witness",
    "worst_demand",
]
