"""One command runs: Ctrl-C always ends it, and its files appear together at the end, or not at all.

A call runs in a background thread, so that the main thread shows progress and takes Ctrl-C: one
that never returns to Python (LAPACK, a file reader) would keep the main thread from reacting. Some
libraries even hold the interpreter lock for minutes (SuperLU factoring a sparse matrix), and no
signal handler runs meanwhile. But Python writes a signal to its wakeup pipe at once; a helper
process reads the other end and kills this one when it does not react.
"""

from __future__ import annotations

import contextvars
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Generic, TypeVar

from .. import progress
from ..errors import Cancelled, ParameterError
from .console import Console, ExitCode, format_error, get_exit_code
from .options import METHOD_COMMANDS, Arguments, Command, Result, is_streamed

STDOUT = "-"
# Beginning of the names of hidden folders with unfinished files.
TEMPORARY_PREFIX = f".lowd-{os.getpid()}-"
NOTHING_WRITTEN = "stopped; nothing was written."

T = TypeVar("T")


def run_command(
    word: str, command: Command, arguments: Arguments, line: str, owns_process: bool
) -> ExitCode:
    """Run a command; every error becomes a message and an exit code."""
    method = METHOD_COMMANDS.get(word)
    console = Console(arguments, [option.name for option in command.options], method)
    # The line as it was typed is for the report.
    arguments = {**arguments, "command": line, "method": method or arguments.get("method")}
    module, name = command.function.split(":")
    outputs = None
    try:
        home = import_module(f".{module}", __package__)
        outputs = plan_outputs(arguments, word, command.writes)

        def work() -> Result:
            from ..reuse import once

            # t-SNE of perplexity 30, which has the longest lists, needs 90 neighbors and ties.
            with console.capture_warnings(), once(n_neighbors=91):
                outputs.check_writable()
                result: Result = getattr(home, name)(arguments, console, outputs)
                return result

        stopped = outputs.stopped
        watch = kill_on_interrupt(outputs.folders, stopped) if owns_process else nullcontext()
        with watch:
            call = BackgroundCall(work)
            result = call.wait(console.shows_bar, outputs.discard, owns_process, stopped)
        outputs.publish()
        piped = "-" in outputs.paths.values()
        console.print_result(result.document, result.text, piped=piped)
        if result.then is not None:
            result.then()
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        console.print_error(error, format_error(error))
        return get_exit_code(error)
    finally:
        if outputs is not None:
            outputs.discard()
    return ExitCode.OK


def plan_outputs(arguments: Arguments, word: str, roles: tuple[str, ...]) -> Outputs:
    """The files that a command will write.

    Without -o an embedding goes to NAME-METHOD.csv, or to standard output if the data come from
    standard input.
    """
    if is_streamed(arguments):  # writes into a folder that can be continued, with the model in it
        stopped = "stopped; complete files are kept, and the same command continues."
        return Outputs({}, bool(arguments.get("force")), stopped)
    paths = {role: arguments.get(role) for role in roles}
    if "output" in roles and paths["output"] is None:
        name = Path(arguments["data"]).name.partition(".")[0] or "map"
        paths["output"] = STDOUT if arguments["data"] == STDOUT else f"{name}-{word}.csv"
    if STDOUT in (path for role, path in paths.items() if role != "output"):
        raise ParameterError("only the embedding can go to standard output; name a file.")
    if arguments.get("json") and paths.get("output") == STDOUT:
        raise ParameterError(
            "--json takes standard output; write the embedding to a file with -o FILE."
        )
    inputs = [arguments.get(name) for name in ("data", "file", "map", "model") if name not in roles]
    for role, path in paths.items():
        if path and any(_is_same_file(path, given) for given in inputs if given):
            raise ParameterError(f"{path} is what is read; name another file for the {role}.")
    return Outputs(paths, bool(arguments.get("force")))


def _is_same_file(path: str, other: str) -> bool:
    return Path(path).exists() and Path(other).exists() and os.path.samefile(path, other)


class Outputs:
    """Files written in a hidden folder next to their targets, and renamed when complete.

    Names are checked before the work begins.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> outputs = Outputs({"output": str(folder / "map.csv")}, force=False)
    >>> _ = outputs.temporary("output").write_text("x")
    >>> (folder / "map.csv").exists()
    False
    >>> outputs.publish()
    >>> [path.name for path in folder.iterdir()]
    ['map.csv']
    """

    def __init__(
        self, paths: dict[str, str | None], force: bool, stopped: str = NOTHING_WRITTEN
    ) -> None:
        self.stopped = stopped  # what is left after Ctrl-C
        self.paths = {role: path for role, path in paths.items() if path is not None}
        self._force = force
        self._temporary_folders: dict[Path, Path] = {}
        self._temporary_files: dict[Path, Path] = {}
        targets = [Path(path).absolute() for path in self.paths.values() if path != STDOUT]
        for target in targets:
            self._check(target)
            if targets.count(target) > 1:
                raise ParameterError(f"{target.name} is named for two outputs; name two files.")

    def __contains__(self, role: str) -> bool:
        return role in self.paths

    @property
    def folders(self) -> set[Path]:
        """The folders that may hold unfinished files."""
        return {_get_folder(path) for path in self.paths.values()}

    def temporary(self, role: str) -> Path:
        """The path to write to for now: the final name, in a hidden folder."""
        path = self.paths[role]
        target = Path("stdout.csv" if path == STDOUT else path).absolute()
        folder = _get_folder(path)
        if folder not in self._temporary_folders:
            hidden = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder)
            self._temporary_folders[folder] = Path(hidden)
        temporary = self._temporary_folders[folder] / target.name
        self._temporary_files[Path(STDOUT) if path == STDOUT else target] = temporary
        return temporary

    def publish(self) -> None:
        """Give every file its final name."""
        for target, temporary in self._temporary_files.items():
            if str(target) == STDOUT:
                with temporary.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                self._check(target)  # the file may have appeared meanwhile
                os.replace(temporary, target)
        self.discard()

    def discard(self) -> None:
        """Remove what has not been published."""
        for folder in self._temporary_folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary_folders.clear()
        self._temporary_files.clear()

    def check_writable(self) -> None:
        """Raise now whatever would go wrong after hours of work: names, folders, packages."""
        from .. import io
        from ..plot.canvas import IMAGE_FORMATS

        if "output" in self:
            io.write(self.temporary("output"), {"pca0": [0.0]}, force=True)
            self.temporary("output").unlink()
        kind = Path(self.paths.get("plot", "x.png")).suffix.removeprefix(".").lower()
        if kind not in IMAGE_FORMATS:
            raise ParameterError(
                f"--plot {self.paths['plot']}: end the name in .{', .'.join(IMAGE_FORMATS)}."
            )

    def _check(self, target: Path) -> None:
        from ..io import check_target

        check_target(os.path.relpath(target), self._force)


