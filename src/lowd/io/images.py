"""Read a folder of images: the pixels of each are a row."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import progress
from ..errors import FileFormatError, MissingPackageError
from .options import Options
from .source import Source, require_memory
from .table import Table
from .words import quote_names

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm", ".webp")
_GRAY_MODES = ("1", "L", "LA", "I;16", "I")
_MAX_IMAGE_PIXELS = 5 * 10**7  # A larger image is a decompression bomb, or unusable as a row.
THUMBNAIL_PIXELS = 48  # Length of the longer side, as plots and reports show thumbnails.
_IMAGE_REMEDY = "Make the images smaller (size=(width, height)) or use fewer of them."


class _ImageFile(NamedTuple):
    path: Path
    size: tuple[int, int]
    gray: bool


def read(folder: Path, options: Options) -> Table:
    """Read pixels scaled to [0, 1]; each subfolder is a class."""
    pillow = _import_pillow()
    paths, notes = _list_images(folder)
    found = [_inspect(pillow, path) for path in paths]
    size, size_notes = _choose_size(found, options, str(folder))
    gray = all(image.gray for image in found) if options.color is None else not options.color
    channels = 1 if gray else 3
    scale = min(1.0, THUMBNAIL_PIXELS / max(size))
    small = max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
    pixels = len(found) * size[0] * size[1] * channels
    needs = {"pixels": 4 * pixels, "thumbnails": len(found) * small[0] * small[1] * channels}
    require_memory(Source(str(folder)), needs, _IMAGE_REMEDY)
    X = np.empty((len(found), size[0] * size[1] * channels), np.float32)
    thumbnails = np.empty((len(found), small[1], small[0], channels), np.uint8)
    for row, image in enumerate(found):
        full = _decode(pillow, image.path, size, gray)
        X[row] = np.asarray(full, np.float32).ravel() / 255
        thumbnails[row] = np.asarray(full.resize(small)).reshape(small[1], small[0], channels)
        progress.report("reading images", row + 1, len(found))
    kind = "gray" if gray else "color"
    notes = (f"{len(found)} {kind} images of {size[0]} × {size[1]} pixels.", *size_notes, *notes)
    names = np.array([path.relative_to(folder).as_posix() for path in paths])
    parents = {path.parent for path in paths}
    labels = np.array([path.parent.name for path in paths]) if len(parents) > 1 else None
    return Table(
        X,
        "images",
        _name_pixels(size, channels),
        names,
        labels,
        thumbnails=thumbnails[..., 0] if gray else thumbnails,
        source=str(folder),
        notes=notes,
    )


def _import_pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise MissingPackageError("reading images needs Pillow: pip install 'lowd[app]'.") from None
    return Image


def _list_images(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The images of a folder and its subfolders, sorted by name.

    Links that lead out of the folder are left out: a folder unpacked from an archive must not
    make lowd show other files.
    """
    home = folder.resolve()
    inside = [p for p in folder.iterdir() if not p.name.startswith(".")]
    nested = [p for d in inside if d.is_dir() and not d.is_symlink() for p in d.iterdir()]
    images = [p for p in (*inside, *nested) if p.suffix.lower() in SUFFIXES and p.is_file()]
    kept = [p for p in images if p.resolve().is_relative_to(home)]
    others = [p for p in (*inside, *nested) if p.is_file() and p.suffix.lower() not in SUFFIXES]
    notes = []
    if len(kept) < len(images):
        away = [p.name for p in images if p not in set(kept)]
        notes.append(f"Links that lead out of the folder were left out: {quote_names(away)}.")
    if others:
        notes.append(f"Not images, and left out: {quote_names(p.name for p in others)}.")
    if not kept:
        raise FileFormatError(
            f"the folder {folder} holds no images ({', '.join(SUFFIXES)}); name a file instead."
        )
    return sorted(kept, key=lambda p: p.relative_to(folder).as_posix()), tuple(notes)


def _inspect(pillow: ModuleType, path: Path) -> _ImageFile:
    """Read size and colors from the header without decoding the image."""
    try:
        with pillow.open(path) as image:
            size, mode = image.size, image.mode
    except Exception as error:  # every decoder raises errors of its own
        raise FileFormatError(f"{path} is damaged or is not an image ({error}).") from None
    if size[0] * size[1] > _MAX_IMAGE_PIXELS:
        raise FileFormatError(f"{path} claims {size[0]} × {size[1]} pixels, too many for one row.")
    return _ImageFile(path, size, mode in _GRAY_MODES)


def _choose_size(
    found: list[_ImageFile], options: Options, where: str
) -> tuple[tuple[int, int], tuple[str, ...]]:
    sizes = {image.size for image in found}
    if options.size is not None:
        odd = sum(image.size != tuple(options.size) for image in found)
        return (options.size[0], options.size[1]), ((f"{odd} were resized.",) if odd else ())
    if len(sizes) > 1:
        first = found[0]
        other = next(image for image in found if image.size != first.size)
        raise FileFormatError(
            f"{where}: the images differ in size ({os.path.basename(first.path)} has "
            f"{first.size[0]} × {first.size[1]} pixels, {os.path.basename(other.path)} has "
            f"{other.size[0]} × {other.size[1]}); resize them: size=(32, 32)."
        )
    return found[0].size, ()


def _decode(pillow: ModuleType, path: Path, size: tuple[int, int], gray: bool) -> Image:
    try:
        with pillow.open(path) as image:
            if image.mode.startswith("I"):  # 16 bits per pixel
                image = pillow.fromarray((np.asarray(image) >> 8).astype(np.uint8))
            plain: Image = image.convert("L" if gray else "RGB")
    except Exception as error:
        raise FileFormatError(f"{path} is damaged or cut off ({error}).") from None
    return plain if plain.size == size else plain.resize(size)


def _name_pixels(size: tuple[int, int], channels: int) -> tuple[str, ...]:
    positions = [f"{y}_{x}" for y in range(size[1]) for x in range(size[0])]
    if channels == 1:
        return tuple(f"px{position}" for position in positions)
    return tuple(f"{channel}{position}" for position in positions for channel in "rgb")
