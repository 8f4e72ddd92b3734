"""The public functions of tables; `anonrisk.accessor` binds each of them as a method of `.anon`."""
