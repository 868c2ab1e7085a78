"""Sweeps: create, list, stop, resume; and the driver, a process of its own for each sweep that has not ended.

`python -m dtrain_lab.services.sweeps FOLDER` is the driver. It holds the folder's lock, and it alone writes
`sweep.json`. A driver that died is replaced by a Jupyter server, the terminal or the Python API.
"""
