"""Judging maps: one measure alone, and all of them."""

from __future__ import annotations

from cases import Bar, Case, Tool


def peer(name: str, needs: str) -> Tool:
    return Tool(f"quality_peers:{name}", {}, needs)


QUALITY_CASES: dict[str, Case] = {
    "trust-10k": Case(
        "trustworthiness of a map of 10000×784, all rows",
        "images",
        10_000,
        15,
        "trust",
        {"lowd": peer("LowdTrust", "lowd"), "scikit-learn": peer("SklearnTrust", "sklearn")},
        bars=(Bar("scikit-learn", 10),),
    ),
    "evaluate-10k": Case(
        "evaluation of a map of 10000×784",
        "images",
        10_000,
        15,
        "trust",
        {"lowd": peer("LowdEvaluate", "lowd"), "ZADU": peer("Zadu", "zadu")},
        bars=(Bar("ZADU", 10),),
    ),
    "trust-70k": Case(
        "trustworthiness of a map of 70000×784, all rows",
        "images",
        70_000,
        15,
        "trust",
        {"lowd": peer("LowdTrust", "lowd")},
        bars=(Bar(seconds=60, bytes=2e9),),
    ),
    "evaluate-million": Case(
        "evaluation of a map of 1 million × 50, sampled rows",
        "clusters",
        1_000_000,
        15,
        "trust",
        {"lowd": peer("LowdEvaluate", "lowd")},
        bars=(Bar(seconds=60, bytes=3e9),),
    ),
}
