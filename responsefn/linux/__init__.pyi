# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..rules.bic import LinuxBIC
from ..rules.cubic import LinuxCUBIC
from ..rules.deliveries.cdg import LinuxCDG
from ..rules.highspeed_tcp import LinuxHSTCP
from ..rules.htcp import LinuxHTCP
from ..rules.hybla import LinuxHybla
from ..rules.illinois import LinuxIllinois
from ..rules.lp import LinuxLP
from ..rules.nv import LinuxNV
from ..rules.scalable import LinuxScalable
from ..rules.vegas import LinuxVegas
from ..rules.veno import LinuxVeno
from ..rules.westwood import WestwoodPlus
from ..rules.yeah import LinuxYeAH

__all__ = [
    "LinuxBIC",
    "LinuxCDG",
    "LinuxCUBIC",
    "LinuxHSTCP",
    "LinuxHTCP",
    "LinuxHybla",
    "LinuxIllinois",
    "LinuxLP",
    "LinuxNV",
    "LinuxScalable",
    "LinuxVegas",
    "LinuxVeno",
    "LinuxYeAH",
    "WestwoodPlus",
]
