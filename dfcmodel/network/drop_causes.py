"""Causes of drops: their names in tables of results, their words in summaries, and their numbers in both engines.

This file imports nothing: the compiled engine of the packet level imports the numbers from it.
"""

from __future__ import annotations

__all__ = [
    "AT_RANDOM",
    "BUFFER_FULL",
    "BY_FAILURE",
    "BY_MANAGER",
    "BY_POLICER",
    "BY_WATCHDOG",
    "CAUSES",
    "EXPIRED",
    "TRIMMED",
]

CAUSES = {
    "buffer": "without room",
    "manager": "dropped by the manager before the buffer was full",
    "random": "at random on the link",
    "watchdog": "by a watchdog of pauses",
    "trimmed": "cut to their headers",
    "policer": "beyond the rate of a policer",
    "failure": "on links that were down",
    "ttl": "at the end of their time to live",
}
"""Words of summaries for each cause, by its name. A manager is a queue manager or a switch program; packets are trimmed
whose header reached the receiver without its data."""
BUFFER_FULL, BY_MANAGER, AT_RANDOM, BY_WATCHDOG, TRIMMED, BY_POLICER, BY_FAILURE, EXPIRED = range(len(CAUSES))
"""Numbers of the causes, in the order of `CAUSES`."""
