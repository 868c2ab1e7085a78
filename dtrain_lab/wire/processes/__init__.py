"""Settings that our processes get when they start, and files by which they are found."""
