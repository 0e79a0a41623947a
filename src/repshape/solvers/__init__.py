"""Ascent on a group: the readable alternation, and where to start."""
