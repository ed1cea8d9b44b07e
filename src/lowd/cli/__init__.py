"""The command line `lowd`: embed the rows of a file, evaluate the embedding, plot it."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main(args: list[str] | None = None) -> int:
    """Run the command line and return its exit code (see docs/command-line.md)."""
    missing = [package for package in ("typer", "rich") if find_spec(package) is None]
    if missing:
        print(
            f"lowd: the command needs {' and '.join(missing)}: pip install 'lowd[app]'",
            file=sys.stderr,
        )
        return 6
    try:
        from .app import run

        return run(sys.argv[1:] if args is None else args, owns_process=args is None)
    except KeyboardInterrupt:  # interrupted while packages were imported
        return 130
