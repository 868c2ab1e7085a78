"""Request handler for signing in to hosts."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services.profiles.signin import sign_in
from dtrain_lab.wire.site import SignIn


class SignInHandler(BaseHandler):
    """`sign-in`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Start signing in, or answer questions; answers 409 with the questions if the host asks (more)."""
        self.answer(await sign_in(self.body(SignIn)))
