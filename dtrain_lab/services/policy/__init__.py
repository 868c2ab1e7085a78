"""Administrators' limits, and options of users."""
