"""Pure arithmetic on counts: one file per family of measures, no table in sight."""
