"""Counts under a key that are kept: states, which add up, and sketches."""
