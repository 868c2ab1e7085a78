"""Every private name of torch that dtrain-lab uses, and every patch of torch.

Runs in ranks and in the fork server. No other module of `rank` reads a private name of torch. `names` says
which feature needs which name and what happens without it: where torch has renamed one, that feature is off
with a message, and ranks still start, run cells and can be interrupted.
"""
