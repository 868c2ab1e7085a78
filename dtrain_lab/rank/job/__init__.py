"""One rank of a job: the script made from a notebook, what is set up before it, and what its cells show."""
