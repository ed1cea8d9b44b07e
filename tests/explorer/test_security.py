"""What the server refuses: other machines, other pages, other paths, too much, no token."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import lowd
from explorers import BASE, PORT, TOKEN
from lowd.errors import ParameterError
from lowd.explorer.page import CONTENT_SECURITY_POLICY
from lowd.explorer.routes import MAX_UPLOAD_BYTES, Routes
from lowd.explorer.server import Server, check_address, is_own_host, make_app

PATHS = ["/api/view", "/api/panels/p0/points", "/static/app.js", "/api/nothing"]


@pytest.fixture
def anonymous(routes):
    """A client without the token."""
    from starlette.testclient import TestClient

    app = make_app(routes, TOKEN, "127.0.0.1", PORT)
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_every_route_refuses(anonymous, path):
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": f"lowd-{PORT}=wrong"},
        {"Cookie": f"lowd-{PORT}={TOKEN}"},
        {"Cookie": "\x01;;=,"},
    ):
        reply = anonymous.get(path, headers=headers)
        assert reply.status_code == 401, headers
        assert reply.json()["code"] == "unauthorized"
        assert reply.json()["remedy"]


def test_a_token_in_the_query_is_for_the_page_only(anonymous):
    assert anonymous.get(f"/api/view?token={TOKEN}").status_code == 401
    assert anonymous.get("/?token=wrong").status_code == 401
    assert anonymous.get("/?token=").status_code == 401
    page = anonymous.get("/")
    assert page.status_code == 401
    assert "link that the terminal shows" in page.text


def test_the_link_sets_a_cookie_that_opens_other_routes(anonymous):
    first = anonymous.get(f"/?token={TOKEN}")
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert anonymous.get("/api/view").json()["n"] == 60  # the client keeps the cookie
    page = anonymous.get("/")
    assert page.status_code == 200
    assert "sixty &lt;rows&gt;" in page.text
    assert TOKEN not in page.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.2:{PORT}", ""],
)
def test_a_foreign_host_is_refused(client, host):
    reply = client.get("/api/view", headers={"Host": host})
    assert reply.status_code == 421
    assert "sixty" not in reply.text


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}", f"LocalHost:{PORT}"])
def test_other_names_of_this_machine_are_known(client, host):
    assert client.get("/api/view", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", "file://"],
)
def test_a_foreign_origin_is_refused(client, origin):
    for method in ("GET", "POST", "OPTIONS"):
        reply = client.request(method, "/api/view", headers={"Origin": origin})
        assert reply.status_code == 403
        assert "access-control-allow-origin" not in reply.headers


def test_the_own_origin_is_served_without_cors(client):
    reply = client.get("/api/view", headers={"Origin": BASE})
    assert reply.status_code == 200
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_began_is_refused(client, site):
    assert client.get("/api/view", headers={"Sec-Fetch-Site": site}).status_code == 403


@pytest.mark.parametrize("path", [*PATHS, "/", "/?token=wrong"])
def test_every_answer_has_the_strict_headers(client, path):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/static/..\\server.py",
        "/static//etc/passwd",
        "/static/widget.js%00",
        "/static/",
        "/etc/passwd",
        "/api/../etc/passwd",
        "/api/panels/../../etc/points",
        "/api/thumbnails/..%2f1",
    ],
)
def test_no_path_leads_to_a_file(client, path):
    reply = client.get(path)
    assert reply.status_code == 404
    assert reply.json()["code"] == "not_found"


def test_an_oversized_upload_is_refused(client):
    reply = client.post("/api/new-points?name=a.csv", content=b"1" * (MAX_UPLOAD_BYTES + 1))
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")

    def trickle():
        for _ in range(MAX_UPLOAD_BYTES // 2**20 + 1):
            yield b"1" * 2**20

    reply = client.post("/api/new-points?name=a.csv", content=trickle())  # no length is announced
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")
    assert client.get("/api/view").status_code == 200


def test_a_name_of_an_upload_never_reaches_the_file_system(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("w,x,y,z\n9,9,9,9\n")
    for name in ("secret.csv", "../secret.csv", str(tmp_path / "secret.csv"), "http://x/y.csv"):
        reply = client.post("/api/new-points", params={"name": name}, content=b"w,x,y,z\n1,2,3,4\n")
        assert reply.json()["n"] == 1  # the row that was sent, and none of the file
    assert os.listdir(tmp_path) == ["secret.csv"]


def test_text_of_the_data_cannot_become_markup():
    """Titles and values are escaped in the page and in the offline file."""
    evil = "</script><img src=x onerror=alert(1)>"
    X = np.random.default_rng(0).normal(size=(12, 3))
    from lowd.explorer.api import make_session
    from lowd.explorer.page import make_page

    session = make_session(X, {evil: X[:, :2]}, labels=[evil, "b"] * 6, title=evil)
    page = make_page(Routes(session), state=evil)
    assert evil not in page
    assert "<img" not in page.split("<body>")[1].split('id="lowd-state"')[0]


def test_the_offline_page_may_ask_for_nothing(routes):
    from lowd.explorer.page import make_page

    page = make_page(routes)
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "connect-src" not in policy
    assert "unsafe" not in policy


def test_other_machines_need_a_token_and_a_warning(capsys):
    for token in (None, "short"):
        with pytest.raises(lowd.errors.ParameterError, match="needs a token"):
            check_address("0.0.0.0", token)
    check_address("0.0.0.0", "long-enough-token")
    assert "not encrypted" in capsys.readouterr().err
    check_address("127.0.0.1", None)
    assert not capsys.readouterr().err


def test_hosts_of_an_open_server():
    name = socket.gethostname()
    assert is_own_host(f"{name}:80", "0.0.0.0", 80)
    assert is_own_host("192.168.1.7:80", "0.0.0.0", 80)
    assert not is_own_host("evil.example:80", "0.0.0.0", 80)
    assert not is_own_host("evil.example:80", "192.168.1.7", 80)


@pytest.fixture
def server(routes):
    running = Server(routes, token=TOKEN)
    running.start()
    yield running
    running.close()


def test_only_loopback_is_listened_on(server):
    assert server._socket.getsockname()[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.port}/?token={TOKEN}"


def test_a_port_that_is_taken_is_named(server):
    with pytest.raises(lowd.errors.ParameterError, match=f"port={server.port} "):
        Server(server.routes, port=server.port)


SERVE = """
import sys, numpy as np, lowd
X = np.random.default_rng(0).normal(size=(20_000, 3))
ids = [f"row-{i}" for i in range(len(X))]
explorer = lowd.view(X, {"map": X[:, :2]}, ids=ids, browser=False, block=False)
print(explorer.url, flush=True)
sys.stdin.read()
explorer.close()
"""
ANSWERS = {
    "/api/view": lambda reply: reply.json()["n"] == 20_000,
    "/api/panels/p0/points": lambda reply: len(reply.content) > 20_000 * 8,
    "/api/columns/c0": lambda reply: len(reply.content) > 20_000 * 5,
    "/api/neighbors?row=3&k=7": lambda reply: len(reply.json()["rows"]) == 7,
    "/api/rows/5": lambda reply: reply.json()["row"] == 5,
    "/api/search?q=row-1999": lambda reply: reply.json()["total"] == 11,
}


def read_megabytes(pid):
    """Resident memory of a process."""
    with open(f"/proc/{pid}/status") as file:
        found = next(line for line in file if line.startswith("VmRSS"))
    return int(found.split()[1]) / 1024


def ask_as_clients(home, token, rounds):
    """Twenty clients at once, each asking for everything in every round; how many good answers."""
    import httpx2

    good, lock = [], threading.Lock()

    def ask():
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=home, headers=headers, timeout=60) as client:
            for _ in range(rounds):
                for path, is_whole in ANSWERS.items():
                    reply = client.get(path)
                    with lock:
                        good.append(reply.status_code == 200 and is_whole(reply))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(good)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_twenty_clients_lose_nothing_and_memory_is_bounded():
    """480 requests, 27 MB of answers: each is whole, and the server keeps none of them."""
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        home, _, token = process.stdout.readline().strip().partition("?token=")
        assert ask_as_clients(home, token, 1) == 120  # first requests bring threads and imports
        before = read_megabytes(process.pid)
        assert ask_as_clients(home, token, 4) == 480
        grown = read_megabytes(process.pid) - before
        process.stdin.close()
    assert grown < 12


def test_closing_does_not_wait_for_long_answers(routes, capfd, monkeypatch):
    """Nor does it print what became of them."""
    import httpx2

    begun, end = threading.Event(), threading.Event()

    def take_long(_):
        begun.set()
        end.wait(60)
        raise AssertionError("nobody waits for this")

    monkeypatch.setattr(routes, "answer", take_long)
    running = Server(routes, token=TOKEN)
    running.start()
    codes = []

    def ask():
        headers = {"Authorization": f"Bearer {TOKEN}"}
        reply = httpx2.get(f"http://127.0.0.1:{running.port}/api/view", headers=headers)
        codes.append(reply.status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    running.close()
    assert not running._thread.is_alive()
    asking.join(30)
    end.set()
    assert codes == [503]
    assert capfd.readouterr().err == ""


def test_an_unfinished_request_does_not_stop_the_server(server):
    import httpx2

    with socket.create_connection(("127.0.0.1", server.port)) as half:
        half.sendall(b"POST /api/compare HTTP/1.1\r\nHost: 127.0.0.1")
        headers = {"Authorization": f"Bearer {TOKEN}"}
        reply = httpx2.get(f"http://127.0.0.1:{server.port}/api/view", headers=headers)
        assert reply.status_code == 200


def test_without_the_extra_the_error_names_it():
    script = (
        "import sys; sys.modules['starlette'] = sys.modules['starlette.applications'] = None\n"
        "import lowd\n"
        "try: lowd.view([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], browser=False, block=False)\n"
        "except lowd.errors.MissingPackageError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'lowd[view]'" in run.stdout


def test_a_client_that_breaks_off_is_no_error(routes):
    """Of an upload of which the rest never comes."""
    app, sent = make_app(routes, TOKEN, "127.0.0.1", PORT), []
    headers = {"host": f"127.0.0.1:{PORT}", "authorization": f"Bearer {TOKEN}"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/points",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    parts = [{"type": "http.request", "body": b"a,b", "more_body": True}]

    async def receive():
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400


def test_a_port_that_there_is_not(routes):
    with pytest.raises(ParameterError, match=r"port=70000 .* from 0 to 65535"):
        Server(routes, port=70000)
