"""The seals of what is protected: both manifests, and their SHA-256 in ``validation/manifest.py``."""

from __future__ import annotations

import re
from pathlib import Path

from hopflow.whole_files import replacing
from validation import manifest


def _protected() -> dict[str, tuple[Path, str]]:
    """Return, by the constant that has its SHA-256, the file of each manifest and what it should say."""
    return {
        "MANIFEST_SHA256": (manifest.DATA / manifest.MANIFEST, manifest.listing()),
        "PUBLISHED_SHA256": (manifest.PUBLISHED / manifest.MANIFEST, manifest.published_listing()),
    }


def changes() -> list[str]:
    """Return the files that are not as the manifests say: ``added``, ``changed`` or ``removed``, and the name."""
    found = []
    for path, now in _protected().values():
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        old, new = manifest.sums(before), manifest.sums(now)
        for name in sorted({*old, *new}):
            if name not in old:
                found.append(f"added    {name}")
            elif name not in new:
                found.append(f"removed  {name}")
            elif old[name] != new[name]:
                found.append(f"changed  {name}")
    return found


def seal(source: Path | None = None) -> dict[str, str]:
    """Write both manifests of the files as they are, and their SHA-256 into the source.

    Parameters
    ----------
    source
        The module with the constants; None is ``validation/manifest.py``.

    Returns
    -------
    SHA-256 by the name of the constant.
    """
    source = source or Path(manifest.__file__)
    text = source.read_text(encoding="utf-8")
    protected = _protected()
    sums = {constant: manifest.sha256_of(listing.encode()) for constant, (_, listing) in protected.items()}
    for constant, sha256 in sums.items():
        text, found = re.subn(rf'^{constant} = "[0-9a-f]{{64}}"', f'{constant} = "{sha256}"', text, flags=re.MULTILINE)
        if found != 1:
            raise ValueError(f"{source}: {constant} is set in {found} places; must be one")
    for path, content in (*protected.values(), (source, text)):
        with replacing(path) as scratch:
            scratch.write_bytes(content.encode())
    return sums
