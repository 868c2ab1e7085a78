"""Log files on this machine: those that our processes write, and copies of failed processes' logs."""
