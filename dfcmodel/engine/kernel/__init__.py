"""What is compiled: the state of queues, flows and links, and one step of each."""

from __future__ import annotations
