"""Every entry has a source."""

from __future__ import annotations

import pytest

import responsefn


@pytest.mark.parametrize("entry", responsefn.catalogue().entries, ids=repr)
def test_every_entry_has_a_source(entry):
    text = entry.cite()
    assert "source: " in text
    if "RFC" in text or "SIGCOMM" in text or "INFOCOM" in text:
        assert "doi:10." in text
