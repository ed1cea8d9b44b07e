"""The process of a job: receives a model and rows, sends progress, embeddings and the model.

It is a fresh interpreter that imports this module only. The `spawn` of `multiprocessing` would run
the caller's script again, which opens an explorer itself.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import time
import warnings
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from .. import progress
from ..errors import LowdError, LowdWarning
from ..input.arguments import Foreign

# A worker sends progress (stage, done, total), an unfinished embedding, the fitted model with its
# warnings, or an error.
Message: TypeAlias = tuple[Literal["progress", "embedding", "model", "error"], Any]

_SIZE = struct.Struct("<Q")


def send(file: IO[bytes], message: object) -> None:
    """Write one message: its size, then its bytes."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    file.write(_SIZE.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> Foreign:
    """Read one message; raise EOFError if the other process is gone."""
    head = file.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    (size,) = _SIZE.unpack(head)
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)  # the data come from our own process


class Reports:
    """Sends progress and embeddings, neither too often."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._reported = self._shown = 0.0

    def tell(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        # The page asks four times a second.
        if now - self._reported >= 0.1 or done >= total:
            self._reported = now
            send(self._file, ("progress", (stage, done, total)))

    def show(self, Y: np.ndarray[Any, Any]) -> None:
        begin = time.monotonic()
        if begin - self._shown < 0.25:
            return
        send(self._file, ("embedding", np.ascontiguousarray(Y[:, :3], np.float32)))
        # Spend at most a tenth of the time on a slow reader of large embeddings.
        self._shown = time.monotonic() + 9 * (time.monotonic() - begin)


def main() -> None:
    """Fit one model."""
    # Whatever prints must not disturb the messages.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    model, X = receive(sys.stdin.buffer)
    reports = Reports(output)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with progress.listening(reports.tell), progress.watching(reports.show):
                Y = np.asarray(model.fit_transform(X))
        except (LowdError, MemoryError, ValueError, ArithmeticError) as error:
            send(output, ("error", error))
            return
    notes = [str(one.message) for one in caught if issubclass(one.category, LowdWarning)]
    send(output, ("model", (model, Y, list(dict.fromkeys(notes)))))
