"""Recodings as data, under the path that users import them by."""

from anonrisk.measures.recode import *  # noqa: F403
from anonrisk.measures.recode import __all__  # noqa: F401
