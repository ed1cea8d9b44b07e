"""A headless Chromium, driven over its debugging pipe without other packages."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
]


def found():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


needed = pytest.mark.skipif(
    found() is None, reason="no Chromium is installed (on Debian: apt-get install chromium)"
)


class Browser:
    """One tab. `errors` holds what the page complained about, `requests` what it asked for."""

    def __init__(self, width=1100, height=800):
        self._home = tempfile.mkdtemp(prefix="lowd-browser-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        size = f"--window-size={width},{height}"
        command = [found(), *FLAGS, size, f"--user-data-dir={self._home}", "about:blank"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "lowd", *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._numbers, self._buffer, self._session = itertools.count(1), b"", None
        self.errors, self.requests = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        shutil.rmtree(self._home, ignore_errors=True)

    def call(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._receive(answer)

    def _message(self):
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], 60)[0], "the browser does not answer"
            part = os.read(self._read, 2**20)
            assert part, "the browser is gone"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _receive(self, event):
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path):
        self.errors, self.requests = [], []
        self.call("Page.navigate", url=Path(path).as_uri())
        while self("document.readyState") != "complete":
            pass
        self.frame()

    def frame(self):
        """Wait until all that was asked for is drawn."""
        self("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d(1))))")

    def __call__(self, script):
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.mouse(kind, x, y, **pressed)
        self.frame()

    def drag(self, start, end):
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        self.mouse("mouseMoved", *end, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
        self.frame()

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.frame()

    def picture(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(shot["data"]))
