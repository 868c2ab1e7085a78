"""Checks the request for a job: merges it with its profile, and finds the errors of its settings."""
