"""Columns of the tables of numbers (a cell is a flow at a link, or at its host).

Packets are cumulative where nothing else is said, and rates are packets per step.
"""

from __future__ import annotations

# cell: what the queues need
LOST = 0  # packets dropped
SENT = 1  # packets sent
BUDGET = 2  # packets that may leave per step
QUEUE = 3  # packets that wait now
AREA = 4  # their sum over the steps since the last record
WATCH = 5  # most that ever waited in its buffer; inf where the cell before has the same
LOST_BEFORE = 6  # packets dropped up to the last record
# and diffusion-type flow control
RATE = 8  # r that it was told; 0 while the flow does not send
NEXT_QUEUE = 9  # n of the next node that it was told
MESSAGE_RATE = 10  # r on its way here
MESSAGE_QUEUE = 11  # n on its way here
WISH = 12  # its ideal rate, before it is shared
LINK_RATE = 13  # of its link: r at first
INTENSITY = 14  # alpha
GAIN = 15  # D/d per step
CELL_COLUMNS = 16

# flow: places and delays in steps
START = 0  # step of the first packet
TCP = 1  # 1: controlled by a window
EXIT = 2  # its last cell
ACK_FIRST, ACK_END, ACK_NOW = 3, 4, 5  # its ring of ACKs: begin, end, and place in it
PENDING = 6  # records of losses that the receiver has not counted
DATED = 7  # step in which what it took in last was sent
FLOW_COLUMNS = 8

# tally: sums
DELIVERED = 0  # packets that came to the receiver
ENTERED = 1  # over the steps since the last record: packets between first node and receiver, less
LOST_AREA = 2  # this sum of all that was lost
ALL_LOST = 3  # packets dropped
FINISHED = 4  # when the last packet was delivered, s; nan: not yet
FIRST_LOSS = 5  # when the first packet was lost, s; nan: none
TALLY_COLUMNS = 6

# ack: on its way to the sender, by step
ACKS, ADVANCING, NEW_UP_TO, MARKED = 0, 1, 2, 3
ECHO = 4  # when the last of what is answered was sent, in steps
ACK_COLUMNS = 5

# red: random early detection
LOW, HIGH, WEIGHT, MAX_P, GENTLE = 0, 1, 2, 3, 4
UNIT = 5  # what a packet counts, in the unit of the thresholds
ECN = 6
AVERAGE = 7  # of the queue
OWED = 8  # packets still to be dropped; below zero: how far the next one is
VICTIM = 9  # the cell that owes them
RED_COLUMNS = 10

# pairs: a link that pauses and one that is paused (-1 - flow: the access link of its host)
PAUSING, PAUSED, WAIT, QUANTA, ON, UNTIL = 0, 1, 2, 3, 4, 5

# runs of links whose cells are served one by one, and whose packets take equally long
FIRST, END = 0, 1  # cells
FLOWS = 2  # that have one buffer
ALIKE = 3  # FLOWS if that is 1 or 2; 0: the run is one buffer, of more or with unequal ways
ONE = 4  # 1, unsigned as they all are
