"""Call a function right after a module is imported, whenever that happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class AfterImport(MetaPathFinder):
    """Calls `act(module)` at the end of the import of the named module."""

    def __init__(self, name: str, act: Callable[[ModuleType], None]) -> None:
        self.name, self.act = name, act

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)  # acts once; the search below must ask the other finders
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _ThenAct(found.loader, self.act)
        return found


class _ThenAct(Loader):
    def __init__(self, loader: Loader, act: Callable[[ModuleType], None]) -> None:
        self.loader, self.act = loader, act

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            # Restores the loader, so that the hook leaves no trace.
            module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.act(module)
