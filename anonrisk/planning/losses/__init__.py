"""What a plan loses, by the word that a caller writes: one file a loss."""
