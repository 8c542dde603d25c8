# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..rules.linux.bic import LinuxBIC
from ..rules.linux.cubic import LinuxCUBIC
from ..rules.linux.highspeed_tcp import LinuxHSTCP
from ..rules.linux.htcp import LinuxHTCP
from ..rules.linux.illinois import LinuxIllinois
from ..rules.linux.scalable import LinuxScalable
from ..rules.linux.vegas import LinuxVegas
from ..rules.linux.westwood import WestwoodPlus

__all__ = [
    "LinuxBIC",
    "LinuxCUBIC",
    "LinuxHSTCP",
    "LinuxHTCP",
    "LinuxIllinois",
    "LinuxScalable",
    "LinuxVegas",
    "WestwoodPlus",
]
