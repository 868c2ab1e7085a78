"""Cells at the head: the queue, requests, the journal of their output, and clients that fall behind."""
