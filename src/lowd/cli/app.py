"""The command line: help, parsing and completion, by the declared options of each command.

`lowd --help` imports no method, and no command runs but the one that is called.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from ..methods import get_summary
from .console import ExitCode, format_table, get_width
from .options import COMMANDS, MESSAGES, METHOD_COMMANDS, Arguments, Command, Option, get_command

COMPLETION = """\
[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
_lowd() {
    local IFS=$'\\n'
    COMPREPLY=($(env _LOWD_WORDS="${COMP_WORDS[*]}" _LOWD_WORD=$COMP_CWORD lowd))
}
complete -o default -F _lowd lowd"""


def run(args: list[str], owns_process: bool) -> int:
    """Run the command line; return the exit code. `owns_process`: the process does nothing else."""
    if "_LOWD_WORDS" in os.environ:
        words, number = os.environ["_LOWD_WORDS"].split("\n"), int(os.environ["_LOWD_WORD"])
        print(*complete(words, number), sep="\n")
        return ExitCode.OK
    if not args or args[0] in ("-h", "--help"):
        print(format_help())
        return ExitCode.OK
    if args[0] == "--version":
        from .. import __version__

        print(f"lowd {__version__}")
        return ExitCode.OK
    if args[0] == "--show-completion":
        print(COMPLETION)
        return ExitCode.OK
    word = args[0].lower().replace("_", "-")
    parser = Parser(prog="lowd")
    try:
        if word not in COMMANDS and word not in METHOD_COMMANDS:
            parser.refuse("command", args[0], word, [*COMMANDS, *METHOD_COMMANDS])
        command = get_command(word)
        parser = Parser(word, command)
        arguments = parser.read(args[1:])
    except SystemExit as end:  # after help, or after an error that is printed
        return int(end.code or 0)
    from .running import run_command

    return run_command(word, command, arguments, shlex.join(["lowd", *args]), owns_process)


def format_help() -> str:
    """The commands and the methods, each in a line or two."""
    sections: dict[str, Mapping[str, str]] = {
        "Options": {
            "--version": "The version.",
            "--show-completion": "The script that completes commands, flags and choices in bash "
            "and zsh.",
            "-h, --help": "This message; `lowd COMMAND --help` lists the flags of a command.",
        },
        "Commands": {word: command.help for word, command in COMMANDS.items()},
        "Methods": {word: get_summary(name) for word, name in METHOD_COMMANDS.items()},
    }
    first = max(len(word) for rows in sections.values() for word in rows)
    about = "Dimension reduction: embeddings of data files that people can trust."
    parts = [f"Usage: lowd COMMAND [OPTIONS] ...\n\n{about}"]
    for title, rows in sections.items():
        lines = [(f"  {word:{first}} ", text) for word, text in rows.items()]
        parts.append(f"{title}:\n{format_table((), lines)}")
    return "\n\n".join(parts)


class Parser(argparse.ArgumentParser):
    """The parser of one command; what it cannot read ends as a message and exit code 2."""

    def __init__(self, word: str = "", command: Command | None = None, **more: Any) -> None:
        self._options = () if command is None else (*command.options, *MESSAGES)
        self._word = word
        if command is not None:
            names = [_name(option) for option in self._options if option.argument]
            more["usage"] = " ".join(["lowd", word, *names, "[OPTIONS]"])
            more["description"] = command.help.replace("%", "%%")
        super().__init__(
            formatter_class=lambda prog: argparse.HelpFormatter(prog, 2, 30, get_width()),
            allow_abbrev=False,
            add_help=False,
            **more,
        )
        groups: dict[str, Any] = {}
        for option in self._options:
            title = "Arguments" if option.argument else option.panel
            if title not in groups:
                groups[title] = self.add_argument_group(title)
            _add(groups[title], option)
        if command is not None:
            groups[title].add_argument("-h", "--help", action="help", help="This message.")

    def read(self, args: Sequence[str]) -> Arguments:
        """The value of each option; those that were not typed have their default."""
        flags = {option.flag: option.flag for option in self._options if _takes_value(option)}
        flags |= {one.short: one.flag for one in self._options if _takes_value(one) and one.short}
        joined, rest = [], list(args)
        while rest:  # a value may begin with "-", as a negative number or standard output
            arg = rest.pop(0)
            joined.append(f"{flags[arg]}={rest.pop(0)}" if arg in flags and rest else arg)
        found, unknown = self.parse_known_args(joined)
        if unknown:
            wrong = next((arg for arg in unknown if arg.startswith("-")), unknown[0])
            wrong = wrong.partition("=")[0]
            known = [name for action in self._actions for name in action.option_strings]
            self.refuse("option" if wrong.startswith("-") else "argument", wrong, wrong, known)
        return vars(found)

    def refuse(self, kind: str, given: str, word: str, known: Sequence[str]) -> NoReturn:
        """Name what is unknown, and what it may have been."""
        near = get_close_matches(word, known, 1)
        self.error(f"there is no {kind} {given}" + (f"; did you mean {near[0]}?" if near else "."))

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        where = f"lowd {self._word}".rstrip()
        self.exit(ExitCode.USAGE, f"lowd: {message}\n`{where} --help` lists what there is.\n")


def _add(group: Any, option: Option) -> None:
    """Declare an option to argparse."""
    about: dict[str, Any] = {"help": option.help.replace("%", "%%")}
    if option.argument:
        count = {} if option.required else {"nargs": "?"}
        group.add_argument(option.name, metavar=_name(option), **count, **about)
        return
    names = [option.short, option.flag] if option.short else [option.flag]
    about |= {"dest": option.name, "default": option.default, "required": option.required}
    if option.kind is bool:
        both = option.default is not False or option.panel == "Method"
        about["action"] = argparse.BooleanOptionalAction if both else "store_true"
    else:
        about |= {"metavar": _name(option), "type": _read_integer if option.kind is int else str}
        about["action"] = "store" if option.kind in (int, str) else "append"
    group.add_argument(*names, **about)


def _name(option: Option) -> str:
    return option.metavar or option.name.upper()


def _takes_value(option: Option) -> bool:
    return not option.argument and option.kind is not bool


def _read_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.") from None


def complete(words: Sequence[str], number: int) -> list[str]:
    """What the word of that number may become: a command, a choice of its flag, or a flag.

    >>> complete(["lowd", "iso"], 1)
    ['isomap']
    """
    begun = words[number] if number < len(words) else ""
    found = [*COMMANDS, *METHOD_COMMANDS]
    if number > 1:
        if words[1] not in found:
            return []
        options = (*get_command(words[1]).options, *MESSAGES)
        flags = [option.flag for option in options if not option.argument]
        chosen = [list(one.choices) for one in options if one.flag == words[number - 1]]
        found = chosen[0] if chosen and chosen[0] else flags if begun.startswith("-") else []
    return [word for word in found if word.startswith(begun)]
