"""Queues of ports: buffers, managers, switch programs."""
