"""Sweeps as values: search spaces, the state machine of trials, early stopping, the next trial. Pure.

The driver of a sweep (`services.sweeps`) runs it, and clients parse search spaces with it. Optuna is imported
when a sampler or pruner is needed, and keeps no state: its study is built from the sweep's own record.
"""
