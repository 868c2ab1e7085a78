"""Whether a job's script begins with torch's process group and device, as a cluster's cells do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dtrain_lab.wire.kinds import Framework

FRAMEWORKS = r"\b(torch|torch_npu|device|transformers|lightning|accelerate|deepspeed|torchvision)\b"


def has_torch(sources: Sequence[str], framework: Framework, local_torch_text: str | None) -> bool:
    """Whether a script has torch's process group and device.

    Args:
        sources: converted sources of its cells.
        framework: what they train with.
        local_torch_text: text of files that the cells import, where these, or packages that only the
            environment has, stand for torch; None if none does.
    """
    if framework != "torch":
        return False
    return local_torch_text is not None or re.search(FRAMEWORKS, "\n".join(sources)) is not None
