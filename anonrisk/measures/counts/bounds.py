"""How much of a table may become counts: beyond, a question is refused."""

# More groups than this are not a summary any more.
MAX_GROUPS = 10_000
# Nor does anybody look at more kinds of class, or order more values, than this.
MAX_PROFILES = 100_000
MAX_ORDERED = 100_000
# Classes that a plan may be made from.
MAX_CLASSES = 500_000
# The same where all that is brought of a class is a few whole numbers.
MAX_PLACED = 4_000_000
# Bins that numbers are put into before they are counted, where there are too many classes.
FINE_BINS = 128
# Sets of columns that records miss, where a missing cell matches every value: every two of them
# are compared.
MAX_PATTERNS = 256
# A bit each.
MAX_WILDCARD_COLUMNS = 62
# Combinations of classes that linked tables are joined to: a person has each of theirs in one table
# with each of theirs in the others.
MAX_COMBINATIONS = 10_000_000
# Where a missing cell matches every value classes overlap, and may have more sizes than the square
# root of the records.
MAX_SIZES = 1_000_000
