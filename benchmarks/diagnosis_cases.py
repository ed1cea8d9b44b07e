"""Cases of `lowd.diagnose`: checking data before a fit."""

from __future__ import annotations

from cases import Case, Target, Tool

DIAGNOSIS_CASES: dict[str, Case] = {
    "diagnose-70k": Case(
        "diagnose, 70000×784",
        "images",
        70_000,
        2,
        "intrinsic_dimension",
        {"lowd": Tool("peers:LowdDiagnosis", {}, "lowd")},
        targets=(Target(seconds=60),),
    ),
    "diagnose-million": Case(
        "diagnose, 1 million × 50 in clusters",
        "clusters",
        1_000_000,
        2,
        "intrinsic_dimension",
        {"lowd": Tool("peers:LowdDiagnosis", {}, "lowd")},
    ),
}
