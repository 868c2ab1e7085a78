"""Sweeps as values: search spaces, the state machine of trials, early stopping, what is tried next. Pure.

The driver of a sweep (`services.sweeps`) runs it, and clients parse search spaces with it. Optuna is imported
where a sampler or pruner is asked for, and keeps no state: its study is built from the sweep's own record.
"""
