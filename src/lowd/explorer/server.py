"""The server of the explorer: Starlette and uvicorn, for this machine only by default.

Every request needs the token of the link (or the cookie that the link sets), a Host that is this
server, and, if it has an Origin, this one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import sys
import threading
import webbrowser
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from ..errors import MissingPackageError, ParameterError
from .page import CONTENT_SECURITY_POLICY, STATIC_TYPES, make_served_page, read_static
from .replies import HTML_TYPE, Fault, Reply, Request, to_json
from .routes import Routes

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect
    from starlette.requests import Request as HTTPRequest
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as error:  # pragma: no cover - the extra is part of the tests
    raise MissingPackageError(
        f"the explorer needs {error.name}: pip install 'lowd[view]'."
    ) from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MIN_TOKEN_CHARACTERS = 8  # Shortest token that lets other machines in.
MAX_CLOSING_SECONDS = 1.0  # Time for requests under way when the server ends.
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_EXPIRED = (
    "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>lowd</title>"
    "<meta name='viewport' content='width=device-width'>"
    "<meta name='color-scheme' content='light dark'><main><h1>The token is missing</h1>"
    "<p>This page needs the link that the terminal shows, with its token.</p></main></html>"
)


class Guard:
    """Refuses requests that do not come from this server's page, before anything is read."""

    def __init__(self, app: ASGIApp, token: str, host: str, port: int) -> None:
        self._app, self._token, self._host, self._port = app, token.encode(), host, port
        self._cookie = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError("only HTTP is served.")
        headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
        reply = self._check(scope, headers)
        if reply is None:
            await self._app(scope, receive, send)
        else:
            await to_response(reply)(scope, receive, send)

    def _check(self, scope: Scope, headers: dict[str, bytes]) -> Reply | None:
        """Return a refusal, or the redirection that sets the cookie; None lets the request in."""
        host = headers.get("host", b"").decode("latin-1")
        if not is_own_host(host, self._host, self._port):
            return _refuse(421, "forbidden", "this server does not answer to that name.")
        origin = headers.get("origin")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host}".lower():
            return _refuse(403, "forbidden", "requests of other pages are refused.")
        path = scope["path"]
        foreign = headers.get("sec-fetch-site", b"none") not in (b"none", b"same-origin")
        if foreign and path != "/":
            return _refuse(403, "forbidden", "requests of other pages are refused.")
        if path == "/":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if "token" in query:
                if not secrets.compare_digest(query["token"][0].encode(), self._token):
                    return Reply(401, HTML_TYPE, _EXPIRED.encode())
                cookie = f"{self._name_cookie()}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
                return Reply(303, HTML_TYPE, b"", {"Location": "/", "Set-Cookie": cookie})
        if self._is_known(headers):
            return None
        if path == "/":
            return Reply(401, HTML_TYPE, _EXPIRED.encode())
        remedy = "Open the link that the terminal shows."
        return _refuse(401, "unauthorized", "the token is missing or wrong.", remedy)

    def _is_known(self, headers: dict[str, bytes]) -> bool:
        kind, _, given = headers.get("authorization", b"").partition(b" ")
        if kind.lower() == b"bearer" and secrets.compare_digest(given.strip(), self._token):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", b"").decode("latin-1"))
        except CookieError:
            return False
        found = cookies.get(self._name_cookie())
        return found is not None and secrets.compare_digest(
            found.value.encode(), self._cookie.encode()
        )

    def _name_cookie(self) -> str:
        """The name of the cookie, with the port, since all ports of a machine share cookies."""
        return f"lowd-{self._port}"


def is_own_host(given: str, host: str, port: int) -> bool:
    """Whether a Host header names this server, and not a foreign name that points here.

    >>> is_own_host("localhost:80", "127.0.0.1", 80), is_own_host("evil.example:80", "0.0.0.0", 80)
    (True, False)
    """
    name, _, given_port = given.rpartition(":")
    if given_port != str(port):
        return False
    name = name.strip("[]").lower()
    if is_loopback(host):
        return name in ("localhost", "127.0.0.1", "::1", host)
    if host not in ("0.0.0.0", "::"):
        return name == host.lower()
    own = {"localhost", socket.gethostname().lower(), socket.getfqdn().lower()}
    return name in own or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a host stands for this machine alone."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _refuse(status: int, code: str, message: str, remedy: str = "") -> Reply:
    return to_json(Fault(code, message, remedy)._asdict(), status)


