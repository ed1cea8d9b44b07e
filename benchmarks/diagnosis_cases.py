"""Looking at data before a fit."""

from __future__ import annotations

from cases import Bar, Case, Tool

DIAGNOSIS_CASES: dict[str, Case] = {
    "diagnose-70k": Case(
        "diagnose, 70000×784",
        "images",
        70_000,
        2,
        "intrinsic",
        {"lowd": Tool("peers:LowdDiagnosis", {}, "lowd")},
        bars=(Bar(seconds=60),),
    ),
    "diagnose-million": Case(
        "diagnose, 1 million × 50 in clusters",
        "clusters",
        1_000_000,
        2,
        "intrinsic",
        {"lowd": Tool("peers:LowdDiagnosis", {}, "lowd")},
    ),
}
