"""Draw the figures of docs/demos: the demonstrations of these names, or all whose data are found.

Usage: python examples/demos.py FOLDER [DATA FOLDER [NAME ...]]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import demonstrations
from lowd.errors import MissingFileError

MAX_PIXELS = 1400  # of the longer side
MAX_BYTES = 120_000  # per figure, so that the repository stays small


def main(out: Path, data: Path | None = None, *names: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in names or demonstrations.DEMOS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                shown = demonstrations.run(name, folder, data)
            except MissingFileError as missing:
                print(f"{name}: {missing}")
                continue
            print(shown, end="\n\n")
            for path in shown.pictures:
                shrink(path, out / path.name)


def shrink(source: Path, target: Path) -> None:
    """Save a PNG of at most 255 colors and white, reduced until the file is small."""
    image = Image.open(source).convert("RGB")
    side = MAX_PIXELS
    write(image, side, target)
    while target.stat().st_size > MAX_BYTES:
        side = int(0.9 * side)
        write(image, side, target)


def write(image: Any, side: int, target: Path) -> None:
    small = image.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    pixels = np.asarray(small)
    quantized = small.quantize(255, method=Image.Quantize.MAXCOVERAGE)
    palette = np.full((256, 3), 255, np.uint8)
    colors = np.reshape(quantized.getpalette() or [], (-1, 3))[:255]
    palette[: len(colors)] = colors
    index = np.where((pixels == 255).all(2), 255, quantized).astype(np.uint8)  # white stays white
    indexed = Image.fromarray(index)
    indexed.putpalette(palette.tobytes())
    indexed.save(target, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:3]), *sys.argv[3:])
