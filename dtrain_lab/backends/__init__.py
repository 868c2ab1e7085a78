"""Back-ends: start heads, node agents and job scripts on nodes, and find out whether they still run.

One contract (`base.Backend`) for clusters and jobs; `registry` finds an implementation by its name, and
`services.policy.backends` keeps one instance of each per process. Runs in clients and in the head. May import
the machine and the subjects only.
"""
