"""What dtrain-lab reports of itself: its processes' logs, and the archive for a bug report."""
