"""Texts that the docstrings of methods share: an entry without one of its own gets it from here."""

from __future__ import annotations

import re
import textwrap

LINE_CHARACTERS = 100

TEXTS = {
    # parameters
    "n_components": "Dimension of the embedding.",
    "metric": 'A name, a callable on any two objects, or "precomputed": then `fit` takes a square '
    "matrix of distances and `transform` those from new to training points.",
    "metric_params": '{"p": 3} for "minkowski", {"weights": [...]} for "gower", keywords for a '
    "callable.",
    "n_landmarks": "Fit that many random samples, and map the others.",
    "on_disconnected": '"join" the connected components of the neighbor graph by bridges, with a '
    'warning, or raise an "error".',
    "random_state": "Seed of what is drawn: landmarks, samples, starts of solvers. None is 0.",
    # learned attributes
    "embedding_": "Coordinates of the training points.",
    "eigenvectors_": "Eigenvectors, one per column.",
    "n_components_": "Dimension of the embedding.",
    "seed_": "Seed of the draw.",
    "landmarks_": "Row indices of the landmarks.",
    "n_distinct_": "Rows that are not duplicates.",
    "n_graph_components_": "Connected components of the neighbor graph.",
    "graph_components_": "Component of each row; 0 is the largest.",
    "bridges_": "Pairs of rows that bridges between components connect.",
    "knn_recall_": "Share of the true neighbors that were found.",
    "participation_": "Participation ratio: about how many rows each axis shows.",
    "residual_": "Residual norm of the eigenpairs, relative to the largest eigenvalue.",
    "residuals_": "Residual norm |M v - λ v| of each axis.",
    "solver_": "Route of the eigensolver.",
    "degenerate_axes_": "Groups of axes with equal eigenvalues, which have no order.",
    "negative_eigenvalue_mass_": "Share of the eigenvalues' size that no Euclidean embedding can "
    "show.",
    "negative_mass_is_exact_": "Whether that share is exact, not a quadrature estimate.",
    "n_iter_": "Iterations.",
    "converged_": "Whether it stopped because nothing moved any more.",
    "init_used_": "Start that was used.",
}
ENTRY = re.compile(r"( *)(\w[\w, ]*) : .")


def complete_docstring(text: str) -> str:
    """A numpydoc docstring in which entries without a text have the shared one.

    Entries in a row may have one text below the last of them: this counts as the text of those
    that have no shared one.
    """
    lines, done = text.split("\n"), []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        done.append(line)
        entry = ENTRY.match(line)
        if entry is None or below.startswith(f"{entry[1]}    "):
            continue
        shared = [TEXTS.get(name, "") for name in entry[2].split(", ")]
        if all(shared):
            indent = f"{entry[1]}    "
            done += textwrap.wrap(
                " ".join(shared), LINE_CHARACTERS, initial_indent=indent, subsequent_indent=indent
            )
    return "\n".join(done)