def _get_folder(path: str) -> Path:
    return Path(tempfile.gettempdir()) if path == STDOUT else Path(path).absolute().parent


class BackgroundCall(Generic[T]):
    """A call in a thread whose progress is shown and which is cancelled at the next report."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._stop = threading.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._latest: dict[str, tuple[int, int]] = {}
        self._shown: dict[str, tuple[int, int]] = {}
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True)

    def wait(
        self,
        show_bar: bool,
        discard: Callable[[], None],
        owns_process: bool = False,
        stopped: str = NOTHING_WRITTEN,
        *,
        bar_after: float = 1.0,
    ) -> T:
        """Wait for the returned value. On Ctrl-C `discard` cleans up, even if the call goes on.

        `owns_process`: the process serves this call only and may end with it. Work that takes
        fewer seconds than `bar_after` needs no progress bar.
        """
        self._thread.start()
        try:
            self._poll(show_bar, bar_after)
        except KeyboardInterrupt:
            self._stop.set()
            self._thread.join(0.4)  # seconds for the cancelled call to end by itself
            discard()
            if owns_process or self._thread.is_alive():
                # Either the call cannot be interrupted, or nothing is left to do; Python's regular
                # shutdown would free gigabytes one array at a time.
                sys.stderr.write(f"\nlowd: {stopped}\n")
                sys.stderr.flush()
                os._exit(ExitCode.INTERRUPTED)
            raise
        if self._error is not None:
            raise self._error
        return self._values[0]

    def _run(self) -> None:
        try:
            with progress.listening(self._record):
                self._values.append(self._call())
        except BaseException as error:
            self._error = error

    def _record(self, stage: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled("stopped by the user.")
        self._latest[stage] = (done, total)

    def _poll(self, show_bar: bool, bar_after: float) -> None:
        start = time.monotonic()
        with ExitStack() as stack:
            bar: progress.Listener | None = None
            while self._thread.is_alive():
                self._thread.join(0.05)  # seconds; the bar is redrawn as often
                if not show_bar or time.monotonic() - start < bar_after:
                    continue
                bar = bar or stack.enter_context(progress.bar())
                self._show(bar)
            if bar is not None:
                self._show(bar)  # the final state

    def _show(self, bar: progress.Listener) -> None:
        for stage, now in list(self._latest.items()):
            if self._shown.get(stage) != now:
                self._shown[stage] = now
                bar(stage, *now)


_WATCHDOG = """
import os, select, shutil, signal, sys
parent, seconds, prefix, stopped, *folders = sys.argv[1:]
byte = os.read(0, 1)
while byte and byte[0] not in (signal.SIGINT, signal.SIGTERM):
    byte = os.read(0, 1)
while byte:
    if not select.select([0], [], [], float(seconds))[0]:
        os.kill(int(parent), signal.SIGKILL)
        for folder in folders:
            for name in os.listdir(folder):
                if name.startswith(prefix):
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        sys.stderr.write("\\nlowd: " + stopped + "\\n")
        break
    byte = os.read(0, 1)
"""


@contextmanager
def kill_on_interrupt(folders: Iterable[Path], stopped: str) -> Iterator[None]:
    """Within the block, Ctrl-C ends the process even if Python cannot react to it.

    Unfinished files in `folders` are removed too; `stopped` says what is left.
    """
    if os.name != "posix":
        yield
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    # In a session of its own the watchdog does not receive the terminal's Ctrl-C itself.
    script = [sys.executable, "-I", "-S", "-c", _WATCHDOG]
    seconds = 0.7  # from Ctrl-C to SIGKILL: longer than a cancelled call takes to end
    settings = [str(os.getpid()), str(seconds), TEMPORARY_PREFIX, stopped]
    watchdog = subprocess.Popen(
        [*script, *settings, *(str(folder) for folder in folders)],
        stdin=read_end,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_end)
    wakeup_before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    # A job that receives SIGTERM (timeout, a batch system) cleans up as after Ctrl-C.
    handler_before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler_before)
        signal.set_wakeup_fd(wakeup_before)
        os.close(write_end)  # the watchdog then reads the end of the pipe, and exits
        watchdog.wait()
