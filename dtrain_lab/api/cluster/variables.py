"""Variables of a cluster's ranks: assigned, fetched, compared and copied."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from dtrain_lab.api.connected import ConnectedCluster
from dtrain_lab.api.portal import Portal
from dtrain_lab.cells import rank_sets
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.services.views import exchange


class Variables(ConnectedCluster):
    """Exchanges variables with a cluster's ranks, through ipyparallel's views; part of `Cluster`."""

    def __init__(self, portal: Portal, connection: ClusterConnection) -> None:
        super().__init__(portal, connection)
        self._views: Any = None

    def push(self, ranks: rank_sets.Asked = None, **values: Any) -> int:
        """Assign values on ranks: `cluster.push(lr=0.1)`.

        Arrays and tensors, also inside state dicts and models, go through shared memory that the ranks of a
        machine map copy-on-write.

        Args:
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            values: Name → value.

        Returns:
            Total size of the arrays and tensors in bytes.

        Raises:
            BadRequest: A value can't be serialized.
        """
        return exchange.push(self._view_of(ranks), values, None)

    async def push_async(self, ranks: rank_sets.Asked = None, **values: Any) -> int:
        """Async twin of `push`.

        Args:
            ranks: 0, [0, 2] or "0,2-3"; None for all.
            values: Name → value.
        """
        return await asyncio.to_thread(self.push, ranks, **values)

    def push_watched(self, values: dict[str, Any], progress: Callable[[int, int], None]) -> int:
        """Push to all ranks; `progress` is called with the bytes sent and the total bytes.

        Args:
            values: Name → value.
            progress: Called with the bytes sent and the total bytes.
        """
        return exchange.push(self._view_of(None), values, progress)

    def pull(self, name: str, ranks: rank_sets.Asked = None) -> dict[int, Any]:
        """Return a variable's value by rank; for a DDP model, the wrapped module.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.

        Raises:
            BadRequest: The name is invalid, or a rank has no such variable.
        """
        view = self._view_of(ranks)
        return dict(zip(view.targets, exchange.pull(view, name), strict=True))

    async def pull_async(self, name: str, ranks: rank_sets.Asked = None) -> dict[int, Any]:
        """Async twin of `pull`.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
        """
        return await asyncio.to_thread(self.pull, name, ranks)

    def diff(self, name: str, ranks: rank_sets.Asked = None) -> exchange.Diff:
        """Compare a variable between ranks: a number, tensor, state dict, model or optimizer.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.

        Raises:
            BadRequest: The name is invalid, or a rank has no such variable.
        """
        return exchange.compare(self._view_of(ranks), name)

    async def diff_async(self, name: str, ranks: rank_sets.Asked = None) -> exchange.Diff:
        """Async twin of `diff`.

        Args:
            name: Name of the variable.
            ranks: 0, [0, 2] or "0,2-3"; None for all.
        """
        return await asyncio.to_thread(self.diff, name, ranks)

    def view(self) -> Any:
        """Return an ipyparallel `DirectView` of all ranks, once every rank is registered with ipyparallel.

        The first view starts ipyparallel's controller, which takes a second or two. Calls are queued
        with the cluster's cells: all ranks see calls and cells in the same order. Other ipyparallel clients
        have no such guarantee.
        """
        return self._view_of(None)

    def copy(self, source: int, ranks: Sequence[int]) -> str:
        """Copy the variables of a rank to ranks that have just been restarted.

        Args:
            source: Rank to copy from.
            ranks: Ranks to copy to.

        Returns:
            A sentence that says what was done, and what could not be copied.
        """
        names, left, size = exchange.copy_variables(self._view_of([source]), self._view_of(ranks))
        return exchange.copied_sentence(ranks, source, names, left, size)

    def _view_of(self, ranks: rank_sets.Asked) -> Any:
        if self._views is None:
            from dtrain_lab.services.views.locked_views import (
                Views,
            )  # importing ipyparallel's client takes half a second

            self._views = Views(self._portal, self._connection)
        targets = self._portal.call(self.rank_set(ranks))
        size = self.snapshot().world.size
        return self._views.of(targets if targets is not None else range(size), size)

    def _close_views(self) -> None:
        if self._views is not None:
            self._views.close()
            self._views = None
