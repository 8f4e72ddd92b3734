"""Predictions from a model: what will be true of a table that does not exist yet."""
