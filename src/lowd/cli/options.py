"""Options that commands share, declared as plain values; `app` passes them to typer."""

from __future__ import annotations

from dataclasses import dataclass
from types import GenericAlias
from typing import Any, TypeAlias

# Option -> the typed value, converted to the kind of the option, or its default.
Arguments: TypeAlias = dict[str, Any]

INPUT_PANEL, OUTPUT_PANEL, METHOD_PANEL, MESSAGES_PANEL = "Input", "Output", "Method", "Messages"
SERVER_PANEL = "Server"


@dataclass(frozen=True)
class Option:
    """A flag (or an argument, or a list of arguments) of a command."""

    name: str
    help: str
    panel: str = ""
    kind: type | GenericAlias = str  # a type that typer knows, such as list[str]
    default: object = None
    short: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    argument: bool = False
    required: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def is_streamed(arguments: Arguments) -> bool:
    """Whether the data are read, fitted and written in blocks."""
    return arguments.get("memory") is not None or arguments.get("cluster") is not None


def make_argument(name: str, text: str, required: bool = True, metavar: str = "") -> Option:
    return Option(name, text, argument=True, required=required, metavar=metavar or name.upper())


def make_switch(name: str, text: str, panel: str, short: str = "") -> Option:
    return Option(name, text, panel, bool, False, short)


DATA = make_argument("data", "A table, a matrix, a folder of images, ...; '-' is standard input.")

READING = (
    Option(
        "columns",
        "Use these columns only: names, or patterns like 'px*'.",
        INPUT_PANEL,
        list[str],
    ),
    Option("drop", "Leave these columns out.", INPUT_PANEL, list[str]),
    Option(
        "label",
        "The column of labels: it colors the plot and is not part of the data.",
        INPUT_PANEL,
    ),
    Option("id", "The column of identifiers.", INPUT_PANEL),
    Option(
        "keep",
        "Columns that are features even if they look like codes, years or identifiers.",
        INPUT_PANEL,
        list[str],
    ),
    Option(
        "kind",
        "What columns are: 'grade=category', 'site=code', 'year=quantity', ...",
        INPUT_PANEL,
        list[str],
        metavar="NAME=KIND",
    ),
    Option("vector", "The column that holds a list of numbers in each row.", INPUT_PANEL),
    make_switch("encode", "One-hot encode text and categorical columns.", INPUT_PANEL),
    Option(
        "gower",
        "Use text as well, and compare rows by Gower's distance. Default: where there are more "
        "columns of words than of numbers.",
        INPUT_PANEL,
        bool,
    ),
    make_switch(
        "dates", "Use columns of dates, in days; without it they are not features.", INPUT_PANEL
    ),
    Option("distances", "A matrix holds distances between rows, or does not.", INPUT_PANEL, bool),
    Option(
        "missing",
        "Missing values: 'error', 'drop' the rows, or fill in the 'mean' of the column (default).",
        INPUT_PANEL,
    ),
    Option("every", "Read only every N-th row.", INPUT_PANEL, int),
    Option("header", "The first line names the columns, or does not.", INPUT_PANEL, bool),
    Option("array", "The array of an .npz file that holds the rows.", INPUT_PANEL),
    Option("skip", "Leave out so many lines above the table.", INPUT_PANEL, int),
    Option("delimiter", "What separates columns, where it is not recognized.", INPUT_PANEL),
    Option("decimal", "The decimal mark, '.' or ',', where it is not recognized.", INPUT_PANEL),
    Option("encoding", "The text encoding, where it is not recognized.", INPUT_PANEL),
    Option("size", "Resize images to this size, as 64x64.", INPUT_PANEL),
    Option(
        "format",
        "The format, where the suffix does not show it ('csv', 'parquet', ...).",
        INPUT_PANEL,
    ),
)

