"""Request handlers for profiles, the quickstart notebook and the site."""

from __future__ import annotations

import asyncio
import hashlib

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.errors import NotFound
from dtrain_lab.machine import supervision
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.placement.capacity import default_ranks, most_ranks
from dtrain_lab.server import long_work
from dtrain_lab.server.long_work import Key, Work
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services.profiles import check as profile_check
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.profiles import template
from dtrain_lab.services.quickstart import quickstart
from dtrain_lab.wire.node_check import ProfileCheck
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.site import CheckedProfile, ProfileFile, ProfileText, Site


class ProfilesHandler(BaseHandler):
    """`profiles`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all profiles; an invalid file is listed with its error."""
        self.answer(await asyncio.to_thread(profiles.listing))


class ProfileHandler(BaseHandler):
    """`profiles/{name}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the text of a profile's file, or a template if it has no file; with all keys."""
        text, keys = await asyncio.to_thread(lambda: (profiles.text(identity), template.keys()))
        self.answer(ProfileFile(text, keys))

    @web.authenticated
    @authorized
    async def put(self, identity: str) -> None:
        """Write a profile's file, if it is valid."""
        wanted = self.body(ProfileText)
        await asyncio.to_thread(profiles.write, identity, wanted.text)
        self.answer(await asyncio.to_thread(profiles.listing))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Delete a profile's file.

        Raises:
            BadRequest: The request has a body.
        """
        self.no_body()
        await asyncio.to_thread(profiles.delete, identity)
        self.answer(await asyncio.to_thread(profiles.listing))


class ProfileCheckHandler(BaseHandler):
    """`profiles/{name}/check`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the state of the check that a request to this server has begun last, with its result.

        With `wait=1`, wait for its end, if that happens soon.

        Raises:
            NotFound: No request has, since the server's start or since the profile was changed.
        """
        work = self.ours.long_work.latest(_key(await profiles.loaded(identity)))
        if work is None:
            raise NotFound(f"{identity} was not checked as it is now.", "Check it.", code="no_check")
        if self.flag("wait"):
            await work.within(long_work.ANSWER_WITHIN_S)
        self.answer(_checked(work))

    @web.authenticated
    @authorized
    async def post(self, identity: str) -> None:
        """Check every node of a profile, without starting a world; answers 202 if that takes long.

        Raises:
            BadRequest: The request has a body.
        """
        self.no_body()
        profile = await profiles.loaded(identity)
        work = self.ours.long_work.join(_key(profile), lambda: profile_check.check(profile))
        if await work.within(long_work.ANSWER_WITHIN_S):
            self.answer(work.result())
        else:
            self.answer(_checked(work), 202)


def _key(profile: Profile) -> Key:
    """Return the key of a profile's check: a file that was edited meanwhile, here or by hand, has another."""
    content = msgspec.json.encode(profile, order="sorted")
    return "check", profile.name, hashlib.sha256(content).hexdigest()


def _checked(work: Work[ProfileCheck]) -> CheckedProfile:
    result = work.result() if work.state == "done" else None
    return CheckedProfile(work.id, work.state, work.began_at, result, work.error)


class QuickstartHandler(BaseHandler):
    """`quickstart`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return the quickstart notebook, with the notebooks and pages that it leads to."""
        self.answer(await asyncio.to_thread(quickstart))


class SiteHandler(BaseHandler):
    """`site`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return this machine's resources and this user's permissions."""
        facts = await asyncio.to_thread(local_facts)
        self.answer(
            Site(
                troubles=supervision.here().failures,
                node=facts.name,
                cpus=facts.cpus,
                gpus=facts.gpus,
                memory_bytes=facts.memory_bytes,
                default_ranks=default_ranks(facts),
                most_ranks=min(self.ours.max_ranks or most_ranks(facts), most_ranks(facts)),
                local=self.ours.allow_local,
                may_write=await self.may_write(),
            )
        )
