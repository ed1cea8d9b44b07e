"""Migration of stored models from older formats: renamed and merged classes, fields, attributes.

A file holds the names of value classes, of their fields and of learned attributes. Whoever renames
one of them raises the format and adds what it was called here; nothing else has to know old names.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Tree: TypeAlias = Any  # what JSON holds: a dict, a list, a str, a number, a bool or None


class ClassMigration(NamedTuple):
    """The present name of a stored class and of its fields, and what their values became."""

    name: str
    fields: dict[str, str] = {}  # noqa: RUF012 - read only; old name -> new name
    added: dict[str, Tree] = {}  # noqa: RUF012 - fields that it did not have, with their values
    values: dict[str, dict[str, str]] = {}  # noqa: RUF012 - texts by new field: old -> new


class Migration(NamedTuple):
    """What one format calls otherwise than the next one; what is not listed keeps its name."""

    classes: dict[str, ClassMigration]
    learned: dict[str, str]  # attributes of the estimator: old name -> new name
    # Attributes of a method that held something else: name -> the attribute with its value.
    replaced: dict[str, dict[str, str]] = {}  # noqa: RUF012 - read only


# Format 1 was written by 0.1.0.
FROM_FORMAT: dict[int, Migration] = {
    1: Migration(
        classes={
            "Affinities": ClassMigration("Affinities", {"k": "n_neighbors", "reach": "radii"}),
            "Corrected": ClassMigration("CorrectedDistances"),
            "GeodesicMap": ClassMigration("GeodesicMap", {"scaled": "centered"}),
            "Geodesics": ClassMigration(
                "Geodesics",
                {"first": "first_row", "k": "n_neighbors", "lengths": "landmark_distances"},
                {"graph": None, "point_of_row": None},
            ),
            "Given": ClassMigration("PrecomputedDistances"),
            "Gower": ClassMigration("GowerDistances"),
            "GivenAffinities": ClassMigration("PrecomputedAffinities"),
            "GivenChances": ClassMigration("PrecomputedProbabilities"),
            "GivenKernel": ClassMigration("PrecomputedKernel"),
            "GraphWays": ClassMigration(
                "Geodesics",
                {"first": "first_row", "k": "n_neighbors", "place": "point_of_row"},
            ),
            "Listed": ClassMigration("NeighborListDistances"),
            "MarkovMap": ClassMigration(
                "NystroemMap",
                {"places": "embedding", "kind": "normalization"},
                values={
                    "normalization": {"walk": "random_walk", "root": "symmetric", "plain": "none"}
                },
            ),
            "MatrixReach": ClassMigration("MatrixSupport"),
            "Mesh": ClassMigration("InterpolationGrid"),
            "NeighborMap": ClassMigration("NeighborMap", {"field": "grid"}),
            "Perplexity": ClassMigration("PerplexityProbabilities", {"k": "n_neighbors"}),
            "RegressionMap": ClassMigration(
                "RegressionMap", {"places": "embedding", "home": "tolerance"}
            ),
            "RowReach": ClassMigration("RowSupport"),
            "Sample": ClassMigration("Sample", {"numbers": "row_indices", "seen": "n_seen"}),
        },
        learned={"reach_": "support_"},
        replaced={"NonMetricMDS": {"stress1_": "normalized_stress_"}},  # is Kruskal's Stress-1
    ),
}


def migrate(tree: dict[str, Tree], newest: int) -> dict[str, Tree]:
    """Return the JSON tree of a model as the newest format would have written it."""
    for number in range(tree["format"], newest):
        migration = FROM_FORMAT[number]
        tree = {**_migrate_model(tree, migration), "format": number + 1}
    return tree


def _migrate_model(tree: dict[str, Tree], migration: Migration) -> dict[str, Tree]:
    """Migrate a model, which may be part of another one."""
    params = _migrate_parts(tree["params"], migration)
    learned = _migrate_parts(tree["learned"], migration)
    learned = {migration.learned.get(name, name): part for name, part in learned.items()}
    for name, source in migration.replaced.get(tree.get("class", ""), {}).items():
        learned = {**learned, name: learned[source]} if source in learned else learned
    return {**tree, "params": params, "learned": learned}


def _migrate_parts(parts: dict[str, Tree], migration: Migration) -> dict[str, Tree]:
    """Migrate parts by name; the names are not those of classes or fields."""
    return {name: _migrate_part(part, migration) for name, part in parts.items()}


def _migrate_part(part: Tree, migration: Migration) -> Tree:
    """Rename the classes and fields of values, wherever they are in a part of the tree."""
    if not isinstance(part, dict):
        return part
    if "tuple" in part:
        return {"tuple": [_migrate_part(item, migration) for item in part["tuple"]]}
    if "dict" in part:
        return {"dict": _migrate_parts(part["dict"], migration)}
    if "model" in part:
        return {"model": _migrate_model(part["model"], migration)}
    if "value" not in part:
        return part
    change = migration.classes.get(part["value"], ClassMigration(part["value"]))
    fields = _migrate_parts(part["fields"], migration)
    renamed = {change.fields.get(name, name): item for name, item in fields.items()}
    for name, texts in change.values.items():
        renamed[name] = texts.get(renamed[name], renamed[name])
    return {"value": change.name, "fields": {**change.added, **renamed}}