STANDARDIZE = Option(
    "standardize",
    "Scale every column to mean 0 and standard deviation 1 first.",
    INPUT_PANEL,
    bool,
)
# Steps between the file and the method; those that are not typed are chosen by the columns.
PREPARING = (
    STANDARDIZE,
    Option(
        "normalize", "Divide each row of counts by its total (library size).", INPUT_PANEL, bool
    ),
    Option("log1p", "Take log(1 + x) of counts.", INPUT_PANEL, bool),
    Option(
        "pca",
        "Reduce to this many principal components first, or 'none'.",
        INPUT_PANEL,
        metavar="N",
    ),
    make_switch(
        "correct_shrinkage",
        "Correct components of new points, which shrink if rows are fewer than columns.",
        INPUT_PANEL,
    ),
)
FORCE = make_switch("force", "Replace files that exist.", OUTPUT_PANEL)
EMBEDDING_FILE = Option(
    "output",
    "The file for the embedding; the suffix sets the format, '-' is standard output as CSV. "
    "Default: NAME-METHOD.csv in this folder.",
    OUTPUT_PANEL,
    short="-o",
    metavar="FILE",
)
PLOT = Option("plot", "Also plot the embedding: .png, .svg or .pdf.", OUTPUT_PANEL, metavar="FILE")

WRITING = (
    EMBEDDING_FILE,
    Option("model", "Also save the model, for `lowd transform`.", OUTPUT_PANEL, metavar="FILE"),
    PLOT,
    Option(
        "report",
        "Also write one HTML page with the embedding and its evaluation.",
        OUTPUT_PANEL,
        metavar="FILE",
    ),
    Option(
        "evaluate",
        "Measure the quality of the embedding (default), or do not.",
        OUTPUT_PANEL,
        bool,
        True,
    ),
    FORCE,
)

VIEW = make_switch("view", "Then open the explorer in a browser; Ctrl-C ends it.", OUTPUT_PANEL)

SEED = Option("seed", "Seed of everything random. Default: 0.", METHOD_PANEL, int)
COMPUTING = (
    SEED,
    Option("backend", "'auto', 'native' or 'torch'. Default: auto.", METHOD_PANEL),
    Option("n_jobs", "Threads; -1 is all. Default: all that are free.", METHOD_PANEL, int),
)

METHOD = Option("method", "The method; without it, the best is chosen.", METHOD_PANEL, short="-m")
BLOCKS = (
    Option(
        "memory",
        "Data larger than memory: read, fit and write them in blocks within this limit (2GB). The "
        "embedding is a folder of Parquet files; run again, it continues.",
        INPUT_PANEL,
        metavar="SIZE",
    ),
    Option(
        "cluster",
        "Compute the blocks on a dask cluster: tcp://HOST:PORT, or the scheduler's file.",
        INPUT_PANEL,
        metavar="ADDRESS",
    ),
)
SAMPLE = Option(
    "sample",
    "With --memory or --cluster: random rows that a method learns from; the others are new points "
    "of its map. 0 is all rows, which pca and projections always take. Default: 5000.",
    INPUT_PANEL,
    int,
    metavar="ROWS",
)

MESSAGES = (
    make_switch(
        "json",
        "One JSON document on standard output, all else on standard error.",
        MESSAGES_PANEL,
    ),
    make_switch("quiet", "Print errors only.", MESSAGES_PANEL, "-q"),
    make_switch(
        "verbose", "Print details; an error comes with its traceback.", MESSAGES_PANEL, "-v"
    ),
)

DEFAULT_N_NEIGHBORS = 15  # Neighbors of quality measures, as in `lowd.evaluate`.
N_NEIGHBORS = Option(
    "n_neighbors",
    "Number of neighbors that are compared.",
    METHOD_PANEL,
    int,
    DEFAULT_N_NEIGHBORS,
)

# Step of a pipeline -> its flag.
FLAGS = {
    "impute": "missing",
    "normalize": "normalize",
    "log1p": "log1p",
    "scale": "standardize",
    "pca": "pca",
    "correct_shrinkage": "correct-shrinkage",
}
