"""Metrics computed from the ranks' records: steps, throughput, communication, stragglers. Pure arithmetic."""
