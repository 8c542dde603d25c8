"""``python -m validation`` is the ``hopflow`` command."""

from __future__ import annotations

from hopflow.shell import main

if __name__ == "__main__":
    main()
