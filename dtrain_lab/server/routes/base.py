"""Base class of all request handlers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin

from dtrain_lab.errors import BadRequest, DtrainError, Forbidden, of_disk
from dtrain_lab.server.errors import status
from dtrain_lab.server.notebook_paths import with_path
from dtrain_lab.server.shared import Shared
from dtrain_lab.services.metrics_export import TYPES, export
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.metrics.history import Point

RESOURCE = "dtrain-lab"
MOST_BODY = 64 << 10
MOST_NUMBER = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""
T = TypeVar("T")


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
            found = int(text)
        except ValueError:
            raise BadRequest(f'{name} is "{text[:80]}".', "Give a whole number.") from None
        if not least <= found <= MOST_NUMBER:
            raise BadRequest(f"{name} is {found}.", f"It must be {least} to {MOST_NUMBER}.")
        return found

    def below_root(self, path: str) -> Path:
        """Resolve a path of the request, following links; it must be below the server's root.

        Raises:
            BadRequest: The path is not a valid file name.
            Forbidden: The path leads out of the root.
        """
        root = Path(self.settings["server_root_dir"]).expanduser().resolve()
        try:
            found = (root / path).resolve()
            found.exists()
        except (OSError, ValueError) as error:
            raise BadRequest(f"No file can have the name {path[:80]!r}.", "Choose a notebook.") from error
        if not found.is_relative_to(root):
            raise Forbidden(f"{path} is outside the server's folder.", "Choose a notebook below it.")
        return found

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
        job = with_path(job, self.settings["server_root_dir"])
        return job if await self.may_write() else msgspec.structs.replace(job, may=())

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send a `DtrainError`, or that of a disk, as JSON without a traceback; others are the server's.

        Args:
            status_code: HTTP status that tornado proposes.
            **kwargs: As tornado's; `exc_info` has the exception.
        """
        error = kwargs.get("exc_info", (None, None, None))[1]
        error = of_disk(error) or error
        if not isinstance(error, DtrainError):
            super().write_error(status_code, **kwargs)
            return
        self.set_status(status(error))
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(error.as_dict()))

    def log_exception(self, kind: Any, value: Any, tb: Any) -> None:
        """Log no traceback for errors that are reported to the caller."""
        if isinstance(value, DtrainError):
            self.log.info("dtrain-lab: %s", value)
        else:
            super().log_exception(kind, value, tb)
