# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..rules.linux.bic import LinuxBIC
from ..rules.linux.cdg import LinuxCDG
from ..rules.linux.cubic import LinuxCUBIC
from ..rules.linux.highspeed_tcp import LinuxHSTCP
from ..rules.linux.htcp import LinuxHTCP
from ..rules.linux.hybla import LinuxHybla
from ..rules.linux.illinois import LinuxIllinois
from ..rules.linux.lp import LinuxLP
from ..rules.linux.nv import LinuxNV
from ..rules.linux.scalable import LinuxScalable
from ..rules.linux.vegas import LinuxVegas
from ..rules.linux.veno import LinuxVeno
from ..rules.linux.westwood import WestwoodPlus
from ..rules.linux.yeah import LinuxYeAH

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
