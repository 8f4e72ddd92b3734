from anonrisk.gx import *  # noqa: D100, F403, INP001 - drop this file into gx/plugins and import it after get_context()
