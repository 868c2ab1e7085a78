"""The terminal: `dtrain-lab …`. A client; one file per command group. May import api and services."""
