"""How a proxy says that the original should do a call."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - it is not a failure
    """lowd leaves a call to the original; the message says why."""


def require(condition: object, otherwise: str) -> None:
    """Leave the call to the original unless the condition holds."""
    if not condition:
        raise Refused(otherwise)


class Gain:
    """Whether calls are left to the original where it is faster; `always` serves them too."""

    always = False


SMALL = "the original is faster on small data"


def require_gain(condition: object, otherwise: str = SMALL) -> None:
    """Leave the call to the original where measurements say that it is faster there.

    The sizes are those of benchmarks on two cores; decision 038 has the table.
    """
    require(condition or Gain.always, otherwise)
