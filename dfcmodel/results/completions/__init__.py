"""Completion times of transfers and jobs, and their bounds."""
