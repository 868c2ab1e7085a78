"""Admission of jobs on hosts without a scheduler: `python -m dtrain_lab.node admit` waits for a job's slots.

`slot_queue` is the queue of one host; `first_host` and `other_host` agree on a job of several hosts.
"""
