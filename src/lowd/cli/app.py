"""Commands for typer. A command is built when it is called: `lowd --help` imports no method."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .commands import VERBS, Command, command_of
from .exits import FAILED, OK, code_of
from .fields import COMMANDS, summary
from .options import METHOD, TALKING, Option


def _escaped(text: str) -> str:
    """Square brackets are markup to rich."""
    return text.replace("[", r"\[")


class _Lazy(TyperGroup):
    """Commands are listed by their help alone, and built when one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0].lower().replace("_", "-") if args else ""
        if word in VERBS or word in COMMANDS:
            alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
            command = command_of(word)
            alone.command(word, help=_escaped(command.help))(_built(word, command))
            self.commands[word] = typer.main.get_command(alone)
            args = [word, *args[1:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Lazy,
    help="Low-dimensional maps of high-dimensional data that people can trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _listed() -> None:
    for word, command in VERBS.items():
        app.command(word, help=command.help, rich_help_panel="Commands")(lambda: None)
    for word, name in COMMANDS.items():
        app.command(word, help=_escaped(summary(name)), rich_help_panel="Methods")(lambda: None)


_listed()


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"lowd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="The version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run(args: list[str], alone: bool) -> int:
    """Run the command line; the exit code. `alone`: the process does nothing else."""
    _Typed.line, _Typed.alone = shlex.join(["lowd", *args]), alone
    try:
        app(args, prog_name="lowd")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    return OK


class _Typed:
    """The line as it was typed, for the report, and whether this process is for it alone."""

    line = "lowd"
    alone = False


def _built(word: str, command: Command) -> Callable[..., None]:
    """The function typer calls: its signature is the list of options."""
    options = (*command.options, *TALKING)

    def call(**given: Any) -> None:
        code = _call(word, command, given)
        if code != OK:
            raise typer.Exit(code)

    parameters = [_parameter(option) for option in options]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def _call(word: str, command: Command, given: dict[str, Any]) -> int:
    """Do the work; every error becomes a sentence and an exit code."""
    from .talk import Talk
    from .watch import watched
    from .work import Work

    talk = Talk(given)
    given = {**given, "command": _Typed.line, "method": COMMANDS.get(word)}
    module, name = command.work.split(":")
    outputs = None
    try:
        from .files import planned

        home = import_module(f".{module}", __package__)
        outputs = planned(given, word, command.writes)

        def work() -> Any:
            with talk.listening():
                outputs.rehearse()
                return getattr(home, name)(given, talk, outputs)

        with watched(outputs.homes) if _Typed.alone else nullcontext():
            document, text = Work(work).result(talk.shows_bar, outputs.abandon, _Typed.alone)
        outputs.publish()
        talk.result(document, text, piped="-" in outputs.paths.values())
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        talk.fail(error)
        return code_of(error)
    finally:
        if outputs is not None:
            outputs.abandon()
    return OK


def _parameter(option: Option) -> inspect.Parameter:
    """The option as typer reads it: a parameter of a function, with its annotation."""
    text = _escaped(option.help)
    if option.argument:
        info: Any = typer.Argument(help=text, metavar=option.metavar, show_default=False)
    else:
        names = [option.short, option.flag] if option.short else [option.flag]
        if option.kind is bool and (option.default or option.panel == METHOD):
            names[-1] += f"/--no-{option.flag[2:]}"
        info = typer.Option(
            *names,
            help=text,
            metavar="" if option.kind is bool else option.metavar,
            rich_help_panel=option.panel or None,
            show_default=False,
            autocompletion=_completes(option.choices) if option.choices else None,
        )
    kind = option.kind if option.kind is bool or option.required else option.kind | None
    default = inspect.Parameter.empty if option.required else option.default
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def _completes(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete
