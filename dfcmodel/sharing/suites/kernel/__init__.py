"""The compiled loop of connections that are fed events. Its one module is copied and compiled as a whole (`jit`)."""
