"""Time the explorer's page in headless Chromium with software rendering; writes EXPLORER.md.

    python benchmarks/explorer.py    # needs Node.js, Chromium, `make web`, lowd[view], pyarrow

Each case starts the server in this process, then opens the page in a fresh browser of 1280x800
pixels (web/bench/measure.mjs). The same million points are shown by a bare page of regl-scatterplot
and by embedding-atlas, which npm and pip install first into web/bench/peers (600 MB). The exit
status is 1 where a target is missed.
"""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
BENCH = HERE.parent / "web" / "bench"
PEERS = BENCH / "peers"
ATLAS = "embedding-atlas==0.22.0"  # later ones need WebGPU, which software rendering lacks
HOST, FOREIGN = "127.0.0.1", "foreign.example"
N_CLASSES, N_PEER_POINTS, N_REPEATS = 10, 1_000_000, 3
MAX_SECONDS = 120  # of one page

TEXT = """\
# The explorer's page

Headless Chromium, software rendering, 1280×800 pixels, {machine}; median of {repeats} fresh
browsers; the target in brackets. Made by `benchmarks/explorer.py`. *Paint*: from the navigation
until the colored points of all panels are on the screen. *Frames*: pictures per second while every
frame brings a wheel or pointer event; while it moves, a picture of many points shows a sample of
them. *Lasso*: from the release of the button until the counts and the faded points are shown.
*Memory*: private and shared memory of the page's process.

| points | panels | paint | frames/s zoom / pan | lasso | memory | all hold |
|--:|--:|--:|--:|--:|--:|---|
{rows}

{n:,} points in other pages, in the same run; WebGL by software (SwiftShader); frames in which
points were drawn again. *Lasso* of regl-scatterplot: until the selected points are known, not yet
drawn. embedding-atlas is at 0.26 by now: its later versions draw by WebGPU, which Chromium does not
have where it renders by software, so the last one with WebGL is shown.

| page | paint | frames/s zoom / pan | lasso | memory |
|---|--:|--:|--:|--:|
{peers}

The status of the answer to a request for the data with a foreign Host and with a foreign Origin, by
which another site could read them: {foreign}.
"""


class Case(NamedTuple):
    """A page and its targets: seconds, frames per second, seconds, megabytes."""

    n: int
    panels: int
    paint: float
    frames: float
    lasso: float
    memory: float


CASES = [
    Case(100_000, 1, 1.0, 30, 0.2, 400),
    Case(1_000_000, 1, 2.5, 15, 0.2, 400),
    Case(1_000_000, 4, 5.0, 8, 0.4, 400),
    Case(5_000_000, 1, 12.0, 4, 1.0, 800),
]


def make_points(n: int) -> tuple[Any, Any]:
    """Clusters in the plane, and the number of each point's cluster."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    middles = rng.normal(0, 6, (N_CLASSES, 2))
    spread = rng.uniform(0.5, 1.6, N_CLASSES)
    return middles[labels] + rng.normal(size=(n, 2)) * spread[labels, None], labels


@contextmanager
def serve_lowd(n: int, panels: int) -> Iterator[str]:
    """Address of the points as they are and bent, with a label and a number."""
    import lowd

    Y, labels = make_points(n)
    bent = np.column_stack([Y[:, 0] * np.cos(Y[:, 1] / 6), Y[:, 1] + np.sin(Y[:, 0])])
    embeddings = {f"map {i + 1}": (Y, bent)[i % 2].astype(np.float32) for i in range(panels)}
    names = np.array([f"class {i}" for i in range(N_CLASSES)])
    noise = np.random.default_rng(1).normal(size=n)
    columns = {"value": (2 * Y[:, 0] + noise).astype(np.float32)}
    explorer = lowd.view(
        None, embeddings, labels=names[labels], columns=columns, browser=False, block=False
    )
    try:
        yield str(explorer.url)
    finally:
        explorer.close()


@contextmanager
def serve_regl(Y: Any, labels: Any) -> Iterator[str]:
    """Address of a page that draws points by regl-scatterplot, scaled to its range of -1 to 1."""
    points = (Y - Y.mean(0)) / np.abs(Y - Y.mean(0)).max()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.f32"
        file.write_bytes(np.vstack([points.T, labels]).astype(np.float32).tobytes())

        class Handler(SimpleHTTPRequestHandler):
            def translate_path(self, path: str) -> str:
                return str(file) if path == "/points.f32" else super().translate_path(path)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer((HOST, 0), partial(Handler, directory=str(PEERS)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_port}/regl.html"
        finally:
            server.shutdown()
            server.server_close()


@contextmanager
def serve_atlas(Y: Any, labels: Any) -> Iterator[str]:
    """Address of embedding-atlas with given coordinates, when it answers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        classes = pa.array([f"class {i}" for i in range(N_CLASSES)])
        label = pa.DictionaryArray.from_arrays(pa.array(labels, pa.int32()), classes)
        pq.write_table(pa.table({"x": Y[:, 0], "y": Y[:, 1], "label": label}), file)
        command = [PEERS / ".venv" / "bin" / "embedding-atlas", file, "--x", "x", "--y", "y"]
        command += ["--disable-projection", "--host", HOST, "--port", port, "--duckdb", "server"]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        url = f"http://{HOST}:{port}/"
        try:
            for _ in range(60):
                if ask(url) == 200:
                    break
                time.sleep(1)
            yield url
        finally:
            process.terminate()
            process.wait()


