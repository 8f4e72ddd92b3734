"""What will be true of a table, or of a population, that nobody has seen yet."""
