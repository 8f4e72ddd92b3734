"""The commands, a module each; `anonrisk.cli` says what one has to have."""
