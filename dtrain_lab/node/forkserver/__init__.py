"""A process that has loaded torch and forks ranks: its server, its messages, and its clients in node agents.

A cluster's agent starts one of its own (`client`), and hands it to its successor (`handover`). The agents of
a sweep's trials share one (`trials`).
"""
