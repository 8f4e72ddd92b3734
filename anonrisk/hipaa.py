"""The Safe Harbor rule of HIPAA, under the path that users import it by."""

from anonrisk.planning.hipaa import safe_harbor

__all__ = ["safe_harbor"]
