"""The commands: the options of each, the flags of a method, and the function that runs each.

Options are plain values, which `app` declares to argparse. The flags of a method are derived from
its class: a field's annotation is the only declaration of a parameter (see `parameters`); its help
is the entry in the class's docstring. Commands are listed at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_origin

from ..errors import ParameterError
from ..methods import COMMANDS as METHOD_WORDS
from ..methods import get_parameter_texts, get_summary

if TYPE_CHECKING:
    from ..reducer import Reducer

# Option -> the typed value, converted to the kind of the option, or its default.
Arguments: TypeAlias = dict[str, Any]
Domain: TypeAlias = Any  # an annotation: a type, a union, a Literal or Annotated
METHOD_COMMANDS = {word: name for name, word in METHOD_WORDS.items()}


@dataclass(frozen=True)
class Option:
    """A flag (or an argument, or a list of arguments) of a command."""

    name: str
    help: str
    panel: str = ""
    kind: type | GenericAlias = str  # a type such as list[str]
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
        "Input",
        list[str],
    ),
    Option("drop", "Leave these columns out.", "Input", list[str]),
    Option(
        "label",
        "The column of labels: it colors the plot and is not part of the data.",
        "Input",
    ),
    Option("id", "The column of identifiers.", "Input"),
    Option(
        "keep",
        "Columns that are features even if they look like codes, years or identifiers.",
        "Input",
        list[str],
    ),
    Option(
        "kind",
        "What columns are: 'grade=category', 'site=code', 'year=quantity', ...",
        "Input",
        list[str],
        metavar="NAME=KIND",
    ),
    Option("vector", "The column that holds a list of numbers in each row.", "Input"),
    make_switch("encode", "One-hot encode text and categorical columns.", "Input"),
    Option(
        "gower",
        "Use text as well, and compare rows by Gower's distance. Default: where there are more "
        "columns of words than of numbers.",
        "Input",
        bool,
    ),
    make_switch(
        "dates", "Use columns of dates, in days; without it they are not features.", "Input"
    ),
    Option("distances", "A matrix holds distances between rows, or does not.", "Input", bool),
    Option(
        "missing",
        "Missing values: 'error', 'drop' the rows, or fill in the 'mean' of the column (default).",
        "Input",
    ),
    Option("every", "Read only every N-th row.", "Input", int),
    Option("header", "The first line names the columns, or does not.", "Input", bool),
    Option("array", "The array of an .npz file that holds the rows.", "Input"),
    Option("skip", "Leave out so many lines above the table.", "Input", int),
    Option("delimiter", "What separates columns, where it is not recognized.", "Input"),
    Option("decimal", "The decimal mark, '.' or ',', where it is not recognized.", "Input"),
    Option("encoding", "The text encoding, where it is not recognized.", "Input"),
    Option("size", "Resize images to this size, as 64x64.", "Input"),
    Option(
        "format",
        "The format, where the suffix does not show it ('csv', 'parquet', ...).",
        "Input",
    ),
)

# Steps between the file and the method; those that are not typed are chosen by the columns.
PREPARING = (
    Option(
        "standardize",
        "Scale every column to mean 0 and standard deviation 1 first.",
        "Input",
        bool,
    ),
    Option("normalize", "Divide each row of counts by its total (library size).", "Input", bool),
    Option("log1p", "Take log(1 + x) of counts.", "Input", bool),
    Option(
        "pca",
        "Reduce to this many principal components first, or 'none'.",
        "Input",
        metavar="N",
    ),
    make_switch(
        "correct_shrinkage",
        "Correct components of new points, which shrink if rows are fewer than columns.",
        "Input",
    ),
)
FORCE = make_switch("force", "Replace files that exist.", "Output")
EMBEDDING_FILE = Option(
    "output",
    "The file for the embedding; the suffix sets the format, '-' is standard output as CSV. "
    "Default: NAME-METHOD.csv in this folder.",
    "Output",
    short="-o",
    metavar="FILE",
)
PLOT = Option("plot", "Also plot the embedding: .png, .svg or .pdf.", "Output", metavar="FILE")

WRITING = (
    EMBEDDING_FILE,
    Option("model", "Also save the model, for `lowd transform`.", "Output", metavar="FILE"),
    PLOT,
    Option(
        "report",
        "Also write one HTML page with the embedding and its evaluation.",
        "Output",
        metavar="FILE",
    ),
    Option(
        "evaluate",
        "Measure the quality of the embedding (default), or do not.",
        "Output",
        bool,
        True,
    ),
    FORCE,
)

VIEW = make_switch("view", "Then open the explorer in a browser; Ctrl-C ends it.", "Output")

SEED = Option("seed", "Seed of everything random. Default: 0.", "Method", int)
COMPUTING = (
    SEED,
    Option("backend", "'auto', 'native' or 'torch'. Default: auto.", "Method"),
    Option("n_jobs", "Threads; -1 is all. Default: all that are free.", "Method", int),
)

BLOCKS = (
    Option(
        "memory",
        "Data larger than memory: read, fit and write them in blocks within this limit (2GB). The "
        "embedding is a folder of Parquet files; run again, it continues.",
        "Input",
        metavar="SIZE",
    ),
    Option(
        "cluster",
        "Compute the blocks on a dask cluster: tcp://HOST:PORT, or the scheduler's file.",
        "Input",
        metavar="ADDRESS",
    ),
)
SAMPLE = Option(
    "sample",
    "With --memory or --cluster: random rows that a method learns from; the others are new points "
    "of its map. 0 is all rows, which pca and projections always take. Default: 5000.",
    "Input",
    int,
    metavar="ROWS",
)

MESSAGES = (
    make_switch(
        "json",
        "One JSON document on standard output, all else on standard error.",
        "Messages",
    ),
    make_switch("quiet", "Print errors only.", "Messages", "-q"),
    make_switch("verbose", "Print details; an error comes with its traceback.", "Messages", "-v"),
)

DEFAULT_N_NEIGHBORS = 15  # Neighbors of quality measures, as in `lowd.evaluate`.
N_NEIGHBORS = Option(
    "n_neighbors",
    "Number of neighbors that are compared.",
    "Method",
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


def make_flags(name: str) -> list[Option]:
    """One flag per field of the class, but for those that the command line has flags of its own."""
    from ..parameters import defaults_of, list_literals, parameters_of, split_union
    from ..store import class_of

    cls = class_of(name)
    texts, defaults = get_parameter_texts(name), defaults_of(cls)
    typed: dict[object, str] = {
        int: "int",
        float: "float",
        list: "list",
        dict: "json",
        type(None): "none",
    }
    options = []
    for parameter, domain in parameters_of(cls).items():
        if parameter in ("random_state", "backend", "n_jobs", "verbose"):
            continue
        default = defaults[parameter]
        if parameter == "n_components":
            default = 2  # A plot has two, whatever a method computes by default (PCA: all).
        shown = str(default).lower() if default in (None, True, False) else default
        text = f"{texts.get(parameter, '')} Default: {shown}.".strip()
        if isinstance(default, bool):
            options.append(Option(parameter, text, "Method", bool, default))
            continue
        choices = tuple(list_literals(domain))
        kinds = [typed.get(get_origin(part) or part) for part in split_union(domain)]
        metavar = "|".join([*choices, *dict.fromkeys(kind for kind in kinds if kind)]) or "text"
        if len(metavar) > 30:
            text, metavar = f"{text} One of {', '.join(choices)}.", "name"
        options.append(Option(parameter, text, "Method", metavar=metavar, choices=choices))
    return options


def build_model(name: str, arguments: Arguments) -> Reducer:
    """The unfitted model with the parameters that were typed."""
    from ..parameters import check_parameters, parameters_of
    from ..store import class_of

    cls: type[Any] = class_of(name)
    params: dict[str, object] = {}
    for parameter, domain in parameters_of(cls).items():
        value = arguments.get("seed" if parameter == "random_state" else parameter)
        if value is None and parameter == "n_components":
            value = 2
        if value is None or parameter == "verbose":
            continue
        if isinstance(value, str) and parameter != "backend":
            value = _parse(domain, parameter, value)
        params[parameter] = value
    model: Reducer = cls(**params)
    check_parameters(model)
    return model


def _parse(domain: Domain, parameter: str, text: str) -> object:
    """Read typed text as a value of the parameter's domain; an error names the flag."""
    import numpy as np

    from ..parameters import accepts, read

    if text.endswith(".npy") and accepts(domain, np.empty(0)):
        return np.load(text, allow_pickle=False)
    try:
        return read(domain, text)
    except ParameterError as error:
        raise ParameterError(f"--{parameter.replace('_', '-')} {error}") from None


