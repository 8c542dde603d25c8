"""Identities between the columns of a row that the bundled tables fulfil: an edited cell breaks them, whatever its checksum.

The meanings of the columns (`validation.evidence.provenance`) say why each holds. It is checked in every table that has all
its columns.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from hopflow.errors import DamagedDataError
from validation import evidence, manifest

if TYPE_CHECKING:
    import pandas as pd

PRINTED = 2.5e-5
"""Relative rounding error of a quantity and of the product of two squares, of numbers that are printed with six digits."""


class Identity(NamedTuple):
    """Two expressions in columns that are equal in every row.

    Attributes
    ----------
    left, right
        As for `pandas.DataFrame.eval`. Without ``right``, ``left`` is the same number in all rows of a table.
    within
        By how much they may differ beside `PRINTED`.
    beside
        Columns that a table has to have besides those of the expressions.
    """

    left: str
    right: str = ""
    within: float = 0.0
    beside: tuple[str, ...] = ()

    def columns(self) -> set[str]:
        """Return the columns that a table needs."""
        return {*re.findall(r"[a-z]\w*", f"{self.left} {self.right}"), *self.beside}

    @property
    def is_of_counts(self) -> bool:
        """Whether both sides are sums of counts, which are equal without a rounding error."""
        return bool(self.right) and not re.search("[*/]", self.left + self.right)

    def broken(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that do not fulfil it, with the numbers of both sides; a row with an empty cell fulfils it.

        Examples
        --------
        >>> import pandas as pd
        >>> from validation.row_checks import Identity
        >>> rows = pd.DataFrame({"p": [0.1, 0.3], "drops": [1, 2], "arrivals": [10, 10]})
        >>> Identity("p", "drops / arrivals").broken(rows)
           left  right
        1   0.3    0.2
        """
        import pandas as pd

        left = np.asarray(frame.eval(self.left), dtype=np.float64)
        left = np.where(np.isfinite(left), left, np.nan)
        right = np.asarray(frame.eval(self.right) if self.right else np.nanmedian(left))
        sides = pd.DataFrame({"left": left, "right": right.astype(np.float64)}).dropna()
        apart = (sides["left"] - sides["right"]).abs()
        rounding = 0.0 if self.is_of_counts else PRINTED * sides.abs().max(axis=1)
        return sides[apart > self.within + rounding]


QUEUE = 25.0
"""Packets that queues of malhotra2005 hold at most, with those in transmission."""
IDENTITIES = (
    Identity("rate_variance", "rate_cov**2 * rate**2"),
    Identity("arrivals + queued_before", "departures + drops + queued_after"),
    Identity("arrivals + queued_begin", "departures + drops + queued_end"),
    Identity("p", "drops / arrivals"),
    Identity("p_event", "loss_events / arrivals"),
    Identity("loss", "drops / arrivals", beside=("departed_bytes",)),
    Identity("mean_wait * (arrivals - drops) / mean_queue", beside=("departed_bytes",)),
    Identity("departures / rate", beside=("rate_cov",)),
    Identity("p", "drops / sent", beside=("p_nominal",)),
    Identity("p_event", "loss_events / sent", beside=("p_nominal",)),
    Identity("p_nominal", "1 / packets_per_loss"),
    Identity("rate", "sent / duration"),
    Identity("goodput", "delivered / duration", beside=("p_nominal",)),
    Identity("goodput", "acked / duration"),
    Identity("goodput_bits", "12000 * goodput"),
    Identity("few_events", "loss_events < 50"),
    Identity("total_sent", "total_delivered + total_queue_drops + total_random_drops + total_stored"),
    Identity("utilisation * rate * duration", "12000 * departures"),
    Identity("arrivals", "accepted_1 + dropped_1"),
    Identity("accepted_1", "sent_1 + left_1"),
    Identity("sent_1", "accepted_2 + dropped_2"),
    Identity("accepted_2", "sent_2 + left_2"),
    Identity("delivered", "sent_2"),
    Identity("throughput * measured_time", "effective_rate_2 * measured_time", QUEUE),
    Identity("effective_rate_1 * measured_time", "(effective_rate_2 + loss_rate_2) * measured_time", QUEUE),
    Identity("total_host_offered", "total_host_dropped + total_host_sent + total_host_left"),
    Identity("total_host_sent", "total_on_link_a + total_accepted_1 + total_dropped_1"),
    Identity("total_accepted_1", "total_sent_1 + total_left_1"),
    Identity("total_sent_1", "total_accepted_2 + total_dropped_2"),
    Identity("total_accepted_2", "total_sent_2 + total_left_2"),
    Identity("total_received", "total_sent_2"),
    Identity("retransmission_rate * measured_time", "retransmissions"),
    Identity("timeout_rate * measured_time", "timeouts"),
    Identity("pause_message_rate * measured_time", "pause_messages"),
    Identity("loss_rate_1 * measured_time", "dropped_1", beside=("total_dropped_1",)),
    Identity("loss_rate_2 * measured_time", "dropped_2", beside=("total_dropped_2",)),
    Identity("goodput * measured_time", "data / 1434"),
    Identity("offered", "in_host + in_nodes + on_links + dropped + received"),
    Identity("arrivals", "departures + target_drops + background_drops + stored"),
    Identity("arrivals", "departures + target_drops + background_drops + queued"),
    Identity("arrived", "dropped + departed + waiting"),
)  # fmt: skip
"""What is checked."""


def verify() -> int:
    """Check all identities; return how many tables have any.

    Raises
    ------
    DamagedDataError
        Naming the first row that breaks one, with both sides.

    Examples
    --------
    >>> from validation import row_checks
    >>> row_checks.verify() > 100
    True
    """
    count = 0
    for case in evidence.cases():
        for file, about in evidence.provenance(case)["files"].items():
            identities = [each for each in IDENTITIES if each.columns() <= set(about["columns"])]
            if not identities:
                continue
            count += 1
            frame = evidence.frame(case, file.split(".")[0])
            for identity in identities:
                if len(rows := identity.broken(frame)):
                    _refuse(manifest.DATA / case / file, frame[about["index"]], identity, rows)
    return count


def _refuse(path: Path, keys: pd.DataFrame, identity: Identity, rows: pd.DataFrame) -> NoReturn:
    left, right = rows.iloc[0]
    row = ", ".join(f"{name} {value}" for name, value in keys.loc[rows.index[0]].items())
    equal = f"{identity.right} is {right:g}" if identity.right else f"it is {right:g} in others"
    raise DamagedDataError(
        f"{path}: {len(rows)} of {len(keys)} rows do not add up, first {row}: {identity.left} is {left:g}, but {equal}"
    )
