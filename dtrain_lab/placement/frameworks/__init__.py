"""Frameworks besides torch: which variables each rank gets so that ranks find each other.

Pure values: a plan is made from the notebook's strategy and the job's size, and each rank's variables from
that plan and the addresses that are known when the job starts. Read by back-ends, node agents and the check.
"""
