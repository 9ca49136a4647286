"""What is known of a value of a warp, and sums and products of such."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Value:
    """What is known of a value: its step from lane to lane, nothing where there is none, and its number where that is known."""

    step: Optional[int]
    constant: Optional[int] = None


UNIFORM, VARIES = Value(0), Value(None)


def joined(a, b):
    """What is known of a value that is one of two."""
    return a if a == b else Value(a.step if a.step == b.step else None)


def summed(values):
    """The sum of values."""
    steps = [it.step for it in values]
    constants = [it.constant for it in values]
    constant = sum(constants) & 0xFFFFFFFF if None not in constants else None
    return VARIES if None in steps else Value(sum(steps), constant)


def product(a, b):
    """The product of two values."""
    if a.constant is not None and b.constant is not None:
        return Value(0, a.constant * b.constant & 0xFFFFFFFF)
    for one, other in ((a, b), (b, a)):
        if one.constant is not None and other.step is not None:
            return Value(other.step * one.constant)
    return UNIFORM if a.step == 0 and b.step == 0 else VARIES
