"""Read the first sheet of an Excel workbook as if it had been saved as CSV."""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import replace
from datetime import date, datetime, time
from typing import IO, TYPE_CHECKING

from ..errors import FileFormatError, MissingPackageError
from . import delimited
from .options import Options
from .source import MAX_COMPRESSION_RATIO, Source, require_memory

if TYPE_CHECKING:
    from .features import ReadFrame

# Each cell is a Python object and part of a line of text at the same time.
MEMORY_PER_BYTE = 4
MAX_ROWS = 2**20  # Most rows of an Excel sheet; a damaged one may number its rows higher.
# This many take two seconds; a sheet that is formatted to its end has no more.
MAX_EMPTY_CELLS = 2**25
_REMEDY = "Save the sheet as CSV, and read that."


def read(source: Source, options: Options) -> ReadFrame:
    try:
        import openpyxl
    except ImportError:
        raise MissingPackageError(
            f"reading {source.name} needs openpyxl: pip install 'lowd[excel]'; or save the sheet "
            "as CSV."
        ) from None
    with source.open() as file:
        _check_size(source, file)
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # the size that a file claims may be too small
            rows: list[list[str]] = []
            width = filled = characters = 0
            for number, row in enumerate(sheet.iter_rows(values_only=True)):
                cells = [_format(cell) for cell in row]
                while cells and not cells[-1]:
                    cells.pop()
                width = max(width, len(cells))
                filled += sum(map(bool, cells))  # openpyxl fills in those before a distant one
                if (number + 1) * width - filled > MAX_EMPTY_CELLS or number >= MAX_ROWS:
                    raise FileFormatError(
                        f"{source.name}: the first sheet, {sheet.title!r}, reaches as far as row "
                        f"{number + 1}, column {width}, with almost nothing before it. {_REMEDY}"
                    )
                characters += sum(map(len, cells))
                # The file stores a text once even if many cells hold it.
                if characters > source.max_bytes:
                    raise _make_size_error(source)
                rows.append(cells)
        except FileFormatError:
            raise
        except Exception as error:  # a damaged part can make openpyxl raise anything
            raise FileFormatError(
                f"{source.name} is damaged or is not an Excel workbook ({error}). {_REMEDY}"
            ) from None
    if not width:
        raise FileFormatError(f"{source.name}: the first sheet, {sheet.title!r}, is empty.")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(row + [""] * (width - len(row)) for row in rows)
    content = source.replace_data(text.getvalue().encode())
    found = delimited.read(content, replace(options, delimiter=",", encoding=None))
    found = found._replace(form=found.form.replace("comma-separated", "first sheet"))
    others = len(book.worksheets) - 1
    if not others:
        return found
    note = f"Read the first of {others + 1} sheets, {sheet.title!r}; save another one as CSV."
    return found._replace(notes=(*found.notes, note))


def _check_size(source: Source, file: IO[bytes]) -> None:
    """Raise if the archive claims to be much larger than it is, or than the memory."""
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        raise FileFormatError(
            f"{source.name} is damaged or is not an Excel workbook. {_REMEDY}"
        ) from None
    file.seek(0)
    if size > source.max_bytes:
        raise _make_size_error(source)
    require_memory(source, {"cells": MEMORY_PER_BYTE * size}, _REMEDY)


def _make_size_error(source: Source) -> FileFormatError:
    return FileFormatError(
        f"{source.name} decompresses to more than {MAX_COMPRESSION_RATIO} times its size. {_REMEDY}"
    )


def _format(cell: object) -> str:
    """Format a cell as text: dates in ISO 8601, numbers with all their digits."""
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    # One line for each row of the sheet, so that lines have the numbers of rows.
    return cell.isoformat() if isinstance(cell, date | time) else " ".join(str(cell).splitlines())
