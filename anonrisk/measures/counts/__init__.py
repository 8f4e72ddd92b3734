"""All that crosses the border between a table and arithmetic: questions, and frozen counts."""
