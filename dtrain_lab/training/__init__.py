"""What users call inside a rank: `dt.step`, `dt.log`, `dt.checkpoint`. Runs in ranks; imports torch and core.

Without a world around it (plain torchrun, a single process) each of them still works, as far as it can.
"""
