"""The two ends of a flow in a step: the receiver takes in, the sender answers, the host sends.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.columns import (
    ACK_END,
    ACK_FIRST,
    ACK_NOW,
    ACKED,
    ACKS,
    ADVANCING,
    BUDGET,
    DEADLINE,
    DELIVERED,
    ECHO,
    EMITTED,
    ENTERED,
    EXIT,
    FINISHED,
    INFLATION,
    LINK_RATE,
    MARKED,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEW_UP_TO,
    NEXT_QUEUE,
    PENDING,
    RATE,
    RECEIVED,
    RTT,
    SENT,
    SIZE,
    START,
    TCP,
    UP_TO,
)
from dfcmodel.engine.kernel.loss_records import look_back
from dfcmodel.engine.kernel.tcp_receiver import date, keep_up, receive
from dfcmodel.engine.kernel.tcp_sender import flow_on, send

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["finish", "reset_path", "step_ends", "take_in"]


def reset_path(f: int, part: float, s: State) -> None:
    """Let the nodes of flow f have been told ``part`` of their links' rates, and that nothing waits."""
    for n in range(s.path_at[f] - 1, s.path_at[f + 1]):
        c = s.path[n] if n >= s.path_at[f] else f
        s.cell[c, RATE] = part * s.cell[c, LINK_RATE]
        s.cell[c, NEXT_QUEUE] = 0.0
        s.cell[c, MESSAGE_RATE] = part * s.cell[c, LINK_RATE]
        s.cell[c, MESSAGE_QUEUE] = 0.0


def finish(f: int, now: float, s: State) -> None:
    """Note when a transfer is complete; its queues take no part in what is shared any more."""
    if s.tally[f, FINISHED] != s.tally[f, FINISHED]:
        s.tally[f, FINISHED] = now
        reset_path(f, 0.0, s)


def take_in(f: int, k: int, at: int, new: float, grid: float, s: State) -> None:
    """Let the receiver of flow f take in ``new`` packets, and put its answer at ``at`` into the ring."""
    s.ack[at, ACKS] = new
    s.ack[at, ADVANCING] = new
    s.ack[at, MARKED] = 0.0
    if s.flow[f, PENDING] > 0 or not keep_up(s.tcp, f, new):
        s.ack[at, ACKS] = 0.0
        s.ack[at, ADVANCING] = 0.0
        left = new
        while left > 0.0:
            piece = left
            came = left
            if s.flow[f, PENDING] > 0:
                piece, came, seen = look_back(f, left, grid, s)
                s.ack[at, MARKED] += seen
            answers = receive(s.tcp, s.log, s.holes, f, piece, came - piece, grid)
            s.ack[at, ACKS] += answers[0]
            s.ack[at, ADVANCING] += answers[1]
            left -= piece
    s.ack[at, NEW_UP_TO] = s.tcp[f, UP_TO]
    s.ack[at, ECHO] = date(f, k, s.tcp[f, RECEIVED], s.flow, s.emitted)


def step_ends(f: int, k: int, h: float, min_rto: float, grid: float, s: State) -> bool:
    """Do in step k what the ends of flow f do; False: its emission log is full."""
    now = k * h
    here = (k & s.mask) * s.up.shape[0]
    age = k - s.flow[f, START]
    if age < 0:
        return True
    if age == 1:  # what a start within a step kept back may go
        s.tcp[f, INFLATION] = 0.0
    elif age == 0:
        reset_path(f, 1.0, s)
    through = s.ring[here + s.flow[f, EXIT]]
    new = through - s.tally[f, DELIVERED]
    if s.flow[f, TCP] == 1:
        at = s.flow[f, ACK_NOW]
        s.flow[f, ACK_NOW] = at + 1 if at + 1 < s.flow[f, ACK_END] else s.flow[f, ACK_FIRST]
        acks = s.ack[at, ACKS]
        advancing = s.ack[at, ADVANCING]
        acked = s.ack[at, NEW_UP_TO]
        marked = s.ack[at, MARKED]
        if acks > 0.0:
            s.tcp[f, RTT] = (k - s.ack[at, ECHO]) * h
        s.ack[at, ACKS] = 0.0
        if new > 0.0:
            take_in(f, k, at, new, grid, s)
            if s.tcp[f, UP_TO] >= s.tcp[f, SIZE]:
                finish(f, now, s)
        usual = acks > 0.0 and acks == advancing and marked == 0.0
        if usual and flow_on(s.tcp, f, now, h, acks, acked, min_rto, grid):
            pass
        elif acks > 0.0 or now >= s.tcp[f, DEADLINE] or age <= 1:
            if acks == 0.0:
                advancing = 0.0
                acked = s.tcp[f, ACKED]
                marked = 0.0
            if not send(s.tcp, s.log, f, now, h, acks, advancing, acked, marked, min_rto, grid):
                return False
        s.emitted[f, k & (s.emitted.shape[1] - 1)] = s.tcp[f, EMITTED]
    else:
        n = s.schedule_at[f, 0]
        while k >= s.schedule[n + 1, 0]:
            n += 1
        s.schedule_at[f, 0] = n
        s.tcp[f, EMITTED] = min(s.tcp[f, EMITTED] + s.schedule[n, 1], s.tcp[f, SIZE])
        s.tcp[f, UP_TO] = through
        if through >= s.tcp[f, SIZE]:
            finish(f, now, s)
    s.tally[f, DELIVERED] = through
    s.cell[f, SENT] = min(s.tcp[f, EMITTED], s.cell[f, SENT] + s.cell[f, BUDGET])
    s.ring[((k + s.lag[f]) & s.mask) * s.up.shape[0] + f] = s.cell[f, SENT]
    s.tally[f, ENTERED] += s.ring[here + f] - through
    return True
