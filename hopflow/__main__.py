"""``python -m hopflow``: the ``hopflow`` command."""

from __future__ import annotations

from hopflow.shell import main

main()
