"""Budgets: the lines `// sass: ENTRY KEY NUMBER ...` at the end of a `.cu` file, and whether what was counted keeps them.

| key | on the aligned path of the entry's hot loops |
| --- | --- |
| `loads`, `stores`, `hmma` | accesses of 16 bytes and matrix instructions, exactly, 0 where not said: they name the way, which some loop must have |
| `scalar` | at most so many narrower accesses to data; above 0 the line ends with `; REASON` |
| `read`, `written` | sectors touched by loads and by stores, at most so many times the least |
| `slots` | at most so many instructions an iteration, on every architecture |
| `flight` | at least so many KiB asked for by a full multiprocessor of 9.0 before it uses the first |
| `spills` | at most so many bytes stored and loaded again, on any architecture; above 0 with a reason, too; 0 without it |
| `shared` | no limit: bytes of shared memory that a launch adds to what ptxas knows of |

A line names a way also where another has more accesses of 16 bytes: that of 16-bit gradients beside that of f32. A loop of which no way is
named has the defaults: no narrow access, and sectors at most 1.05 times the least.
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
        """True if the line is about the way of a row."""
        told = {"loads": row.counts.wide_loads, "stores": row.counts.wide_stores, "hmma": row.counts.hmma}
        return all(self.numbers.get(key, 0) == told[key] for key in NAMES)

    def breaks(self, row):
        """What in a row is beyond the budget."""
        limits, counts = {**DEFAULTS, **self.numbers}, row.counts
        told = {"scalar": counts.scalar, "read": counts.read_ratio, "written": counts.write_ratio, "slots": counts.slots}
        for key, value in told.items():
            if key in limits and value is not None and not value <= limits[key] + ROUNDING:
                yield f"{key} {short(value)}, budget {short(limits[key])}"
        if "flight" in limits and row.arch == FLIGHT_ON and not (row.flight or 0) >= limits["flight"]:
            yield f"flight {short(row.flight or 0)} KiB, budget {short(limits['flight'])}"


class Malformed(Exception):
    """A line is no budget; the text says where, and what it should be."""


def short(value):
    """A number as it stands in a table: whole, or with two digits behind the point."""
    return f"{float(value):.2f}".removesuffix(".00")


def read(path):
    """The budgets of one source."""
    lines = path.read_text().splitlines()
    told = [at for at, line in enumerate(lines) if line.startswith(MARK)]
    if told and told != list(range(told[0], len(lines))):
        # Above code they would move the places that the PTX has, and so its bytes.
        raise Malformed(f"{path.name}:{told[0] + 1}: budgets stand at the end of the file, behind all else")
    return [budget(lines[at], f"{path.name}:{at + 1}") for at in told]


def budget(line, place):
    """The budget of a line."""
    text, _, reason = line.removeprefix(MARK).partition(";")
    entry, *words = text.split()
    pairs = list(zip(words[::2], words[1::2]))
    if len(words) % 2 or any(key not in KEYS or not re.fullmatch(r"\d+(\.\d+)?", number) for key, number in pairs):
        raise Malformed(f"{place}: write `{MARK} ENTRY KEY NUMBER ...`, with keys of {', '.join(KEYS)}")
    numbers = {key: float(number) for key, number in pairs}
    if (numbers.get("scalar") or numbers.get("spills")) and not reason.strip():
        raise Malformed(f"{place}: say behind a `;` why narrow accesses, or spills, are needed")
    return Budget(entry, place, numbers)


def broken(rows, budgets):
    """A line for everything that is beyond its budget, and for every budget that nothing is measured by."""
    entries = {row.entry for row in rows}
    for row in rows:
        mine = [it for it in budgets if it.entry == row.entry and it.names(row)]
        for one in mine or [Budget(row.entry, f"{row.module}.cu", {})]:
            yield from (f"{one.place}: {row.entry} on {row.name}: {it}" for it in one.breaks(row))
        if row.resources.spills:
            most = max((it.numbers.get("spills", 0) for it in budgets if it.entry == row.entry), default=0)
            if row.resources.spills > most:
                yield f"{row.module}.cu: {row.entry} on {row.name}: spills {row.resources.spills} bytes, budget {short(most)}"
    for one in budgets:
        if one.entry not in entries:
            yield f"{one.place}: no entry is called {one.entry}"
        for arch in sorted({row.arch for row in rows if row.entry == one.entry}):
            if not any(one.names(row) for row in rows if (row.entry, row.arch) == (one.entry, arch)):
                named = ", ".join(f"{short(one.numbers[key])} {key}" for key in NAMES if key in one.numbers)
                yield f"{one.place}: {one.entry} on {arch / 10}: no loop has {named} of 16 bytes"


def lines(rows):
    """The tightest lines that the rows of one entry keep: of the ways with the most accesses of 16 bytes."""
    found = {}
    for row in rows:
        counts = row.counts
        ratios = {"read": counts.read_ratio, "written": counts.write_ratio}
        told = {key: float(value) for key, value in ratios.items() if value is not None and value > DEFAULTS[key]}
        if counts.scalar:
            told["scalar"] = counts.scalar
        key = (counts.wide_loads, counts.wide_stores, counts.hmma)
        numbers = found.setdefault(key, {})
        for name, value in {**told, "slots": counts.slots}.items():
            numbers[name] = max(value, numbers.get(name, 0))
    for key, numbers in found.items():
        names = dict(zip(NAMES, key))
        words = [f"{name} {short(value)}" for name, value in {**names, **numbers}.items() if value]
        yield f"{MARK} {rows[0].entry} {' '.join(words)}" + ("; REASON" if "scalar" in numbers else "")
