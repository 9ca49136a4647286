"""Instructions of each entry, read from the text that nvdisasm prints."""

import re
import struct
from dataclasses import dataclass

SECTION = re.compile(r"^//-+ \.text\.(\S+)")
LABEL = re.compile(r"^(\.L_x_\d+|\$\w+):")
LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:@(!?)(U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;?\s*$")
TARGETS = re.compile(r"\.L_x_\d+")
REGISTER = re.compile(r"\b(U?R(?:\d+|Z)|U?P(?:\d+|T))\b")
# Opcodes whose first operand is read.
NO_RESULT = {
    "ST", "STG", "STS", "STL", "RED", "REDG", "REDS", "BAR", "BRA", "BRX", "BRXU", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK",
    "MEMBAR", "ERRBAR", "CCTL", "NOP", "WARPSYNC", "DEPBAR", "LDGDEPBAR", "LDGSTS", "YIELD", "JMP", "ENDCOLLECTIVE",
}


@dataclass(frozen=True)
class Instruction:
    """One instruction: `@guard opcode operands`, at `address` bytes from the entry's start."""

    address: int
    guard: str
    opcode: str
    operands: tuple
    targets: tuple = ()

    @property
    def base(self):
        """Part of the opcode before its first dot."""
        return self.opcode.split(".")[0]

    def has(self, *parts):
        """Returns true if all of `parts` are among the opcode's parts between dots."""
        return set(parts) <= set(self.opcode.split("."))

    @property
    def results(self):
        """Registers and predicates that are written, as the operands name them: of a group only the first."""
        if self.base in NO_RESULT or not self.operands:
            return []
        found = [self.operands[0]]
        for operand in self.operands[1:3]:
            after_predicate = is_predicate(found[0]) and len(found) == 1
            if not is_predicate(operand) and not after_predicate:
                break
            found.append(operand)
            if not is_predicate(operand):
                break
        return [it for it in found if re.fullmatch(r"U?[RP]\d+", it)]

    @property
    def sources(self):
        """Registers and predicates that are read, as the operands name them."""
        skip = 0 if self.base in NO_RESULT else 1
        if self.base not in NO_RESULT and self.operands and is_predicate(self.operands[0]):
            skip = 2
        names = REGISTER.findall(" ".join(self.operands[skip:]))
        return [it for it in names if it[-1] not in "ZT"]

    @property
    def width(self):
        """Number of bits that one lane loads, stores or copies to shared memory."""
        for bits in (256, 128, 64):
            if self.has(str(bits)):
                return bits
        if self.has("U8") or self.has("S8"):
            return 8
        return 16 if self.has("U16") or self.has("S16") else 32

    @property
    def address_operand(self):
        """Operand in brackets of an access; of a copy to shared memory, the operand in global memory."""
        brackets = [it for it in self.operands if "[" in it]
        return brackets[-1] if brackets else ""

    @property
    def address_register(self):
        """Register of the address; None for an absolute address."""
        inside = self.address_operand.rsplit("[", 1)[-1]
        found = re.search(r"\bR\d+", inside)
        return found.group() if found else None

    @property
    def group(self):
        """Registers that a load fills, or from which a store takes its data."""
        if self.base in ("ST", "STG", "STS"):
            first = next((it for it in reversed(self.operands) if re.fullmatch(r"R\d+", it)), None)
        else:
            first = next((it for it in self.results if it.startswith("R")), None)
        if first is None:
            return []
        start = int(first[1:])
        return [f"R{start + k}" for k in range(max(1, self.width // 32))]


def is_predicate(operand):
    """Returns true for a predicate that is not negated: `P0` or `PT`, not `!P0`."""
    return re.fullmatch(r"U?P(\d+|T)", operand) is not None


def number(operand):
    """Returns the value of an immediate integer; None for any other operand."""
    if re.fullmatch(r"-?0x[0-9a-f]+", operand):
        return int(operand, 16)
    return 0 if operand in ("RZ", "URZ") else None


def half_pair(high, low):
    """Returns the 32 bits of two f16 that `HFMA2 R, -RZ, RZ, high, low` puts into a register. ptxas loads small integers so, too."""
    bits = [struct.unpack("<H", struct.pack("<e", float(it)))[0] for it in (high, low)]
    return bits[0] << 16 | bits[1]


def instruction(line):
    """Returns the instruction of a line; None if it has none."""
    found = LINE.match(line)
    if found is None:
        return None
    address, negated, guard, opcode, rest = found.groups()
    rest, _, comment = rest.partition("(*")
    targets = tuple(TARGETS.findall(comment if comment else rest))
    operands = tuple(it.strip().replace(".reuse", "") for it in rest.rstrip("; ").split(",") if it.strip())
    return Instruction(int(address, 16), negated + guard if guard else "", opcode, operands, targets)


def entries(text):
    """Returns by entry's name its instructions, and the index of the instruction after each label."""
    all_entries, code, labels = {}, None, None
    for line in text.splitlines():
        section, label = SECTION.match(line), LABEL.match(line.strip())
        if section:
            code, labels = [], {}
            all_entries[section.group(1)] = (code, labels)
        elif line.startswith("//-"):
            code, labels = [], {}
        elif code is not None and label:
            labels[label.group(1)] = len(code)
        elif code is not None:
            found = instruction(line)
            if found:
                code.append(found)
    return all_entries
