"""Profiles, and what this site has."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.core.plan import default_ranks, most_ranks
from dtrain_lab.core.site import Site
from dtrain_lab.machine import local_facts
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services import profiles


class ProfilesHandler(BaseHandler):
    """`profiles`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All profiles; a bad file comes with its error."""
        self.answer(await asyncio.to_thread(profiles.listing))


class SiteHandler(BaseHandler):
    """`site`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """What this machine has, and what this user may do."""
        facts = await asyncio.to_thread(local_facts)
        self.answer(
            Site(
                node=facts.name,
                cpus=facts.cpus,
                gpus=facts.gpus,
                memory_bytes=facts.memory_bytes,
                default_ranks=default_ranks(facts),
                most_ranks=self.ours.max_ranks or most_ranks(facts),
                local=self.ours.allow_local,
                may_write=await self.may_write(),
            )
        )
