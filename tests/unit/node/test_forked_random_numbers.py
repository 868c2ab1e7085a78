"""What a forked rank makes its own."""

from __future__ import annotations

import random

import numpy as np

from dtrain_lab.node.forkserver import children


def test_a_forked_rank_has_random_numbers_of_its_own() -> None:
    """Also of numpy, where the fork server has loaded them."""
    state, numbers = random.getstate(), np.random.get_state()
    try:
        drawn = []
        for _ in range(2):
            random.seed(1)
            np.random.seed(1)
            children.reseed()
            drawn.append((random.random(), np.random.random()))
        assert drawn[0][0] != drawn[1][0]
        assert drawn[0][1] != drawn[1][1]
    finally:
        random.setstate(state)
        np.random.set_state(numbers)
