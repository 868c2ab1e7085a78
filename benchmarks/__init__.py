"""One file per figure that we claim; peers run side by side in the same run. `make bench` runs them all."""
