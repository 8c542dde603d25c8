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

# tcp: a TCP sender and its receiver, one row per flow
ACKED = 0  # A: cumulative acknowledgement as the sender knows it, packets
NEXT = 1  # next sequence number to send
HIGHEST = 2  # one beyond the highest ever sent
RECOVER = 3  # losses below this one belong to an episode already punished
FAST = 4  # 1 in fast recovery
DUPLICATES = 5  # duplicate ACKs in a row
INFLATION = 6  # packets by which fast recovery inflates the window; < 0 in the first step
HELD = 7  # resent packets that arrived in part, not yet looked at
DEADLINE = 8  # when the retransmission timer fires, s; inf: not running
SRTT = 9  # smoothed round-trip time, s; 0: none yet
RTT_VAR = 10  # its mean deviation, s
BACKOFF = 11  # factor on the timeout
TIMED = 12  # sequence number being timed; -1: none
TIMED_AT = 13  # when it was sent, s
EMITTED = 14  # cumulative emission, packets
RECEIVED = 15  # position of the receiver in emission order, packets
UP_TO = 16  # U: cumulative acknowledgement of the receiver
SEEN = 17  # H: one beyond the highest sequence number seen by the receiver
TIMEOUTS = 18  # number of timeouts
EPISODES = 19  # number of loss events punished by the window rule
PARTIAL = 20  # 1 after the first partial ACK of a recovery (the timer restarts only there)
BROKEN = 21  # what is missing and has not made a whole packet yet
HELD_GONE = 22  # of HELD, what is missing
CLEAN = 23  # cells of the ring of holes below this sequence number hold this round's holes
RTT = 24  # round-trip time of what was acknowledged last, s
LOG_FIRST, LOG_END = 25, 26  # entries of the emission log: first and one past the last
LOG_AT, LOG_MASK = 27, 28  # where its ring begins in `log` (entries of two), and its size less 1
HOLES_AT, HOLES_MASK = 29, 30  # the same for the two rings in `holes`: missing now, and ever lost
KIND = 31  # which window rule
RECOVERY = 32  # and how it recovers: TAHOE, RENO or NEWRENO
MAX_WINDOW = 33  # packets
SIZE = 34  # packets to send; inf: without end
OFFSET = 35  # sequence number less position in emission order in the last stretch of the log
TIMEOUT = 36  # s: how long the timer runs
TCP_COLUMNS = 37  # the rule's state begins here, cwnd first

# how a sender recovers: RECOVERY
TAHOE, RENO, NEWRENO = 0, 1, 2

# queue types of links: per-flow rates; FIFO; RED on FIFO; fair shares and priorities; a FIFO queue
# at a rate of its own per input
RATED, SHARED, RANDOM, DIVIDED, PORTS = 0, 1, 2, 3, 4

# fault: why a run stops: an emission log is full, a window or a queue is not a number
LOG_FAULT, WINDOW_FAULT, QUEUE_FAULT = 1, 2, 3
