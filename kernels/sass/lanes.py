"""How the value of a register differs among the 32 lanes of a warp: not at all, by a fixed step from lane to lane, or otherwise.

The step of an address is in bytes, and tells how many sectors of 32 bytes an access of the whole warp touches. The analysis is sound for
what it calls fixed, under three rules: blocks are one-dimensional; a warp's first lane has a multiple of 32 as its thread number; and
additions to an address do not pass the end of 4 GiB within a warp.
"""

from dataclasses import dataclass
from typing import Optional

from listing import half_pair, number

# What `LOP3.LUT` computes of its first two sources, by its table.
AND, OR, XOR = "0xc0", "0xfc", "0x3c"


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


class State:
    """The values of all registers at a place. One that was never written is the same in all lanes."""

    def __init__(self, values=None):
        self.values = dict(values or {})

    def __eq__(self, other):
        return self.values == other.values

    def merge(self, other):
        """The state where two ways meet."""
        names = self.values.keys() | other.values.keys()
        # A register that one of the ways did not write has no use behind the place.
        pairs = {it: (self.values.get(it), other.values.get(it)) for it in names}
        return State({it: a if b is None else b if a is None else joined(a, b) for it, (a, b) in pairs.items()})

    def read(self, operand):
        """The value of an operand, its sign with it."""
        sign, name = (-1, operand[1:]) if operand[:1] in "-~" else (1, operand)
        constant = number(operand)
        if constant is not None:
            return Value(0, constant)
        value = self.values.get(name.split(".")[0].strip("|"), UNIFORM)
        if sign < 0 and value.step is not None:
            return Value(-value.step, -value.constant & 0xFFFFFFFF if value.constant is not None else None)
        return value

    def run(self, it, on_the_way=False):
        """Takes the instruction `it` into account; one with a guard may not have run unless it is `on_the_way`."""
        values = results(it, self)
        for name, value in values.items():
            if it.guard and not on_the_way and name in self.values:
                value = joined(self.values[name], value)
            self.values[name] = value


def results(it, state):
    """The values of all registers that an instruction writes."""
    names = it.results
    if not names:
        return {}
    value = value_of(it, state)
    found = {name: value if name == names[0] else as_flag(it, state) for name in names}
    if not names[0].startswith(("P", "UP")):
        high = Value(0) if value.step is not None else VARIES
        for name in following(names[0], it):
            found[name] = high
    else:
        found[names[0]] = as_flag(it, state)
        if len(names) > 1 and names[1].startswith(("R", "UR")):
            found[names[1]] = VARIES if it.base.startswith("ATOM") else value
    return found


