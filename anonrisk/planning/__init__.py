"""Planning: how coarse each column must become, found by arithmetic on one tally."""
