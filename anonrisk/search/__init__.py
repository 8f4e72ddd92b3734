"""Finding: which columns single people out; pure code on counts, no table in sight."""
