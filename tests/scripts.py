"""Scripts outside of the package, loaded as modules without running them."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def load_script(name):
    """The script of that path in the repository; it may import its neighbors."""
    path = ROOT / name
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
