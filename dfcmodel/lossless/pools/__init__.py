"""Headroom shared by the ports and classes of a switch: worst cases, risks, and safe times of blocked outputs."""
