"""The packet level: the scenarios of the fluid, packet by packet."""
