"""The list of commands: help, options, and the function that runs each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..methods import get_summary
from .flags import METHOD_COMMANDS, make_flags
from .options import (
    BLOCKS,
    COMPUTING,
    DATA,
    EMBEDDING_FILE,
    FORCE,
    INPUT_PANEL,
    METHOD,
    METHOD_PANEL,
    N_NEIGHBORS,
    OUTPUT_PANEL,
    PLOT,
    PREPARING,
    READING,
    SAMPLE,
    SEED,
    SERVER_PANEL,
    VIEW,
    WRITING,
    Option,
    make_argument,
    make_switch,
)

_WRITTEN_BY_FIT = ("output", "model", "plot", "report")


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


SERVING = (
    Option(
        "host",
        "The address to listen on. Default: 127.0.0.1, this machine only; others need --token.",
        SERVER_PANEL,
    ),
    Option("port", "The port. Default: any that is free.", SERVER_PANEL, int),
    Option("token", "The secret in the link. Default: a random one.", SERVER_PANEL),
    Option("browser", "Open a browser (default), or do not.", SERVER_PANEL, bool, True),
)

COMMANDS = {
    "map": Command(
        "Diagnose the data, prepare them, choose a method and its parameters, and embed them.",
        "fitting:choose",
        (DATA, METHOD, *WRITING, VIEW, *READING, *BLOCKS, SAMPLE, *PREPARING, *COMPUTING),
        _WRITTEN_BY_FIT,
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
                INPUT_PANEL,
                metavar="FILE",
                required=True,
            ),
            EMBEDDING_FILE,
            make_switch(
                "confidence", "Add how likely each row is mapped correctly (0 to 1).", OUTPUT_PANEL
            ),
            FORCE,
            *READING,
            *BLOCKS,
        ),
        ("output",),
    ),
    "diagnose": Command(
        "Look at data before fitting: scales, duplicates, outliers, dimension, cost of methods.",
        "fitting:diagnose",
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
            Option("metric", "The metric in the data. Default: euclidean.", METHOD_PANEL),
            N_NEIGHBORS,
            SEED,
        ),
    ),
    "compare": Command(
        "Fit several methods, evaluate and rank their embeddings.",
        "commands:compare",
        (
            DATA,
            Option(
                "methods", "Commands by commas: pca,isomap,tsne. Default: a choice.", METHOD_PANEL
            ),
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
                METHOD_PANEL,
                short="-m",
            ),
            Option("data", "The data of an embedding or of a model.", INPUT_PANEL, metavar="FILE"),
            Option(
                "coordinates",
                "The columns of an embedding, where they are not recognized.",
                INPUT_PANEL,
            ),
            Option("metric", "The metric in the data. Default: euclidean.", METHOD_PANEL),
            Option(
                "html",
                "Write the view as one HTML file that works offline, and open nothing.",
                OUTPUT_PANEL,
                metavar="FILE",
            ),
            FORCE,
            *SERVING,
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
    return Command(get_summary(name), "fitting:fit", options, _WRITTEN_BY_FIT)
