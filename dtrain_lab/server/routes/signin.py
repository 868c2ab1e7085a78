"""Signing in to a host that asks for something."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.core.site import SignIn
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services.signin import sign_in


class SignInHandler(BaseHandler):
    """`sign-in`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Begin, or answer; 409 with the questions where the host asks (more)."""
        self.answer(await sign_in(self.body(SignIn)))
