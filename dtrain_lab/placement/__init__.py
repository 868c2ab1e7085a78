"""Placement of ranks: profiles, policy, nodes and ranks, slots, network, quota. Pure."""
