"""Phase-type times and Markovian arrivals: building blocks where times are not exponential."""
