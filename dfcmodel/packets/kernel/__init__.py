"""The compiled packet engine: plain-Python templates into which window rules are spliced."""
