"""Budgets: the lines `// sass: ENTRY KEY NUMBER ...` at the end of a `.cu` file, and their comparison with the counts.

| key | on the aligned path of the entry's hot loops |
| --- | --- |
| `loads`, `stores`, `hmma` | exact accesses of 16 bytes and matrix instructions; 0 without the key. They select the way, which some loop must have |
| `scalar` | greatest number of narrower accesses to data; above 0 the line ends with `; REASON` |
| `read`, `written` | sectors touched by loads and by stores, at most this multiple of the least |
| `slots` | greatest number of instructions an iteration, on every architecture |
| `flight` | least number of KiB that a full multiprocessor of 9.0 loads before it uses the first |
| `spills` | greatest number of bytes stored and loaded again, on any architecture; 0 without the key; above 0 the line needs a reason |
| `shared` | no limit: bytes of shared memory that a launch adds to what ptxas knows of |

A line may select a way that is not the one with the most accesses of 16 bytes: the way of 16-bit gradients beside that of f32. A way that no
line selects has the defaults: no narrow access, and sectors at most 1.05 times the least.
"""

import re
from dataclasses import dataclass, field

DEFAULTS = {"scalar": 0, "read": 1.05, "written": 1.05}
NAMES = ("loads", "stores", "hmma")
KEYS = (*NAMES, *DEFAULTS, "slots", "flight", "shared", "spills")
MARK = "// sass:"
FLIGHT_ON = 90
# Lines have two digits behind the point.
ROUNDING = 0.005


@dataclass(frozen=True)
class Budget:
    """One line: an entry, and numbers by key."""

    entry: str
    place: str
    numbers: dict = field(hash=False)

    def names(self, row):
        """Returns true if the line selects the way of a row."""
        measured = {"loads": row.counts.wide_loads, "stores": row.counts.wide_stores, "hmma": row.counts.hmma}
        return all(self.numbers.get(key, 0) == measured[key] for key in NAMES)

    def breaks(self, row):
        """Yields each count of a row that exceeds the budget, as text."""
        limits, counts = {**DEFAULTS, **self.numbers}, row.counts
        measured = {"scalar": counts.scalar, "read": counts.read_ratio, "written": counts.write_ratio, "slots": counts.slots}
        for key, value in measured.items():
            if key in limits and value is not None and not value <= limits[key] + ROUNDING:
                yield f"{key} {short(value)}, budget {short(limits[key])}"
        if "flight" in limits and row.arch == FLIGHT_ON and not (row.flight or 0) >= limits["flight"]:
            yield f"flight {short(row.flight or 0)} KiB, budget {short(limits['flight'])}"


class Malformed(Exception):
    """Error of a line that is no budget: its place, and the form that it should have."""


def short(value):
    """Returns a number as text: whole, or with two digits after the point."""
    return f"{float(value):.2f}".removesuffix(".00")


def read(path):
    """Returns the budgets of one source."""
    lines = path.read_text().splitlines()
    places = [at for at, line in enumerate(lines) if line.startswith(MARK)]
    if places and places != list(range(places[0], len(lines))):
        # Above code they would change the line numbers in the PTX, and so its bytes.
        raise Malformed(f"{path.name}:{places[0] + 1}: budgets stand at the end of the file, after all code")
    return [budget(lines[at], f"{path.name}:{at + 1}") for at in places]


def budget(line, place):
    """Returns the budget of a line."""
    text, _, reason = line.removeprefix(MARK).partition(";")
    entry, *words = text.split()
    pairs = list(zip(words[::2], words[1::2]))
    if len(words) % 2 or any(key not in KEYS or not re.fullmatch(r"\d+(\.\d+)?", number) for key, number in pairs):
        raise Malformed(f"{place}: write `{MARK} ENTRY KEY NUMBER ...`, with keys of {', '.join(KEYS)}")
    numbers = {key: float(number) for key, number in pairs}
    if (numbers.get("scalar") or numbers.get("spills")) and not reason.strip():
        raise Malformed(f"{place}: say after a `;` why narrow accesses or spills are needed")
    return Budget(entry, place, numbers)


def broken(rows, budgets):
    """Yields a message for each count beyond its budget, and for each budget that applies to no loop."""
    entries = {row.entry for row in rows}
    for row in rows:
        mine = [it for it in budgets if it.entry == row.entry and it.names(row)]
        for line in mine or [Budget(row.entry, f"{row.module}.cu", {})]:
            yield from (f"{line.place}: {row.entry} on {row.name}: {it}" for it in line.breaks(row))
        if row.resources.spills:
            most = max((it.numbers.get("spills", 0) for it in budgets if it.entry == row.entry), default=0)
            if row.resources.spills > most:
                yield f"{row.module}.cu: {row.entry} on {row.name}: spills {row.resources.spills} bytes, budget {short(most)}"
    for line in budgets:
        if line.entry not in entries:
            yield f"{line.place}: no entry is called {line.entry}"
        for arch in sorted({row.arch for row in rows if row.entry == line.entry}):
            if not any(line.names(row) for row in rows if (row.entry, row.arch) == (line.entry, arch)):
                named = ", ".join(f"{short(line.numbers[key])} {key}" for key in NAMES if key in line.numbers)
                yield f"{line.place}: {line.entry} on {arch / 10}: no loop has {named} of 16 bytes"


def lines(rows):
    """Yields the tightest lines that the rows of one entry keep, one for each way."""
    found = {}
    for row in rows:
        counts = row.counts
        ratios = {"read": counts.read_ratio, "written": counts.write_ratio}
        above = {key: float(value) for key, value in ratios.items() if value is not None and value > DEFAULTS[key]}
        if counts.scalar:
            above["scalar"] = counts.scalar
        key = (counts.wide_loads, counts.wide_stores, counts.hmma)
        numbers = found.setdefault(key, {})
        for name, value in {**above, "slots": counts.slots}.items():
            numbers[name] = max(value, numbers.get(name, 0))
    for key, numbers in found.items():
        names = dict(zip(NAMES, key))
        words = [f"{name} {short(value)}" for name, value in {**names, **numbers}.items() if value]
        yield f"{MARK} {rows[0].entry} {' '.join(words)}" + ("; REASON" if "scalar" in numbers else "")
