"""Cases of the quality measures: trustworthiness alone, and all of `lowd.evaluate`."""

from __future__ import annotations

from cases import Case, Target, Tool


def peer(name: str, needs: str) -> Tool:
    return Tool(f"quality_peers:{name}", {}, needs)


QUALITY_CASES: dict[str, Case] = {
    "trust-10k": Case(
        "trustworthiness of an embedding of 10000×784, all rows",
        "images",
        10_000,
        15,
        "trustworthiness",
        {
            "lowd": peer("LowdTrustworthiness", "lowd"),
            "scikit-learn": peer("SklearnTrustworthiness", "sklearn"),
        },
        targets=(Target("scikit-learn", 10),),
    ),
    "evaluate-10k": Case(
        "evaluation of an embedding of 10000×784",
        "images",
        10_000,
        15,
        "trustworthiness",
        {"lowd": peer("LowdEvaluate", "lowd"), "ZADU": peer("Zadu", "zadu")},
        targets=(Target("ZADU", 10),),
    ),
    "trust-70k": Case(
        "trustworthiness of an embedding of 70000×784, all rows",
        "images",
        70_000,
        15,
        "trustworthiness",
        {"lowd": peer("LowdTrustworthiness", "lowd")},
        targets=(Target(seconds=60, bytes=2e9),),
    ),
    "evaluate-million": Case(
        "evaluation of an embedding of 1 million × 50, sampled rows",
        "clusters",
        1_000_000,
        15,
        "trustworthiness",
        {"lowd": peer("LowdEvaluate", "lowd")},
        targets=(Target(seconds=60, bytes=3e9),),
    ),
}
