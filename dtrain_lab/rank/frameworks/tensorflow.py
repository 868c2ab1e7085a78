"""TensorFlow in a rank: names of strategies that have moved between its releases."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dtrain_lab.placement.frameworks.tensorflow import STRATEGIES
from dtrain_lab.rank.import_hooks import after_import


def with_moved_names() -> None:
    """Let notebooks find a strategy in `tf.distribute` and in `tf.distribute.experimental`, once imported.

    A release has each in one of the two, or in both.
    """
    after_import("tensorflow", _alias)


def _alias(module: ModuleType) -> None:
    tensorflow: Any = module
    stable, old = tensorflow.distribute, tensorflow.distribute.experimental
    for name in STRATEGIES:
        for here, other in ((stable, old), (old, stable)):
            if not hasattr(here, name) and hasattr(other, name):
                setattr(here, name, getattr(other, name))
