"""The list of commands: help, options, and where the work is done."""

from __future__ import annotations

from dataclasses import dataclass

from .fields import COMMANDS, flags, summary
from .options import (
    COMPUTING,
    DATA,
    FORCE,
    INPUT,
    MAP_OUT,
    METHOD,
    N_NEIGHBORS,
    OUTPUT,
    PLOT,
    READING,
    STANDARDIZE,
    WRITING,
    Option,
    argument,
    switch,
)

_SEED = COMPUTING[0]
_FILES = ("output", "model", "plot", "report")


@dataclass(frozen=True)
class Command:
    """A command: its help, its options and where its work is done ("module:function")."""

    help: str
    work: str
    options: tuple[Option, ...]
    writes: tuple[str, ...] = ()  # those of its options that name a file to be written


VERBS = {
    "map": Command(
        "Diagnose the data, choose a method and its settings, and say why.",
        "fitting:choose",
        (DATA, *WRITING, *READING, STANDARDIZE, *COMPUTING),
        _FILES,
    ),
    "transform": Command(
        "Place new rows with a saved model.",
        "verbs:transform",
        (
            DATA,
            Option("model", "The model, as --model kept it.", INPUT, metavar="FILE", required=True),
            MAP_OUT,
            switch("confidence", "Add how near each row is to the training rows.", OUTPUT),
            FORCE,
            *READING,
        ),
        ("output",),
    ),
    "diagnose": Command(
        "Look at data before fitting: scales, copies, outliers, dimension, cost of each method.",
        "verbs:diagnose",
        (DATA, *READING, STANDARDIZE, _SEED),
    ),
    "evaluate": Command(
        "Measure how far a map of the data can be trusted.",
        "verbs:evaluate",
        (
            DATA,
            argument("map", "The file with the map: one row for each row of the data."),
            *READING,
            STANDARDIZE,
            Option("metric", "The distance in the data. Default: euclidean.", METHOD),
            N_NEIGHBORS,
            _SEED,
        ),
    ),
    "compare": Command(
        "Fit several methods, judge and rank their maps.",
        "verbs:compare",
        (
            DATA,
            Option("methods", "Commands by commas: pca,isomap,tsne. Default: a choice.", METHOD),
            N_NEIGHBORS,
            _SEED,
            *READING,
            STANDARDIZE,
            PLOT,
            FORCE,
        ),
        ("plot",),
    ),
    "dimension": Command(
        "How many dimensions the data have, by several rules.",
        "verbs:dimension",
        (DATA, *READING, STANDARDIZE, _SEED, PLOT, FORCE),
        ("plot",),
    ),
    "methods": Command("The methods: when to use which, and their cost.", "verbs:methods", ()),
    "info": Command(
        "What is in a model file.",
        "verbs:info",
        (argument("model", "The model, as --model kept it."),),
    ),
    "demo": Command(
        "A classic demonstration with published numbers; without a name, the list of them.",
        "verbs:demo",
        (
            argument("name", "Which one.", required=False),
            Option("output", "The folder for the pictures.", OUTPUT, short="-o", metavar="DIR"),
            Option("data", "The folder of the data sets; or set LOWD_DATA.", INPUT),
            FORCE,
        ),
    ),
}


def command_of(word: str) -> Command:
    """The command of that name; a method's flags need its class, so it is imported."""
    if word in VERBS:
        return VERBS[word]
    name = COMMANDS[word]
    options = (DATA, *WRITING, *READING, STANDARDIZE, *flags(name), *COMPUTING)
    return Command(summary(name), "fitting:fit", options, _FILES)
