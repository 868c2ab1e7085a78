"""What users call inside a rank: `dt.step`, `dt.log`, `dt.checkpoint`. Runs in ranks, with torch.

Outside a world (plain torchrun, a single process) each of them still works as far as possible.
"""
