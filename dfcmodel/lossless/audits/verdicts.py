"""Verdicts on a row of a table of headrooms: its xoff compared with the required bytes."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from dfcmodel.lossless.audits.row_needs import longest_response, smallest_covered
from dfcmodel.lossless.quantities import SMALLEST_FRAME, other_ports

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.buffer_tables import BufferRow
    from dfcmodel.lossless.audits.row_needs import RowNeeds
    from dfcmodel.lossless.paused.paused_links import PausedLink

__all__ = ["INSUFFICIENT", "RowVerdict", "verdict_of"]

GENEROUS = 2.0
"""Minimum ratio of xoff to the headroom for any sizes of a generous row."""


class RowVerdict(Enum):
    """Verdicts on a row; listed, not comparable by <, from insufficient to generous; last, a row that is not judged.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> audit_headroom([BufferRow(400e9, 2000.0, 555_008)]).rows[0].verdict.value
    'impossible'
    """

    IMPOSSIBLE = "impossible"
    BELOW_STANDARD = "below the standard's response"
    FASTER_PEER = "needs a faster peer"
    NAME_DISAGREES = "its profile's name disagrees with its port"
    SHARED_POOL = "covers alone, not with the others of its pool"
    FULL_SIZE = "covers full-size frames, cell not known"
    SOME_SIZES = "covers frames of at least s bytes"
    ANY_SIZES = "covers any frame sizes"
    GENEROUS = "several times what is needed"
    NOT_JUDGED = "not judged: no response time"


INSUFFICIENT = (RowVerdict.IMPOSSIBLE, RowVerdict.BELOW_STANDARD, RowVerdict.FASTER_PEER)
"""Verdicts on rows that do not cover the response time of the standard."""


def verdict_of(row: BufferRow, needs: RowNeeds, link: PausedLink | None) -> tuple[RowVerdict, str, int | None]:
    """Return the verdict on a row, the reason, and the smallest frame size in bytes that xoff covers, or None."""
    xoff = row.xoff
    if row.no_headroom:
        return RowVerdict.IMPOSSIBLE, f"PFC without headroom: {row.no_headroom}", None
    if xoff < needs.stored:
        share = xoff / needs.cable
        reason = f"{share:.2f} of the {needs.cable:,.0f} B on the cable: no peer can stop in time"
        return RowVerdict.IMPOSSIBLE, reason, None
    if link is None or needs.standard is None or needs.equal_frames is None or needs.any_sizes is None:
        reason = f"more than the {needs.stored:,.0f} B of frames on the cable; give a response time for this rate"
        return RowVerdict.NOT_JUDGED, reason, None
    if xoff < needs.equal_frames:
        time = longest_response(link, xoff)
        reached = "no response time at all" if time is None else f"a response of {1e9 * time:,.0f} ns"
        allowed = f"{1e9 * link.response / link.rate:,.0f} ns{other_ports(link.rate, link.response)}"
        reason = f"covers {reached}, with frames of {link.lossless_mtu} B; a peer may take {allowed}"
        if xoff < needs.standard:
            reason += f"; below {needs.standard:,.0f} B, cable and response alone"
            return RowVerdict.BELOW_STANDARD, reason, None
        if time is None:
            frames = f"frames of {link.lossless_mtu} B"
            reason = f"not enough for {frames}, even from a peer that stops at once: needs smaller frames"
        return RowVerdict.FASTER_PEER, reason, None
    if link.cell == 1:
        times = xoff / needs.equal_frames
        reason = f"{times:.2f} times what frames of {link.lossless_mtu} B need; give the cell for small frames"
        return RowVerdict.FULL_SIZE, reason, None
    if xoff < needs.any_sizes:
        smallest = smallest_covered(link, xoff)
        return RowVerdict.SOME_SIZES, f"covers frames of at least {smallest} B", smallest
    times = xoff / needs.any_sizes
    reason = f"{times:.2f} times what arbitrary frame sizes need"
    return (
        (RowVerdict.GENEROUS if times >= GENEROUS else RowVerdict.ANY_SIZES),
        reason,
        SMALLEST_FRAME,
    )
