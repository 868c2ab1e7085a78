"""The terminal: `dtrain-lab …`. A door; one file per command group. May import api and services."""
