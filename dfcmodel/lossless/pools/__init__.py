"""Headroom shared by the ports and classes of a switch: worst cases, risks, and how long outputs may be blocked."""
