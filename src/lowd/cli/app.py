"""The typer application. A command is built when it is called: `lowd --help` imports no method."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from ..methods import get_summary
from .exit_codes import ExitCode, format_error, get_exit_code
from .flags import METHOD_COMMANDS
from .options import MESSAGES, METHOD_PANEL, Arguments, Option
from .registry import COMMANDS, Command, Result, get_command

# From click, or from the copy of it that newer versions of typer hold.
ClickContext: TypeAlias = Any
ResolvedCommand: TypeAlias = Any  # from the same module


def _escape_markup(text: str) -> str:
    """Escape square brackets, which are markup to rich."""
    return text.replace("[", r"\[")


class _LazyGroup(TyperGroup):
    """Commands are listed by their help alone, and built when one is called."""

    def resolve_command(self, ctx: ClickContext, args: list[str]) -> ResolvedCommand:
        word = args[0].lower().replace("_", "-") if args else ""
        if word in COMMANDS or word in METHOD_COMMANDS:
            single = typer.Typer(add_completion=False, rich_markup_mode="rich")
            command = get_command(word)
            single.command(word, help=_escape_markup(command.help))(_make_function(word, command))
            self.commands[word] = typer.main.get_command(single)
            args = [word, *args[1:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_LazyGroup,
    help="Dimension reduction: embeddings of data files that people can trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _list_commands() -> None:
    for word, command in COMMANDS.items():
        app.command(word, help=command.help, rich_help_panel="Commands")(lambda: None)
    for word, name in METHOD_COMMANDS.items():
        text = _escape_markup(get_summary(name))
        app.command(word, help=text, rich_help_panel="Methods")(lambda: None)


_list_commands()


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"lowd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="The version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run(args: list[str], owns_process: bool) -> int:
    """Run the command line; return the exit code. `owns_process`: the process does nothing else."""
    _Invocation.line, _Invocation.owns_process = shlex.join(["lowd", *args]), owns_process
    try:
        app(args, prog_name="lowd")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.FAILED
    return ExitCode.OK


class _Invocation:
    """Return the line as typed, for the report, and whether the process is for it alone."""

    line = "lowd"
    owns_process = False


def _make_function(word: str, command: Command) -> Callable[..., None]:
    """Make the function that typer calls; its signature is the list of options."""
    options = (*command.options, *MESSAGES)

    def call(**arguments: Any) -> None:
        code = _run_command(word, command, arguments)
        if code != ExitCode.OK:
            raise typer.Exit(code)

    parameters = [_make_parameter(option) for option in options]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _run_command(word: str, command: Command, arguments: Arguments) -> ExitCode:
    """Run a command; every error becomes a message and an exit code."""
    from .background import BackgroundCall, kill_on_interrupt
    from .console import Console

    method = METHOD_COMMANDS.get(word)
    typed = {"command": _Invocation.line, "method": method or arguments.get("method")}
    console = Console(arguments, [option.name for option in command.options], method)
    arguments = {**arguments, **typed}
    module, name = command.function.split(":")
    outputs = None
    try:
        from .files import plan_outputs

        home = import_module(f".{module}", __package__)
        outputs = plan_outputs(arguments, word, command.writes)

        def work() -> Result:
            with console.capture_warnings():
                outputs.check_writable()
                result: Result = getattr(home, name)(arguments, console, outputs)
                return result

        alone = _Invocation.owns_process
        stopped = outputs.stopped
        with kill_on_interrupt(outputs.folders, stopped) if alone else nullcontext():
            call = BackgroundCall(work)
            result = call.wait(console.shows_bar, outputs.discard, alone, stopped)
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


def _make_parameter(option: Option) -> inspect.Parameter:
    """Express an option in the form that typer reads: an annotated parameter of a function."""
    text = _escape_markup(option.help)
    info: object
    if option.argument:
        info = typer.Argument(help=text, metavar=option.metavar, show_default=False)
    else:
        names = [option.short, option.flag] if option.short else [option.flag]
        if option.kind is bool and (option.default is not False or option.panel == METHOD_PANEL):
            names[-1] += f"/--no-{option.flag[2:]}"
        info = typer.Option(
            *names,
            help=text,
            metavar="" if option.kind is bool else option.metavar,
            rich_help_panel=option.panel or None,
            show_default=False,
            autocompletion=_make_completion(option.choices) if option.choices else None,
            parser=_parse_integer if option.kind is int else None,
        )
    plain = option.required or (option.kind is bool and option.default is not None)
    kind = option.kind if plain else option.kind | None
    default = inspect.Parameter.empty if option.required else option.default
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def _parse_integer(text: str | int) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def _make_completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete
