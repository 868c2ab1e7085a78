"""Jobs: submit, list, read, cancel, resume, delete."""
