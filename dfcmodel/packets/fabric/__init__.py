"""Lossless fabrics: switches with PFC and hosts with network interfaces, by a kernel of their own."""
