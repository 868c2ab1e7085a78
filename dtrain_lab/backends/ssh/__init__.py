"""The back-end `ssh`: worlds on hosts without a scheduler. Runs in clients."""
