"""A rank's connection to its node agent and the head, and how it reads orders."""
