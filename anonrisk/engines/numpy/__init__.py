"""Counting in process: codes and values, whatever library the table is of."""