class Result(NamedTuple):
    """The result of a command: a document for --json, and text for people."""

    document: dict[str, object]
    text: str
    then: Callable[[], None] | None = None  # runs after the result is printed


@dataclass(frozen=True)
class Command:
    """A command: its help, its options and its function ("module:function")."""

    help: str
    function: str
    options: tuple[Option, ...]
    writes: tuple[str, ...] = ()  # those of the options that name a file to be written


WRITTEN_BY_FIT = ("output", "model", "plot", "report")
COMMANDS = {
    "map": Command(
        "Diagnose the data, prepare them, choose a method and its parameters, and embed them.",
        "commands:choose",
        (
            DATA,
            Option("method", "The method; without it, the best is chosen.", "Method", short="-m"),
            *WRITING,
            VIEW,
            *READING,
            *BLOCKS,
            SAMPLE,
            *PREPARING,
            *COMPUTING,
        ),
        WRITTEN_BY_FIT,
    ),
    "read": Command(
        "Show how a file is read: each column, what it is taken for, why, and how to change it.",
        "reading:show",
        (DATA, *READING),
    ),
    "transform": Command(
        "Embed new points with a saved model.",
        "commands:transform",
        (
            DATA,
            Option(
                "model",
                "The model, as --model saved it.",
                "Input",
                metavar="FILE",
                required=True,
            ),
            EMBEDDING_FILE,
            make_switch(
                "confidence", "Add how likely each row is mapped correctly (0 to 1).", "Output"
            ),
            FORCE,
            *READING,
            *BLOCKS,
        ),
        ("output",),
    ),
    "diagnose": Command(
        "Look at data before fitting: scales, duplicates, outliers, dimension, cost of methods.",
        "commands:diagnose",
        (DATA, *READING, *PREPARING, SEED),
    ),
    "evaluate": Command(
        "Measure the quality of an embedding of the data.",
        "commands:evaluate",
        (
            DATA,
            make_argument(
                "map",
                "The file with the embedding: one row for each row of the data.",
                metavar="EMBEDDING",
            ),
            *READING,
            *PREPARING,
            Option("metric", "The metric in the data. Default: euclidean.", "Method"),
            N_NEIGHBORS,
            SEED,
        ),
    ),
    "compare": Command(
        "Fit several methods, evaluate and rank their embeddings.",
        "commands:compare",
        (
            DATA,
            Option("methods", "Commands by commas: pca,isomap,tsne. Default: a choice.", "Method"),
            N_NEIGHBORS,
            SEED,
            *READING,
            *PREPARING,
            PLOT,
            FORCE,
        ),
        ("plot",),
    ),
    "dimension": Command(
        "Estimate how many dimensions the data have, by several rules.",
        "commands:dimension",
        (DATA, *READING, *PREPARING, SEED, PLOT, FORCE),
        ("plot",),
    ),
    "view": Command(
        "Explore embeddings in a browser: evidence, true neighbors, new points, other methods.",
        "viewing:view",
        (
            make_argument("file", "An embedding, data to embed, or a model as --model saved it."),
            Option(
                "methods",
                "Embed the data by these first, by commas: pca,isomap,tsne.",
                "Method",
                short="-m",
            ),
            Option("data", "The data of an embedding or of a model.", "Input", metavar="FILE"),
            Option(
                "coordinates",
                "The columns of an embedding, where they are not recognized.",
                "Input",
            ),
            Option("metric", "The metric in the data. Default: euclidean.", "Method"),
            Option(
                "html",
                "Write the view as one HTML file that works offline, and open nothing.",
                "Output",
                metavar="FILE",
            ),
            FORCE,
            Option(
                "host",
                "The address to listen on. Default: 127.0.0.1, this machine only; others need "
                "--token.",
                "Server",
            ),
            Option("port", "The port. Default: any that is free.", "Server", int),
            Option("token", "The secret in the link. Default: a random one.", "Server"),
            Option("browser", "Open a browser (default), or do not.", "Server", bool, True),
            *READING,
            *PREPARING,
            SEED,
        ),
        ("html",),
    ),
    "methods": Command("List the methods: when to use which, cost.", "commands:methods", ()),
    "info": Command(
        "Show what is in a model file.",
        "commands:info",
        (make_argument("model", "The model, as --model saved it."),),
    ),
}


def get_command(word: str) -> Command:
    """Return the command of that name; a method's class is imported for its flags."""
    if word in COMMANDS:
        return COMMANDS[word]
    name = METHOD_COMMANDS[word]
    reading = (*READING, *BLOCKS, SAMPLE)
    options = (DATA, *WRITING, VIEW, *reading, *PREPARING, *make_flags(name), *COMPUTING)
    return Command(get_summary(name), "commands:fit", options, WRITTEN_BY_FIT)
