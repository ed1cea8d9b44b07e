"""The options that commands share, described as plain values; `app` gives them to typer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INPUT, OUTPUT, METHOD, TALK = "Input", "Output", "Method", "Messages"


@dataclass(frozen=True)
class Option:
    """A flag (or an argument, or a list of arguments) of a command."""

    name: str
    help: str
    panel: str = ""
    kind: Any = str
    default: Any = None
    short: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    argument: bool = False
    required: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def argument(name: str, text: str, required: bool = True) -> Option:
    return Option(name, text, argument=True, required=required, metavar=name.upper())


def switch(name: str, text: str, panel: str, short: str = "") -> Option:
    return Option(name, text, panel, bool, False, short)


DATA = argument("data", "A table, a matrix, a folder of images, ...; '-' is standard input.")

READING = (
    Option("columns", "Use these columns only: names, or patterns like 'px*'.", INPUT, list[str]),
    Option("drop", "Leave these columns out.", INPUT, list[str]),
    Option("label", "The column of labels: it colors the map and is not part of the data.", INPUT),
    Option("id", "The column of identifiers.", INPUT),
    Option("vector", "The column that holds a list of numbers in each row.", INPUT),
    switch("encode", "Turn text and categorical columns into columns of 0 and 1.", INPUT),
    switch("gower", "Keep text columns, and compare rows by Gower's distance.", INPUT),
    switch("distances", "The matrix holds distances between rows.", INPUT),
    Option("missing", "Rows with missing values: 'error' (default), 'drop' or 'mean'.", INPUT),
    Option("every", "Read only every N-th row.", INPUT, int),
    Option("delimiter", "What separates columns, where it is not recognized.", INPUT),
    Option("encoding", "How the text is encoded. Default: utf-8.", INPUT),
    Option("size", "Bring images to this size, as 64x64.", INPUT),
    Option("format", "The format, where the name does not tell ('csv', 'parquet', ...).", INPUT),
)

STANDARDIZE = switch(
    "standardize", "Bring every column to mean 0 and standard deviation 1 first.", INPUT
)

FORCE = switch("force", "Replace files that exist.", OUTPUT)
MAP_OUT = Option(
    "output",
    "Where the map goes; the suffix says the format, '-' is standard output as CSV. "
    "Default: NAME-METHOD.csv in this folder.",
    OUTPUT,
    short="-o",
    metavar="FILE",
)
PLOT = Option("plot", "Also draw the map: .png, .svg or .pdf.", OUTPUT, metavar="FILE")

WRITING = (
    MAP_OUT,
    Option("model", "Also keep the model, for `lowd transform`.", OUTPUT, metavar="FILE"),
    PLOT,
    Option("report", "Also write one HTML page with map and evidence.", OUTPUT, metavar="FILE"),
    Option(
        "evaluate",
        "Measure how far the map can be trusted (default), or do not.",
        OUTPUT,
        bool,
        True,
    ),
    FORCE,
)

COMPUTING = (
    Option("seed", "Seed of everything random. Default: 0.", METHOD, int),
    Option("backend", "'auto', 'native' or 'reference'. Default: auto.", METHOD),
    Option("n_jobs", "Threads; -1 is all. Default: all that are free.", METHOD, int),
)

TALKING = (
    switch("json", "One JSON document on standard output, the rest on standard error.", TALK),
    switch("quiet", "Say errors only.", TALK, "-q"),
    switch("verbose", "Say more; an error comes with its traceback.", TALK, "-v"),
)

N_NEIGHBORS = Option("n_neighbors", "Size of the neighborhoods that are judged.", METHOD, int, 15)
