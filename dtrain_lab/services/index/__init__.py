"""The index of jobs: an SQLite file (`store`, `file`), read off the event loop (`async_index`).

It is a cache: `rebuild` recreates it from the `job.json` in each job's folder.
"""
