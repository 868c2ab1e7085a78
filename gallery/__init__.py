"""Training code that people have, run as it is: in a cell, as a job, as the printed script under torchrun."""
