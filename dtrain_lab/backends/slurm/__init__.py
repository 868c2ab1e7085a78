"""The back-end `slurm`: worlds as Slurm jobs, through the local commands or an SSH login node."""
