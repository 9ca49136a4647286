"""Values of a warp as far as they are known, with their sums and products."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Value:
    """Value of a register: its step from lane to lane, None if it has no fixed step, and its number if it is known."""

    step: Optional[int]
    constant: Optional[int] = None


UNIFORM, VARIES = Value(0), Value(None)


def joined(a, b):
    """Returns a value that may be either of two."""
    return a if a == b else Value(a.step if a.step == b.step else None)


def summed(values):
    """Returns the sum of values."""
    steps = [it.step for it in values]
    constants = [it.constant for it in values]
    constant = sum(constants) & 0xFFFFFFFF if None not in constants else None
    return VARIES if None in steps else Value(sum(steps), constant)


def product(a, b):
    """Returns the product of two values."""
    if a.constant is not None and b.constant is not None:
        return Value(0, a.constant * b.constant & 0xFFFFFFFF)
    for factor, value in ((a, b), (b, a)):
        if factor.constant is not None and value.step is not None:
            return Value(value.step * factor.constant)
    return UNIFORM if a.step == 0 and b.step == 0 else VARIES
