"""Keys and what is made with them: digests, seals, chains of hashes, and a keeper of pseudonyms.

The keeper issues pseudonyms, converts them between recipients, and reveals who is meant. It needs
SQLAlchemy and cryptography (``pip install anonrisk[store]``), which are imported when one is made.
"""
