"""The head: the one process that owns a world. Runs on the world's first node; never imports torch.

`python -m dtrain_lab.head` starts one without ranks (a warm head); the first `Launch` makes it a world's.
Nothing imports this package: it is started, and spoken to in `core.wire` messages.
"""
