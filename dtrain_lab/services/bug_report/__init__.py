"""dtrain-lab's own troubles: logs of its processes, and the archive that users attach to a bug report."""
