"""The ``hopflow`` command: its entry point and shared parts of all commands."""
