# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..audits.audits import TableAudit
from ..audits.identification import Identification
from ..audits.row_audits import RowAudit
from ..audits.switch_chips import Chip
from ..audits.verdicts import RowVerdict
from ..credit_runs import CreditScenario, CreditWitness
from ..credit_windows import RequiredCredits
from ..cycles.buffer_dependencies import Dependencies
from ..cycles.deadlocks import Deadlock
from ..cycles.free_routings import UpDown
from ..guards.port_guards import WatchdogAlarm
from ..guards.storms import StormSpread
from ..guards.watchdog_risks import WatchdogRisk
from ..guards.watchdog_runs import WatchdogRun
from ..paused.frames import FrameScenario, Witness
from ..paused.headrooms import Headroom
from ..paused.link_retries import LinkRetry
from ..pools.blocked_times import BlockedTime
from ..pools.headroom_pools import HeadroomPool
from ..pools.pool_overflows import OverflowEstimate, OverflowTime
from ..pools.pool_risks import PoolRisk
from ..pools.pool_worst_cases import PoolWitness, PoolWorstCase
from ..pools.recombined_overflows import RecombinedEstimate

__all__ = [
    "BlockedTime",
    "Chip",
    "CreditScenario",
    "CreditWitness",
    "Deadlock",
    "Dependencies",
    "FrameScenario",
    "Headroom",
    "HeadroomPool",
    "Identification",
    "LinkRetry",
    "OverflowEstimate",
    "OverflowTime",
    "PoolRisk",
    "PoolWitness",
    "PoolWorstCase",
    "RecombinedEstimate",
    "RequiredCredits",
    "RowAudit",
    "RowVerdict",
    "StormSpread",
    "TableAudit",
    "UpDown",
    "WatchdogAlarm",
    "WatchdogRisk",
    "WatchdogRun",
    "Witness",
]
