"""Cells on a rank: run them, report their failures, and cite code by the notebook's lines."""
