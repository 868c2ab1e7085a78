"""The tests that matter, in environments other than the one of `make test`."""
