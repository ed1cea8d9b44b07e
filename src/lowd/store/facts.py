"""Sizes and words that the values of a model share, gathered while it is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.estimator import Reducer
from ..errors import StoreError


@dataclass
class Node:
    """The sizes and words of one value, those it holds, and what is checked when all are known."""

    where: str
    facts: dict[str, tuple[int | str, str]] = field(default_factory=dict)  # with where from
    equal: list[tuple[str, str]] = field(default_factory=list)
    held: list[tuple[Node, dict[str, str | None]]] = field(default_factory=list)
    later: list[Callable[[], None]] = field(default_factory=list)

    def set(self, name: str, value: int | str, source: str | None = None) -> None:
        source = source or self.where
        known, first = self.facts.setdefault(name, (value, source))
        if known != value:
            raise StoreError(f"{source} has {name} = {value!r}, but {first} has {known!r}")

    def equate(self, one: str, other: str) -> None:
        self.equal.append((one, other))

    def require(self, holds: bool, field: str, need: str) -> None:
        if not holds:
            raise StoreError(f"{self.where}.{field} must be {need}")

    def size(self, name: str) -> int:
        if name not in self.facts:
            raise StoreError(f"{self.where}: nothing says what {name} is")
        return int(self.facts[name][0])

    def resolve(self) -> None:
        """Share facts upward and downward, then check what depends on them."""
        self._gather()
        self._spread()

    def _gather(self) -> None:
        for node, names in self.held:
            node._gather()
            for name, (value, source) in node.facts.items():
                if (own := names.get(name, name)) is not None:
                    self.set(own, value, source)
        self._equate()

    def _spread(self) -> None:
        self._equate()
        for node, names in self.held:
            for own, (value, source) in self.facts.items():
                same = [] if own in names else [own]
                for name in [*same, *(inner for inner, outer in names.items() if outer == own)]:
                    node.set(name, value, source)
            node._spread()
        for check in self.later:
            check()

    def _equate(self) -> None:
        for one, other in (pair for both in self.equal for pair in (both, both[::-1])):
            if one in self.facts:
                self.set(other, *self.facts[one])


def state_model_facts(model: Reducer, node: Node) -> None:
    """The widths of a model, and the words that its parameters give."""
    node.set("d", model.n_features_in_, "n_features_in_")
    node.set("k", model._n_features_out, "_n_features_out")
    node.set("input", model._kind(), f"the data that {type(model).__name__} takes")
    for word in ("metric", "kernel"):
        if isinstance(getattr(model, word, None), str):
            node.set(word, getattr(model, word), f"the parameter {word}")
