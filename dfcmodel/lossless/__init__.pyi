# The public names of the package by the modules that define them: read on first use, and by type checkers.
from . import results as results
from .audits.audits import audit_headroom
from .audits.buffer_tables import BufferRow, BufferTable, Watermark
from .audits.identification import identify
from .audits.switch_chips import chip, chips
from .audits.table_files import read_table
from .credit_windows import credits
from .cycles.deadlocks import buffer_cycles, deadlock, line_rate_scenario
from .cycles.free_routings import class_per_hop, class_per_turn, up_down
from .datasheets import CreditDatasheet, PauseDatasheet
from .guards.storms import storm_spread
from .guards.watchdog_risks import recommend_watchdog, watchdog_risk
from .guards.watchdog_runs import watch_packets
from .guards.watchdogs import Watchdog, simulate_watchdog
from .paused.frames import search_worst, witness
from .paused.headroom_tables import headroom_table
from .paused.headrooms import headroom
from .paused.link_retries import ErrorBursts, link_retry
from .paused.paused_links import PausedLink
from .pools.blocked_times import longest_blocking
from .pools.headroom_pools import headroom_pool
from .pools.overflows import Convolution, OverflowChain, Recombination, Splitting, overflow
from .pools.pool_traffic import Episodes, PacketRuns, PausedGroups
from .pools.pool_worst_cases import worst_demand
from .topologies.cabled_fabrics import Cable, Fabric
from .topologies.fabrics import dragonfly, fat_tree, leaf_spine, rail_optimized, torus, with_hosts
from .topologies.routes import Route

__all__ = [
    "BufferRow",
    "BufferTable",
    "Cable",
    "Convolution",
    "CreditDatasheet",
    "Episodes",
    "ErrorBursts",
    "Fabric",
    "OverflowChain",
    "PacketRuns",
    "PauseDatasheet",
    "PausedGroups",
    "PausedLink",
    "Recombination",
    "Route",
    "Splitting",
    "Watchdog",
    "Watermark",
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