def to_response(reply: Reply) -> Response:
    headers = {**HEADERS, **reply.headers, "Content-Type": reply.type}
    return Response(reply.body, reply.status, headers)


def make_app(routes: Routes, token: str, host: str, port: int) -> ASGIApp:
    """Make the application: the page, its bundle, and the routes of its data behind the guard."""

    async def show_page(_: HTTPRequest) -> Response:
        page = make_served_page(routes.session.title).encode("utf-8")
        return to_response(Reply(200, HTML_TYPE, page))

    async def send_static(request: HTTPRequest) -> Response:
        name = request.path_params["name"]
        if name not in STATIC_TYPES:
            return to_response(_refuse(404, "not_found", "there is no such file."))
        return to_response(Reply(200, STATIC_TYPES[name], read_static(name)))

    async def answer(request: HTTPRequest) -> Response:
        path = request.scope["path"]
        try:
            body = await _read_body(request, routes.get_limit(path))
        except ClientDisconnect:  # who hears no answer any more
            return Response(status_code=400)
        if body is None:
            limit = routes.get_limit(path) // 2**20
            refusal = _refuse(
                413, "too_large", f"more than {limit} MB were sent.", "Send fewer rows."
            )
            return to_response(refusal)
        asked = Request(request.method, path, dict(request.query_params), body)
        try:
            return to_response(await run_in_threadpool(routes.answer, asked))
        except asyncio.CancelledError:  # the server ends, and does not wait for long answers
            return to_response(_refuse(503, "closed", "the explorer was closed."))

    async def refuse_path(_: HTTPRequest) -> Response:
        return to_response(_refuse(404, "not_found", "there is no such page.", "Reload the page."))

    app = Starlette(
        routes=[
            Route("/", show_page),
            Route("/static/{name}", send_static),
            Route("/api/{path:path}", answer, methods=["GET", "POST", "DELETE"]),
            Route("/{path:path}", refuse_path),
        ]
    )
    return Guard(app, token, host, port)


async def _read_body(request: HTTPRequest, limit: int) -> bytes | None:
    """Read the body; return None as soon as it exceeds the limit."""
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > limit:
        return None
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            return None
        parts.append(part)
    return b"".join(parts)


class Server:
    """A running explorer: its link, and how to end it."""

    def __init__(
        self,
        routes: Routes,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
    ) -> None:
        check_address(host, token)
        self.routes, self.host = routes, host
        self.token = token or secrets.token_urlsafe(24)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            make_app(routes, self.token, host, self.port),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The link, with the token."""
        name = self.host
        if name in ("0.0.0.0", "::"):
            name = socket.gethostname()
        name = f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.port}/?token={self.token}"

    def start(self) -> None:
        """Serve in a thread."""
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait until the server is closed, or Ctrl-C."""
        try:
            while self._thread is not None and self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the jobs, then the server."""
        self.routes.close()
        self._server.should_exit = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(MAX_CLOSING_SECONDS)
            # With uvicorn's own limit of this time it would print an error for each request under
            # way.
            self._server.force_exit = True
            self._thread.join(MAX_CLOSING_SECONDS)
        self._socket.close()


def check_address(host: str, token: str | None) -> None:
    """Let other machines in only by a token that was chosen for them."""
    if is_loopback(host):
        return
    if token is None or len(token) < MIN_TOKEN_CHARACTERS:
        raise ParameterError(
            f"host={host!r} lets other machines in, so it needs a token of "
            f"{MIN_TOKEN_CHARACTERS} characters or more: token='...'."
        )
    print(
        f"lowd: warning: the data can be read by everyone who reaches {host} and has the link; "
        "it is not encrypted.",
        file=sys.stderr,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", "ports are numbers from 0 to 65535")
        raise ParameterError(
            f"port={port} of {host} cannot be used ({why}); choose another, or 0."
        ) from None
    listening.listen(128)
    return listening


def open_browser(url: str) -> None:
    """Show the page if there is a browser."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
