"""Readers of connections against made-up ones."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    read_qlog,
    read_ss,
)


def test_readers_say_when_there_is_nothing():
    with pytest.raises(ValueError, match="no connection with rtt"):
        read_ss("ESTAB 0 0 1.1.1.1:80 2.2.2.2:90\n cubic rto:204")
    with pytest.raises(ValueError, match="no trace with packet_sent"):
        read_qlog('{"traces": [{"events": []}]}')


def test_ss_reads_several_connections():
    text = (
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:5001 10.0.0.2:41000\n\t cubic rtt:40/2 mss:1000 cwnd:10 "
        "data_segs_out:1000 retrans:0/10 delivery_rate 8Mbps\n"
        "ESTAB 0 0 [::1]:22 [::1]:4242\n\t reno rtt:0.5/0.1 mss:500 data_segs_out:200 "
        "delivery_rate 400Kbps\n"
    )
    found = read_ss(text).to_pandas()
    np.testing.assert_allclose(found["p"], [0.01, 0.0])
    np.testing.assert_allclose(found["rtt"], [0.04, 0.0005])
    np.testing.assert_allclose(found["rate"], [1000.0, 100.0])
