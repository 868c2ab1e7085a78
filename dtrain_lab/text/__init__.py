"""How values read in sentences: lists, ranks, durations, sizes, shares, states. Pure; for every process."""
