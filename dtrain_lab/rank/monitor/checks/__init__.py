"""Checks during training: ranks that diverge, or disagree on a collective, where torch raises no error."""
