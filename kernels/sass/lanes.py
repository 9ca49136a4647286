"""Values of registers across the 32 lanes of a warp: equal, a fixed step apart from lane to lane, or otherwise.

The step of an address is in bytes, and determines the number of sectors of 32 bytes that an access of the whole warp touches. The analysis assumes
that blocks are one-dimensional, that a warp's first lane has a multiple of 32 as its thread number, that additions to an address do
not pass the end of 4 GiB within a warp, and that lanes which parted at a branch do not carry different constants into an address.
"""

from listing import number
from rules import RULES
from values import UNIFORM, VARIES, Value, joined

TYPES = ("F64", "F32", "F16", "BF16", "S64", "U64", "S32", "U32", "S16", "U16", "S8", "U8")


class State:
    """Values of all registers at a place. A register that was never written is equal in all lanes."""

    def __init__(self, values=None):
        self.values = dict(values or {})

    def __eq__(self, other):
        return self.values == other.values

    def merge(self, other):
        """Returns the state where two ways meet."""
        names = self.values.keys() | other.values.keys()
        # A register that only one of the ways wrote is not read after they meet.
        pairs = {it: (self.values.get(it), other.values.get(it)) for it in names}
        return State({it: a if b is None else b if a is None else joined(a, b) for it, (a, b) in pairs.items()})

    def read(self, operand):
        """Returns the value of an operand, with its sign applied."""
        sign, name = (-1, operand[1:]) if operand[:1] in "-~" else (1, operand)
        constant = number(operand)
        if constant is not None:
            return Value(0, constant)
        value = self.values.get(name.split(".")[0].strip("|"), UNIFORM)
        if sign < 0 and value.step is not None:
            return Value(-value.step, -value.constant & 0xFFFFFFFF if value.constant is not None else None)
        return value

    def run(self, it, on_the_way=False):
        """Applies the instruction `it`. Unless it is `on_the_way`, an instruction with a guard may not have run."""
        values = results(it, self)
        for name, value in values.items():
            if it.guard and not on_the_way and name in self.values:
                value = joined(self.values[name], value)
            self.values[name] = value


def results(it, state):
    """Returns the values of all registers that an instruction writes."""
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
    """Returns the registers after the first that an instruction writes."""
    stem = "UR" if first.startswith("UR") else "R"
    count = 1
    if it.base in ("LDG", "LD", "LDS", "LDC", "ULDC", "LDCU", "LDL"):
        count = max(1, it.width // 32)
    elif it.base in ("F2F", "F2I", "I2F"):
        # The result's type comes first in the opcode.
        count = 2 if next((part for part in it.opcode.split(".") if part in TYPES), "")[1:] == "64" else 1
    elif it.base in ("DADD", "DMUL", "DFMA", "CS2R") and not it.has("32") or it.has("WIDE") or it.has("64"):
        count = 2
    elif it.base in ("HMMA", "LDSM"):
        count = 4
    return [f"{stem}{int(first[len(stem):]) + k}" for k in range(1, count)]


def as_flag(it, state):
    """Returns the value of a predicate that an instruction sets."""
    return UNIFORM if all(state.read(name).step == 0 for name in it.sources) else VARIES


def value_of(it, state):
    """Returns the value of the first register that an instruction writes."""
    rule = RULES.get(it.base)
    if it.results[0].startswith("UR"):
        known = rule(it, state) if rule else None
        return Value(0, known.constant if known else None)
    if rule:
        found = rule(it, state)
        if found is not None:
            return found
    return UNIFORM if all(state.read(name).step == 0 for name in it.sources) else VARIES


def states(graph, sequence):
    """Returns the state at the start of each block that is reached: a fixed point."""
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
