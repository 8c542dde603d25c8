# The names of hopflow for type checkers and editors; those of the packages are loaded on first use.
# isort: skip_file
from dfcmodel import *
from markov import *  # type: ignore[assignment] # from_networkx is dfcmodel's
from responsefn import *
from dfcmodel import from_networkx as from_networkx
import dfcmodel as dfcmodel, markov as markov, responsefn as responsefn

from hopflow.functions import maximum as maximum, minimum as minimum, where as where
from hopflow.results import Interrupted as Interrupted, NotSolvedError as NotSolvedError
from hopflow.results import Status as Status
from hopflow.sweeps.planning import sweep as sweep
from hopflow.units import gbps as gbps, mbps as mbps, ms as ms, to_mbps as to_mbps, us as us

__version__: str
__all__ = [
    "Interrupted",
    "NotSolvedError",
    "Status",
    "gbps",
    "maximum",
    "mbps",
    "minimum",
    "ms",
    "sweep",
    "to_mbps",
    "us",
    "where",
]
