"""Pytest plugin: scikit-learn's own tests with acceleration on, and a record of what ran where.

Loaded by `-p accelerated_suite` in a process of its own; LOWD_SUITE_RECORD names the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import lowd.accelerate
from lowd.accelerate import table

outcomes = {"passed": 0, "failed": []}


def pytest_configure():
    """Accelerate before scikit-learn's tests are imported."""
    # Also where scikit-learn is faster: its tests take small data.
    lowd.accelerate.install(always=True)
    # Some tests import from the modules that define the classes; there they find the proxies, too.
    for (module, name), original in table.list_replaced().items():
        if not name.startswith("_") and "._" not in module:
            setattr(sys.modules[original.__module__], name, getattr(sys.modules[module], name))


def pytest_runtest_logreport(report):
    if report.passed and report.when == "call":
        outcomes["passed"] += 1
    elif report.failed:
        outcomes["failed"].append(report.nodeid.split("::")[-1])


def pytest_sessionfinish():
    made = lowd.accelerate.profile()
    served = Counter(f"{call.name} {call.ran}" for call in made.calls)
    record = {**outcomes, "served": served, "reasons": made.reasons}
    Path(os.environ["LOWD_SUITE_RECORD"]).write_text(json.dumps(record))
