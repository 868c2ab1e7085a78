"""Cells at the head: their queue, requests about them, and the journal of their output.

Output goes to clients through `client_queues`, also to those that read too slowly; `output_offsets` tracks
what a dead or blocked rank has not delivered yet.
"""
