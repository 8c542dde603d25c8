# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..audits.audits import TableAudit
from ..audits.identification import Identification
from ..audits.row_audits import RowAudit
from ..audits.switch_chips import Chip
from ..audits.verdicts import RowVerdict
from ..buffer_dependencies import Dependencies
from ..credit_runs import CreditScenario, CreditWitness
from ..credit_windows import RequiredCredits
from ..deadlocks import Deadlock
from ..frames import FrameScenario, Witness
from ..free_routings import UpDown
from ..headrooms import Headroom
from ..link_retries import LinkRetry
from ..pools.blocked_times import BlockedTime
from ..pools.headroom_pools import HeadroomPool
from ..pools.pool_overflows import OverflowEstimate, OverflowTime
from ..pools.pool_risks import PoolRisk
from ..pools.pool_worst_cases import PoolWitness, PoolWorstCase
from ..pools.recombined_overflows import RecombinedEstimate
from ..port_guards import WatchdogAlarm
from ..storms import StormSpread
from ..watchdog_risks import WatchdogRisk
from ..watchdog_runs import WatchdogRun

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
