"""Programs that show what the library is for; `anonrisk example --list` names them.

Each is a module with a docstring whose first line says what it does, and a function
``main(arguments)`` that prints and gives an exit code.
"""
