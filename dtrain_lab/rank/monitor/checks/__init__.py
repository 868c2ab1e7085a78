"""Checks during training: ranks that diverge or call different collectives, collectives that no hook sees."""
