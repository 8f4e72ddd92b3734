"""What was published: the ledger, and manifests of single releases."""
