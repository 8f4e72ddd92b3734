"""Files of tables before an engine reads them: which they are, how they are packed and written."""
