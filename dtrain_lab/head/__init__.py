"""The head: the one process that owns a world. Runs on the world's first node; never imports torch.

`python -m dtrain_lab.head` starts a head without ranks (a warm head); the first `Launch` request gives
it a world. Nothing imports this package: it is started as a process and exchanges `wire` messages.
"""
