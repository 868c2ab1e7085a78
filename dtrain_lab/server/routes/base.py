"""Base class of all request handlers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from http.client import responses
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from msgspec.structs import replace
from tornado import web

from dtrain_lab.errors import BadRequest, DtrainError, Forbidden
from dtrain_lab.server.errors import as_ours, status
from dtrain_lab.server.notebook_paths import with_paths
from dtrain_lab.server.shared import Shared
from dtrain_lab.services.metrics_export import TYPES, export
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job, JobRequest
from dtrain_lab.wire.metrics.history import Point

RESOURCE = "dtrain-lab"
MOST_BODY = 64 << 10
MOST_NUMBER = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""
T = TypeVar("T")
R = TypeVar("R", bound=JobRequest)


async def allowed(handler: JupyterHandler, action: str) -> bool:
    """Return whether a request's user may "read" or "write".

    Args:
        handler: Handler of the request, with its user.
        action: "read" or "write".
    """
    user = handler.current_user
    return bool(await ensure_async(handler.authorizer.is_authorized(handler, user, action, RESOURCE)))


class BaseHandler(ExtensionHandlerMixin, APIHandler):  # type: ignore[misc]
    """Base REST handler: JSON in, JSON out, errors as `{code, message, hint, details}`."""

    auth_resource = RESOURCE

    @property
    def ours(self) -> Shared:
        """The extension app."""
        app: Shared = self.settings["dtrain_lab"]
        return app

    def body(self, kind: type[T]) -> T:
        """Decode the request's body.

        Raises:
            BadRequest: The body is too large or not JSON, or has an unknown field or a wrong value.
        """
        if len(self.request.body) > MOST_BODY:
            raise BadRequest("The request is too large.", f"At most {MOST_BODY >> 10} KiB.")
        try:
            return msgspec.json.decode(self.request.body or b"{}", type=kind)
        except msgspec.ValidationError as error:
            raise BadRequest(f"{error}.", "See the OpenAPI file for the fields.", code="bad_body") from error
        except (msgspec.DecodeError, RecursionError) as error:  # RecursionError: nested too deeply
            raise BadRequest(
                f"The body is not JSON: {error}.", "Send a JSON object.", code="bad_body"
            ) from error

    def number(self, name: str, usual: int, least: int = 0) -> int:
        """Parse an integer query argument from `least` to `MOST_NUMBER`.

        Args:
            name: Name of the query argument.
            usual: Its value if the request has none.
            least: The smallest value allowed.

        Raises:
            BadRequest: The argument is not such an integer.
        """
        text = self.get_query_argument(name, str(usual))
        try:
            value = int(text)
        except ValueError:
            raise BadRequest(f'{name} is "{text[:80]}".', "Give a whole number.") from None
        if not least <= value <= MOST_NUMBER:
            raise BadRequest(f"{name} is {value}.", f"It must be {least} to {MOST_NUMBER}.")
        return value

    def flag(self, name: str) -> bool:
        """Return whether a query argument is "1" or "true"."""
        return self.get_query_argument(name, "").lower() in ("1", "true")

    def no_body(self) -> None:
        """Check that the request has no body, or an empty one.

        Raises:
            BadRequest: It has one.
        """
        if self.request.body not in (b"", b"{}", b"null"):
            raise BadRequest("This request takes no body.", "Send it without one.", code="bad_body")

    @property
    def root(self) -> str:
        """The server's root, as the server was told of it."""
        root: str = self.settings["server_root_dir"]
        return root

    async def below_root(self, path: str) -> Path:
        """Resolve a path of the request, following links; it must be below the server's root.

        Raises:
            BadRequest: The path is not a valid file name.
            Forbidden: The path leads out of the root.
        """
        return await asyncio.to_thread(below, self.root, path)

    async def request_of(self, kind: type[R]) -> tuple[R, Path]:
        """Decode the request of a job or sweep from the body.

        Returns:
            The request without an interpreter, and the path of its notebook.

        Raises:
            BadRequest: As `body`, or the notebook's path is not a valid file name.
            Forbidden: The notebook is not below the server's root.
        """
        request = self.body(kind)
        file = await self.below_root(request.notebook)
        # only a kernel may choose the interpreter: a path from a browser could run any program
        return replace(request, python=None), file

    def answer(self, value: Any, code: int = 200) -> None:
        """Send a value as JSON.

        Args:
            value: What msgspec can encode.
            code: HTTP status.
        """
        self.set_status(code)
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode(value))

    def file(self, points: Sequence[Point], kind: str) -> None:
        """Send a metric history in a format; as a download, unless it is JSON.

        Args:
            points: The history.
            kind: The format, a key of `TYPES`: "json", "csv" and others.
        """
        content, name = export(points, kind)
        self.set_header("Content-Type", TYPES[kind])
        if kind != "json":
            self.set_header("Content-Disposition", f'attachment; filename="{name}"')
        self.finish(content)

    async def may_write(self) -> bool:
        """Return whether this user has write permission."""
        return await allowed(self, "write")

    async def for_user(self, cluster: Cluster) -> Cluster:
        """Return the cluster with only those actions that this user may perform."""
        return cluster if await self.may_write() else msgspec.structs.replace(cluster, may=())

    async def for_user_job(self, job: Job) -> Job:
        """Return the job with only those actions that this user may perform, and its notebook's path here."""
        return (await self.for_user_jobs([job]))[0]

    async def for_user_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Return jobs as `for_user_job` does; the user's permission is asked once."""
        found = await asyncio.to_thread(with_paths, jobs, self.root)
        if await self.may_write():
            return found
        return [msgspec.structs.replace(job, may=()) for job in found]

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send an error as `{code, message, hint, details}`, without a traceback, also one that is not ours.

        Args:
            status_code: HTTP status that tornado proposes.
            **kwargs: As tornado's; `exc_info` has the exception.
        """
        error = kwargs.get("exc_info", (None, None, None))[1]
        if error is None or isinstance(error, web.HTTPError):
            text = responses.get(status_code, "Error")
            if error is not None and error.log_message:
                text = error.log_message % error.args
            error = DtrainError(text, code=f"http_{status_code}")
        else:
            error = as_ours(error)
            status_code = status(error)
        self.set_status(status_code)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(error.as_dict()))

    def log_exception(self, kind: Any, value: Any, tb: Any) -> None:
        """Log no traceback for errors that are reported to the caller."""
        if isinstance(value, DtrainError):
            self.log.info("dtrain-lab: %s", value)
        else:
            super().log_exception(kind, value, tb)


def below(root: str, path: str) -> Path:
    """Resolve a path below a folder, following links; blocks while its disk does.

    Args:
        root: The folder.
        path: The path, relative to it.

    Raises:
        BadRequest: The path is not a valid file name.
        Forbidden: The path leads out of the folder.
    """
    folder = Path(root).expanduser().resolve()
    try:
        found = (folder / path).resolve()
        found.exists()
    except (OSError, ValueError) as error:
        raise BadRequest(f"No file can have the name {path[:80]!r}.", "Choose a notebook.") from error
    if not found.is_relative_to(folder):
        raise Forbidden(f"{path} is outside the server's folder.", "Choose a notebook below it.")
    return found
