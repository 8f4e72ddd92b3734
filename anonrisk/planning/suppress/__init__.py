"""Suppression: which classes, records or cells are left out."""
