"""Former names of topics, attributes and keys of a diagnosis, kept for scripts that use them."""

from __future__ import annotations

TOPICS = {
    "copied rows": "duplicate rows",
    "copied columns": "duplicate columns",
    "shortcuts": "short circuits",
}
KEYS = {"pieces": "connected_components", "n_looked": "n_searched", "places": "affected"}


class FormerFindingNames:
    """Attributes of a finding under their former names."""

    affected: tuple[int | str, ...]

    @property
    def places(self) -> tuple[int | str, ...]:
        return self.affected


class FormerDiagnosisNames:
    """Attributes of a diagnosis under their former names."""

    connected_components: dict[int, int]
    n_searched: int

    @property
    def pieces(self) -> dict[int, int]:
        return self.connected_components

    @property
    def n_looked(self) -> int:
        return self.n_searched


def add_former_keys(document: dict[str, object]) -> dict[str, object]:
    """The document with each renamed key under its former name too."""
    former = {old: document[new] for old, new in KEYS.items() if new in document}
    return {**document, **former}
