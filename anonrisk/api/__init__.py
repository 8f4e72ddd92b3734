"""The public functions of tables, one a file, which has its name.

`anonrisk.accessor` finds them here and binds each as a method of `.anon`; ``python3 dev.py stubs``
writes them into the package.
"""
