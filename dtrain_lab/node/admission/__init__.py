"""A job waits for slots on hosts without a scheduler: `python -m dtrain_lab.node turn`."""
