"""Verdicts on a world: hang, mismatch, straggler, input-bound. Pure."""
