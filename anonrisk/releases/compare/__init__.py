"""Two releases of one table: what they tell together."""
