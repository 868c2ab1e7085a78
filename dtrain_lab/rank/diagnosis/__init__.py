"""Timing of repeated training steps, whose effects are undone: for `diagnose` and *Try it* of advice."""
