"""A release: its tables, files and terms, its check, and who answers for it."""
