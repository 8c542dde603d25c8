"""Modules of Linux 2.6.22, which ns-2.35 has taken over: what ``kernel="2.6.22"`` selects."""
