"""Calibration of the confidence of new points: eight data sets, each judged by the others.

Usage: python benchmarks/confidence.py [METHOD ...]

The folder LOWD_DATA holds the real sets; those that are absent are left out. Of each set up to 1200
samples are fitted; a part is left out of another fit and mapped (`calibrate_confidence`). Printed
for each method: the general curve (all sets), and for each set the share of left-out rows that are
mapped correctly, and calibration error and AUC of the confidence by two curves: that of the other
sets (what a model without calibration promises), and that of the set's own other folds. The METHOD
"absent" prints, for t-SNE, how well confidence and support distance tell rows of a class that is
left out of the fit from held-out rows of the other classes (AUC).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll
from sklearn.metrics import roc_auc_score

import lowd
from lowd.backends import resolve
from lowd.confidence.calibration import ConfidenceCurve, LeftOutRows
from lowd.evidence.quality.reliability import Reliability, compute_reliability

MAX_ROWS, MAX_COLUMNS, MIN_BIN_ROWS = 1200, 50, 20
CLASSIFIED = ("digits", "mnist", "olivetti", "cells", "genotypes")
METHODS = {
    "TSNE": lambda: lowd.TSNE(2),
    "UMAP": lambda: lowd.UMAP(2),
    "SNE": lambda: lowd.SNE(2),
    "LaplacianEigenmaps": lambda: lowd.LaplacianEigenmaps(2),
    "Isomap": lambda: lowd.Isomap(2, n_neighbors=10),
    "LocallyLinearEmbedding": lambda: lowd.LocallyLinearEmbedding(2, n_neighbors=10),
    "ModifiedLLE": lambda: lowd.ModifiedLLE(2, n_neighbors=10),
    "HessianLLE": lambda: lowd.HessianLLE(2, n_neighbors=10),
    "LTSA": lambda: lowd.LTSA(2, n_neighbors=10),
    "MDS": lambda: lowd.MDS(2),
    "NonMetricMDS": lambda: lowd.NonMetricMDS(2),
    "PCA": lambda: lowd.PCA(2),
    "ClassicalMDS": lambda: lowd.ClassicalMDS(2),
    "KernelPCA": lambda: lowd.KernelPCA(2, kernel="rbf", gamma="median"),
    "DiffusionMaps": lambda: lowd.DiffusionMaps(2),
    "GaussianRandomProjection": lambda: lowd.GaussianRandomProjection(2, random_state=0),
}
FILES = {
    "mnist": "mnist",
    "frey": "frey_faces",
    "olivetti": "olivetti_faces",
    "cells": "pbmc3k_pca50",
    "genotypes": "genotypes_1000g_phase1",
}


def load() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows and labels of each set, the rows in at most 50 principal components."""
    digits = load_digits()
    sets = {"digits": (digits.data, digits.target)}
    for name, make in (("roll", make_swiss_roll), ("s-curve", make_s_curve)):
        X, t = make(MAX_ROWS, random_state=0)
        sets[name] = (X, (4 * (t - t.min()) / np.ptp(t)).astype(int))
    for name, file in FILES.items():
        path = Path(os.environ.get("LOWD_DATA", "")) / f"{file}.npz"
        if path.exists():
            with np.load(path, allow_pickle=False) as held:
                X = held["X"]
                sets[name] = (X, held["y"] if "y" in held else np.zeros(len(X), int))
    return {name: _reduce(*found) for name, found in sets.items()}


def _reduce(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
    X = X[rows].reshape(len(rows), -1).astype(np.float64)
    return (lowd.PCA(MAX_COLUMNS).fit_transform(X) if X.shape[1] > MAX_COLUMNS else X), y[rows]


def study(name: str, sets: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Print how each set's left-out rows agree with the promises of the other sets' curve."""
    found: dict[str, LeftOutRows] = {}
    for of, (X, _) in sets.items():
        found[of] = METHODS[name]().fit(X).calibrate_confidence(X).left_out_
    curve = learn(list(found.values()))
    print(f"{name}: ConfidenceCurve({curve.intercept:.1f}, {curve.slope:.1f})")
    totals, promises = [], []
    for of, rows in found.items():
        others = learn([one for other, one in found.items() if other != of])
        promises.append(np.minimum(others.probability(rows.kept), rows.edge))
        general = compute_reliability(promises[-1], rows.correct)
        own = Reliability.of(rows)
        errors = general.calibration_error, general.auc, own.calibration_error, own.auc
        totals.append((rows.correct.mean(), *errors))
        print(f"  {of:<10}{format_row(totals[-1])}", flush=True)
    print(f"  {'mean':<10}{format_row(np.nanmean(totals, axis=0))}")
    correct = np.concatenate([rows.correct for rows in found.values()])
    own_promises = [rows.promise() for rows in found.values()]
    for title, parts in (("other sets", promises), ("own folds", own_promises)):
        pooled = compute_reliability(np.concatenate(parts), correct)
        print(f"  all, by the curve of {title}: {format_bins(pooled)}", flush=True)


def format_row(values: Iterable[float]) -> str:
    return "".join(f"{value:9.3f}" for value in values)


def format_bins(found: Reliability) -> str:
    bins = zip(found.promised, found.found, found.counts, strict=True)
    pairs = " ".join(f"{p:.2f}:{f:.2f}" for p, f, count in bins if count >= MIN_BIN_ROWS)
    return f"{pairs}, error {found.calibration_error:.3f}, AUC {found.auc:.2f}"


def learn(parts: list[LeftOutRows]) -> ConfidenceCurve:
    kept = np.concatenate([part.kept for part in parts])
    return ConfidenceCurve.learn(kept, np.concatenate([part.correct for part in parts]))


def study_absent_classes(sets: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Print the AUC for rows of a class that t-SNE has not seen, of the three largest classes."""
    ops, totals = resolve("auto", None), []
    for of in (name for name in CLASSIFIED if name in sets):
        X, y = sets[of]
        for absent in np.argsort(-np.bincount(y), kind="stable")[:3]:
            held_out = (np.arange(len(X)) % 5 == 0) & (y != absent)
            training = X[~held_out & (y != absent)]
            Q = np.vstack([X[held_out], X[y == absent]])
            is_absent = np.arange(len(Q)) >= held_out.sum()
            model = METHODS["TSNE"]().fit(training)
            general = model.transform(Q, return_confidence=True)[1]
            distance = model.support_.locate(Q, 1, ops).near.distances[:, 0]
            own = model.calibrate_confidence(training).transform(Q, return_confidence=True)[1]
            aucs = [roc_auc_score(is_absent, score) for score in (-general, -own, distance)]
            totals.append(aucs)
            print(f"  {of:<10} without class {absent:<3}{format_row(aucs)}", flush=True)
    print(f"  mean of general, calibrated, support distance {format_row(np.mean(totals, axis=0))}")


def main(*names: str) -> None:
    sets = load()
    warnings.simplefilter("ignore")
    print(f"{'':14}correct   error of others, AUC   error of own, AUC")
    for name in names or (*METHODS, "absent"):
        if name == "absent":
            study_absent_classes(sets)
        else:
            study(name, sets)


if __name__ == "__main__":
    main(*sys.argv[1:])
