"""What every floor stands on: names, roles, arguments, text, documents; no table, no count."""
