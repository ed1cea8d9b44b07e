"""Tables of results: pandas data frames, and the parts of an HTML representation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from importlib import import_module

from ..errors import MissingPackageError
from ..input.arguments import DataFrame


def to_data_frame(records: Iterable[Mapping[str, object]], index: str) -> DataFrame:
    """A pandas DataFrame with one row per record; `index` is the column that names them."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise MissingPackageError(
            "to_frame needs pandas: pip install pandas; or use to_dict."
        ) from None
    return pandas.DataFrame(list(records)).set_index(index)


def html_row(cells: Iterable[str], align: str = "left") -> str:
    """A row of an HTML table from plain text; the first cell, its name, is on the left."""
    aligned = ((align if i else "left", escape(cell)) for i, cell in enumerate(cells))
    inside = "".join(f"<td style='text-align:{side}'>{text}</td>" for side, text in aligned)
    return f"<tr>{inside}</tr>"


def html_paragraphs(notes: Iterable[str]) -> str:
    """Sentences as paragraphs."""
    return "".join(f"<p>{escape(note)}</p>" for note in notes)


def html_list(notes: Iterable[str]) -> str:
    """Sentences as a bulleted list, or nothing without any."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>" if items else ""
