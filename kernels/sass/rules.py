"""Rules of the values that instructions compute, for each opcode that is used in addresses. A rule returns None if it does not apply; the result
is then equal in all lanes if all sources are. The same holds for an opcode without a rule."""

from listing import half_pair
from values import UNIFORM, VARIES, Value, product, summed

# Tables of `LOP3.LUT` for the functions of its first two sources.
AND, OR, XOR = "0xc0", "0xfc", "0x3c"


def operands(it, state):
    """Returns the values of the sources without carries and other predicates."""
    sources = [name for name in it.operands[1:] if not name.lstrip("!").startswith(("P", "UP"))]
    return [state.read(name) for name in sources]


def special(it, _):
    """Reads a special register: thread and lane numbers differ by 1 from lane to lane."""
    return Value(1) if "SR_TID.X" in it.operands[1] or "SR_LANEID" in it.operands[1] else None


def added(it, state):
    return summed(operands(it, state))


def multiplied(it, state):
    """Computes `a * b + c`, which also stands for moves, sums and shifts. The high word of a product is unknown."""
    if it.has("HI"):
        return None
    a, b, *rest = operands(it, state)
    return summed([product(a, b), *rest[:1]])


def address(it, state):
    """Computes `(a << shift) + b`. The high word of an address is assumed equal in all lanes."""
    values = operands(it, state)
    if it.has("HI"):
        is_word = it.has("X") and all(value.step is not None for value in values)
        return UNIFORM if is_word or all(value.step == 0 for value in values) else VARIES
    shift = values[2].constant if len(values) > 2 else None
    return None if shift is None else summed([product(values[0], Value(0, 1 << shift)), values[1]])


def shifted(it, state):
    """Shifts: to the left by a fixed number is a product; to the right may remove all bits that differ within a warp."""
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
    """Masks: keeps the step if all bits that differ among lanes stay, and drops it if none does; also sets bits that are 0 in all lanes."""
    values, table = operands(it, state), it.operands[-2] if len(it.operands) > 5 else ""
    for source, bits in ((0, 1), (1, 0)):
        if len(values) < 2:
            break
        step, mask = values[source].step, values[bits].constant
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
    """Loads an integer that is written as a pair of f16: `HFMA2 R, -RZ, RZ, high, low`."""
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
