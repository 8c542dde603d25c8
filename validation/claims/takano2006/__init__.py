"""Diffusion-type flow control: claims of takano2006 (see ``published/claims.csv``).

Headline verdicts are those of the default reading: with DFC, hosts shaped to r_0, random feedback
clocks and a buffer that the flows of a node share; without, hosts directly in node 1's buffer.
The other readings stand beside them as numbers and figures.
"""
