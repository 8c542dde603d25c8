# The public names of the package by the modules that define them: read on first use, and by type checkers.
from .audits.audits import TableAudit, audit_headroom
from .audits.buffer_tables import BufferRow, BufferTable, Watermark
from .audits.identification import Identification, identify
from .audits.row_audits import RowAudit
from .audits.switch_chips import Chip, chip, chips
from .audits.table_files import read_table
from .audits.verdicts import RowVerdict
from .buffer_dependencies import Dependencies, Route
from .cabled_fabrics import Cable, Fabric
from .credit_runs import CreditScenario, CreditWitness
from .credit_windows import RequiredCredits, credits
from .deadlocks import Deadlock, buffer_cycles, deadlock, line_rate_scenario
from .fabrics import dragonfly, fat_tree, leaf_spine, rail_optimized, torus, with_hosts
from .frames import FrameScenario, Witness, search_worst, witness
from .free_routings import UpDown, class_per_hop, class_per_turn, up_down
from .headroom_tables import headroom_table
from .headrooms import Headroom, headroom
from .link_retries import ErrorBursts, LinkRetry, link_retry
from .paused_links import PausedLink
from .pools.blocked_times import BlockedTime, longest_blocking
from .pools.headroom_pools import HeadroomPool, headroom_pool
from .pools.overflows import Convolution, OverflowChain, Recombination, Splitting, overflow
from .pools.pool_overflows import OverflowEstimate, OverflowTime
from .pools.pool_risks import PoolRisk
from .pools.pool_traffic import Episodes, PacketRuns, PausedGroups
from .pools.pool_worst_cases import PoolWitness, PoolWorstCase, worst_demand
from .pools.recombined_overflows import RecombinedEstimate
from .port_guards import WatchdogAlarm
from .storms import StormSpread, storm_spread
from .watchdog_risks import WatchdogRisk, recommend_watchdog, watchdog_risk
from .watchdog_runs import WatchdogRun, watch_packets
from .watchdogs import Watchdog, simulate_watchdog

__all__ = [
    "BlockedTime",
    "BufferRow",
    "BufferTable",
    "Cable",
    "Chip",
    "Convolution",
    "CreditScenario",
    "CreditWitness",
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
    "RequiredCredits",
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
