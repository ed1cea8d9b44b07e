"""The command line `lowd`: embed the rows of a file, evaluate the embedding, plot it."""

from __future__ import annotations

import gc
import sys


def main(args: list[str] | None = None) -> int:
    """Run the command line and return its exit code (see docs/command-line.md)."""
    owns_process = args is None
    if owns_process:
        # The objects of imported packages are no garbage, and looking for it takes a tenth of the
        # time of an import.
        gc.set_threshold(100_000, 10, 10)
    try:
        from .app import run

        return run(sys.argv[1:] if args is None else args, owns_process)
    except KeyboardInterrupt:  # interrupted while packages were imported
        return 130