def install_peers() -> None:
    npm = ["npm", "install", "--prefix", str(PEERS), "--no-save", "--no-audit", "--no-fund"]
    if not (PEERS / "node_modules").exists():
        subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)
    python = PEERS / ".venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS / ".venv")], check=True)
        pip = [str(python), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-r", str(PEERS / "requirements.txt")], check=True)
        subprocess.run([*pip, "--no-deps", ATLAS], check=True)


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
    return f"{ask(url, Host=FOREIGN)} and {ask(url, Origin=f'http://{FOREIGN}')}"


def measure(script: str, url: str) -> dict[str, Any]:
    """Medians over fresh browsers; None of what is not measured."""
    runs = []
    for _ in range(N_REPEATS):
        command = ["node", str(BENCH / script), url]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=MAX_SECONDS
        )
        runs.append(json.loads(done.stdout))
    if failed := [run["errors"] for run in runs if run["errors"]]:
        raise SystemExit(f"the page had errors: {failed}")
    names = ("firstPaint", "zoom", "pan", "lasso", "memory")
    return {n: None if runs[0][n] is None else median(run[n] for run in runs) for n in names}


def make_row(case: Case, found: dict[str, Any]) -> str:
    paint, lasso, memory = found["firstPaint"] / 1000, found["lasso"] / 1000, found["memory"]
    frames = min(found["zoom"], found["pan"])
    holds = paint <= case.paint and lasso <= case.lasso and memory <= case.memory
    return (
        f"| {case.n:,} | {case.panels} | {paint:.2f} s (≤ {case.paint:g}) "
        f"| {found['zoom']:.0f} / {found['pan']:.0f} (≥ {case.frames:g}) "
        f"| {1000 * lasso:.0f} ms (≤ {1000 * case.lasso:g}) "
        f"| {memory:.0f} MB (≤ {case.memory:g}) "
        f"| {'yes' if holds and frames >= case.frames else '**no**'} |"
    )


def make_peer_row(name: str, found: dict[str, Any]) -> str:
    lasso = "–" if found["lasso"] is None else f"{found['lasso']:.0f} ms"
    return (
        f"| {name} | {found['firstPaint'] / 1000:.2f} s | {found['zoom']:.1f} / {found['pan']:.1f} "
        f"| {lasso} | {found['memory']:.0f} MB |"
    )


def main() -> None:
    install_peers()
    rows, peers, foreign = [], [], []
    for case in CASES:
        with serve_lowd(case.n, case.panels) as url:
            found = measure("measure.mjs", url)
            if case.n == N_PEER_POINTS and case.panels == 1:
                peers.append(make_peer_row("**lowd**", found))
                foreign.append(f"lowd {ask_from_foreign_site(url)}")
        rows.append(make_row(case, found))
        print(rows[-1], flush=True)
    points = make_points(N_PEER_POINTS)
    with serve_regl(*points) as url:
        found = measure("peers/measure_regl.mjs", url)
        peers.append(make_peer_row("regl-scatterplot 1.16, bare page", found))
    with serve_atlas(*points) as url:
        found = measure("peers/measure_atlas.mjs", url)
        peers.append(make_peer_row("embedding-atlas 0.22", found))
        foreign.append(f"embedding-atlas 0.22 {ask_from_foreign_site(url + 'data/metadata.json')}")
    text = TEXT.format(
        machine=platform.machine(),
        repeats=N_REPEATS,
        rows="\n".join(rows),
        n=N_PEER_POINTS,
        peers="\n".join(peers),
        foreign=", ".join(foreign),
    )
    (HERE / "EXPLORER.md").write_text(text, "utf-8")
    sys.exit(int(any("**no**" in row for row in rows)))


if __name__ == "__main__":
    main()
