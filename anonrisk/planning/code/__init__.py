"""A plan as code that needs no anonrisk."""
