"""`python -m lowd.accelerate script.py ...` runs a script with scikit-learn's classes on lowd."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from . import install, profile

USAGE = """usage: python -m lowd.accelerate [--profile] script.py [arguments ...]
       python -m lowd.accelerate [--profile] -m module [arguments ...]

Run a script or a module with the classes of scikit-learn that lowd computes faster.
--profile prints to standard error what ran where, how long, and why the original ran."""


def main(arguments: list[str]) -> int:
    """Run the script or module that the arguments name, as `python` would."""
    shows_profile = arguments[:1] == ["--profile"]
    command = arguments[1:] if shows_profile else arguments
    is_module = command[:1] == ["-m"]
    command = command[1:] if is_module else command
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if not command or command[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    if not is_module and not Path(command[0]).exists():
        print(f"python -m lowd.accelerate: there is no file {command[0]!r}.", file=sys.stderr)
        return 2
    install()
    sys.argv = command
    try:
        if is_module:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
        else:
            if not sys.flags.safe_path:
                # Replaces the working directory, which `python -m` has put there.
                sys.path[0] = str(Path(command[0]).resolve().parent)
            runpy.run_path(command[0], run_name="__main__")
    finally:
        if shows_profile:
            print(profile(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
