"""Figures from what ranks record: steps, throughput, communication, stragglers. Pure arithmetic."""
