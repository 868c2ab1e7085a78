"""The back-end `slurm`: worlds as jobs of a scheduler, asked here or through an SSH login node."""

from dtrain_lab.backends.slurm.backend import SlurmBackend

__all__ = ["SlurmBackend"]
