"""What Spark and databases are asked alike, written once in Spark's dialect of SQL."""
