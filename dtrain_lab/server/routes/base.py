"""What all handlers share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin

from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.history import Point
from dtrain_lab.core.job import Job
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.server.errors import status
from dtrain_lab.services.export import TYPES, export

if TYPE_CHECKING:
    from dtrain_lab.server.app import DtrainLabApp

RESOURCE = "dtrain-lab"
MOST_BODY = 64 << 10
T = TypeVar("T")


class BaseHandler(ExtensionHandlerMixin, APIHandler):  # type: ignore[misc]
    """A REST handler of ours: JSON in, JSON out, errors as `{code, message, hint, details}`."""

    auth_resource = RESOURCE

    @property
    def ours(self) -> DtrainLabApp:
        """The extension."""
        app: DtrainLabApp = self.settings["dtrain_lab"]
        return app

    def body(self, kind: type[T]) -> T:
        """The request's body as a value.

        Raises:
            BadRequest: too large, no JSON, an unknown field or a value of the wrong kind.
        """
        if len(self.request.body) > MOST_BODY:
            raise BadRequest("The request is too large.", f"At most {MOST_BODY >> 10} KiB.")
        try:
            return msgspec.json.decode(self.request.body or b"{}", type=kind)
        except msgspec.ValidationError as error:
            raise BadRequest(f"{error}.", "See the OpenAPI file for the fields.", code="bad_body") from error
        except msgspec.DecodeError as error:
            raise BadRequest(
                f"The body is not JSON: {error}.", "Send a JSON object.", code="bad_body"
            ) from error

    def number(self, name: str, usual: int) -> int:
        """A whole number of the query.

        Raises:
            BadRequest: it is none.
        """
        text = self.get_query_argument(name, str(usual))
        try:
            return int(text)
        except ValueError:
            raise BadRequest(f'{name} is "{text}".', "It has to be a whole number.") from None

    def answer(self, value: Any, code: int = 200) -> None:
        """Send a value."""
        self.set_status(code)
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode(value))

    def file(self, points: Sequence[Point], kind: str) -> None:
        """Send a world's past in a format; as a file to keep, unless it is JSON."""
        content, name = export(points, kind)
        self.set_header("Content-Type", TYPES[kind])
        if kind != "json":
            self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.finish(content)

    async def may_write(self) -> bool:
        """May this user do more than look?"""
        allowed = await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, "write", RESOURCE)
        )
        return bool(allowed)

    async def for_user(self, cluster: Cluster) -> Cluster:
        """The cluster with the actions that this user has."""
        return cluster if await self.may_write() else msgspec.structs.replace(cluster, may=())

    async def for_user_job(self, job: Job) -> Job:
        """The job with the actions that this user has."""
        return job if await self.may_write() else msgspec.structs.replace(job, may=())

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Errors of ours as JSON, without a traceback; others as the server gives them."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        if not isinstance(error, DtrainError):
            super().write_error(status_code, **kwargs)
            return
        self.set_status(status(error))
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(error.as_dict()))

    def log_exception(self, kind: Any, value: Any, tb: Any) -> None:
        """An error that the caller is told is no traceback in the server's log."""
        if isinstance(value, DtrainError):
            self.log.info("dtrain-lab: %s", value)
        else:
            super().log_exception(kind, value, tb)
