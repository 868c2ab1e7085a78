"""The index of jobs: a file that can be made again from the folders of jobs."""