def following(first, it):
    """The registers behind the first that an instruction writes."""
    stem = "UR" if first.startswith("UR") else "R"
    count = 1
    if it.base in ("LDG", "LD", "LDS", "LDC", "ULDC", "LDCU", "LDL"):
        count = max(1, it.width // 32)
    elif it.base in ("DADD", "DMUL", "DFMA", "CS2R") and not it.has("32") or it.has("WIDE") or it.has("F64") or it.has("64"):
        count = 2
    elif it.base in ("HMMA", "LDSM"):
        count = 4
    return [f"{stem}{int(first[len(stem):]) + k}" for k in range(1, count)]


def as_flag(it, state):
    """The value of a predicate that an instruction sets."""
    return UNIFORM if all(state.read(name).step == 0 for name in it.sources) else VARIES


def value_of(it, state):
    """The value of the first register that an instruction writes."""
    rule = RULES.get(it.base)
    if it.results[0].startswith("UR"):
        known = rule(it, state) if rule else None
        return Value(0, known.constant if known else None)
    if rule:
        found = rule(it, state)
        if found is not None:
            return found
    return UNIFORM if all(state.read(name).step == 0 for name in it.sources) else VARIES


def operands(it, state):
    """The values of the sources, carries and other predicates left out."""
    sources = [name for name in it.operands[1:] if not name.lstrip("!").startswith(("P", "UP"))]
    return [state.read(name) for name in sources]


def special(it, _):
    """Thread and lane numbers differ by one from lane to lane, all else of the kind is the warp's."""
    return Value(1) if "SR_TID.X" in it.operands[1] or "SR_LANEID" in it.operands[1] else None


def added(it, state):
    return summed(operands(it, state))


def multiplied(it, state):
    """`a * b + c`, as moves, sums and shifts are written, too. The high word of a product is not told."""
    if it.has("HI"):
        return None
    a, b, *rest = operands(it, state)
    return summed([product(a, b), *rest[:1]])


def address(it, state):
    """`(a << shift) + b`. The high word of an address is taken for the same in all lanes."""
    values = operands(it, state)
    if it.has("HI"):
        is_word = it.has("X") and all(value.step is not None for value in values)
        return UNIFORM if is_word or all(value.step == 0 for value in values) else VARIES
    shift = values[2].constant if len(values) > 2 else None
    return None if shift is None else summed([product(values[0], Value(0, 1 << shift)), values[1]])


def shifted(it, state):
    """A shift to the left by a fixed number multiplies; one to the right may leave nothing that differs within a warp."""
    values = operands(it, state)
    left = it.has("L") or it.base in ("SHL",)
    if it.has("HI") and it.has("U64") and left:
        return UNIFORM if values[0].step is not None else VARIES
    amount = values[1].constant if len(values) > 1 else None
    if left and amount is not None:
        return product(values[0], Value(0, 1 << amount))
    source = values[2] if it.has("HI") and len(values) > 2 else values[0]
    if not left and amount is not None and source.step is not None and source.step << 5 <= 1 << amount:
        return UNIFORM
    return None


def logical(it, state):
    """A mask that leaves what a warp's lanes add, one that takes it all away, and bits in places that are 0."""
    values, table = operands(it, state), it.operands[-2] if len(it.operands) > 5 else ""
    for one, other in ((0, 1), (1, 0)):
        if len(values) < 2:
            break
        step, mask = values[one].step, values[other].constant
        if step is None or step <= 0 or mask is None:
            continue
        if table == AND and mask & (step << 5) - 1 == 0:
            return UNIFORM
        if table == AND and mask & (step << 5) - 1 & ~(step - 1) == (step << 5) - 1 & ~(step - 1):
            return Value(step)
        if table in (OR, XOR) and mask < step:
            return Value(step)
    return None


def moved(it, state):
    return state.read(it.operands[1])


def packed_halves(it, state):
    """Integers that are written as a pair of f16: `HFMA2 R, -RZ, RZ, high, low`."""
    if it.operands[1:3] != ("-RZ", "RZ"):
        return None
    try:
        return Value(0, half_pair(*it.operands[3:5]))
    except (ValueError, OverflowError, TypeError):
        return UNIFORM


def zero(it, _):
    return Value(0, 0) if "SRZ" in it.operands[1] else UNIFORM


RULES = {
    "S2R": special, "CS2R": zero, "MOV": moved, "UMOV": moved, "HFMA2": packed_halves,
    "IADD3": added, "IADD": added, "VIADD": added, "UIADD3": added, "IADD64": added,
    "IMAD": multiplied, "UIMAD": multiplied, "LEA": address, "ULEA": address,
    "SHF": shifted, "USHF": shifted, "SHL": shifted, "LOP3": logical, "ULOP3": logical,
    "ATOMG": lambda it, state: VARIES, "ATOM": lambda it, state: VARIES, "MATCH": lambda it, state: VARIES,
}


def states(graph, sequence):
    """The state at the start of each block that is reached: a fixed point."""
    found = {0: State()}
    waiting = list(sequence)
    place = {block: index for index, block in enumerate(sequence)}
    while waiting:
        block = waiting.pop(0)
        if block not in found:
            continue
        state = State(found[block].values)
        for it in graph.instructions(block):
            state.run(it)
        for nxt in graph.following[block]:
            new = state if nxt not in found else found[nxt].merge(state)
            if nxt not in found or new != found[nxt]:
                found[nxt] = State(new.values)
                if nxt not in waiting:
                    waiting.append(nxt)
        waiting.sort(key=place.get)
    return found
