"""Remote references of RPC, which torch can release in the first session of a process only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch.distributed.rpc.api

from dtrain_lab.rank.torch import names

RELEASED_WITHIN = timedelta(seconds=2)


def shut_down_soon() -> None:
    """Make `rpc.shutdown` of further sessions wait 2 s for references, not 100 s.

    After the first `rpc.shutdown` of a process torch tells no owner any more that a reference was deleted, so
    owners wait in vain. What they still hold is freed with the process.
    """
    if not names.has(names.REFERENCES):
        return
    api: Any = torch.distributed.rpc.api
    usual = api._delete_all_user_and_unforked_owner_rrefs
    api._delete_all_user_and_unforked_owner_rrefs = lambda: usual(RELEASED_WITHIN)
