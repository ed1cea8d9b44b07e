"""What the explorer is compared with: a bare page of regl-scatterplot, and embedding-atlas.

Both are installed into web/bench/peers on demand, by npm and by pip.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PAGES = Path(__file__).parent.parent / "web" / "bench" / "peers"
ATLAS = "embedding-atlas==0.22.0"  # later ones need WebGPU, which software rendering lacks
MAX_START_SECONDS = 60
HOST, FOREIGN = "127.0.0.1", "foreign.example"


def install() -> None:
    """Install what is not there yet."""
    npm = ["npm", "install", "--prefix", str(PAGES), "--no-save", "--no-audit", "--no-fund"]
    if not (PAGES / "node_modules").exists():
        subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)
    python = PAGES / ".venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PAGES / ".venv")], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-r", str(PAGES / "requirements.txt")], check=True)
        subprocess.run([*pip, "--no-deps", ATLAS], check=True)


@contextmanager
def serve_regl(Y: np.ndarray, labels: np.ndarray) -> Iterator[str]:
    """Address of a page that draws points by regl-scatterplot, scaled to its range of -1 to 1."""
    points = (Y - Y.mean(0)) / np.abs(Y - Y.mean(0)).max()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "points.f32"
        data.write_bytes(np.vstack([points.T, labels]).astype(np.float32).tobytes())

        class Handler(SimpleHTTPRequestHandler):
            def translate_path(self, path: str) -> str:
                return str(data) if path == "/points.f32" else super().translate_path(path)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer((HOST, 0), partial(Handler, directory=str(PAGES)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_port}/regl.html"
        finally:
            server.shutdown()
            server.server_close()


@contextmanager
def serve_atlas(Y: np.ndarray, labels: np.ndarray) -> Iterator[str]:
    """Address of embedding-atlas with given coordinates, when it answers."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "points.parquet"
        classes = pa.array([f"class {i}" for i in range(int(labels.max()) + 1)])
        label = pa.DictionaryArray.from_arrays(pa.array(labels, pa.int32()), classes)
        pq.write_table(pa.table({"x": Y[:, 0], "y": Y[:, 1], "label": label}), data)
        command = [PAGES / ".venv" / "bin" / "embedding-atlas", data, "--x", "x", "--y", "y"]
        command += ["--disable-projection", "--host", HOST, "--port", str(port)]
        command += ["--duckdb", "server"]
        url = f"http://{HOST}:{port}/"
        process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            for _ in range(MAX_START_SECONDS):
                if ask(url) == 200:
                    break
                time.sleep(1)
            yield url
        finally:
            process.terminate()
            process.wait()


class Peer(NamedTuple):
    serve: Callable[[np.ndarray, np.ndarray], AbstractContextManager[str]]
    script: Path
    data: str | None  # path of its data, if the server is its own


PEERS = {
    "regl-scatterplot 1.16, bare page": Peer(serve_regl, PAGES / "measure_regl.mjs", None),
    "embedding-atlas 0.22": Peer(serve_atlas, PAGES / "measure_atlas.mjs", "data/metadata.json"),
}


def ask(url: str, **headers: str) -> int:
    """The status of an answer; 0 without one."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return 0


def ask_from_foreign_site(url: str) -> str:
    """What a server answers to a foreign Host and to a foreign Origin."""
    return f"{ask(url, Host=FOREIGN)} and {ask(url, Origin=f'http://{FOREIGN}')}"
