"""Summaries of the values of expressions, which ranks send instead of the values.

Runs in ranks; imported when a value is looked at.
"""
