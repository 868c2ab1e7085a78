"""`python -m dtrain_lab.rank.torch`: prints the features that this environment's torch lacks, one a line."""

from __future__ import annotations

from dtrain_lab.rank.torch.names import lost

for one in lost():
    print(one.text)
