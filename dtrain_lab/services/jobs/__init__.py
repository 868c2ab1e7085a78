"""Jobs for all clients: submit, list, read, cancel, resume, delete.

`jobs` is the interface. `status` determines a job's state, `submission` hands the job to its back-end,
`reader` and `log` read what the job has written.
"""
