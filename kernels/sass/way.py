"""Way of the aligned path through a loop, or through an entry that has none.

A way leads from the first block of a loop to a block that leads back to it, through each block at most once. Ways are compared by the numbers of
their loads and stores of 16 bytes. Of the ways with the same numbers, the aligned one has the fewest narrower accesses to data; among
these, the most matrix instructions; and among these, the fewest instructions. A call is the slow path of a division or a root, and
counts as CALL instructions. An access to data is an access to global memory whose address differs among the lanes of a warp. Fields of a row
are read by one access for the whole warp, and are not data.

A predicate that guards an access of 16 bytes keeps its value until it is written again: where `@P0` runs, `@!P0` does not. Instructions
that other predicates guard count as run.
"""

from collections import namedtuple
from dataclasses import dataclass

import graph as graphs
import lanes

LOADS = ("LD", "LDG", "LDGSTS")
STORES = ("ST", "STG")
MATRIX = ("HMMA", "IMMA", "QMMA", "DMMA")
CALL = 10_000

# A way to a block: its cost, the instructions of the block that are not run, and the key of the way that it continues.
Step = namedtuple("Step", "cost skipped source")


@dataclass(frozen=True)
class Way:
    """Blocks of a way, addresses of the instructions that their guards skip, and the counts by which it was chosen."""

    blocks: tuple
    skipped: frozenset
    loads: int
    stores: int
    scalar: int
    minus_matrix: int
    cost: int


@dataclass
class Entry:
    """Graph of an entry, with the state of the registers and the live predicates at the start of each block."""

    graph: graphs.Graph
    states: dict
    sequence: list
    live: dict
    data: set
    guards: set

    @staticmethod
    def of(code, labels):
        """Returns the entry with this code."""
        graph = graphs.build(code, labels)
        sequence = graphs.order(graph)
        states = lanes.states(graph, sequence)
        data = {it.address for block in sequence for it in accesses(graph, states, block)}
        guards = {it.guard.lstrip("!") for it in code if it.address in data and it.guard and it.width >= 128}
        return Entry(graph, states, sequence, live_guards(graph, sequence, guards), data, guards)


def accesses(graph, states, block):
    """Yields the accesses to data of a block."""
    state = lanes.State(states[block].values)
    for it in graph.instructions(block):
        if is_data(it, state):
            yield it
        state.run(it)


def is_data(it, state):
    """Returns true for an access to data: to global memory, at an address that differs among lanes."""
    if it.base not in LOADS + STORES:
        return False
    register = it.address_register
    return register is not None and state.read(register).step != 0


def live_guards(graph, sequence, guards):
    """Returns for each block which of the predicates `guards` are read before they are written again."""
    live = {block: frozenset() for block in sequence}
    changed = True
    while changed:
        changed = False
        for block in reversed(sequence):
            alive = set().union(*(live[it] for it in graph.following[block] if it in live))
            for it in reversed(graph.instructions(block)):
                if not it.guard:
                    alive -= set(it.results)
                alive |= guards & {it.guard.lstrip("!")}
            if alive != live[block]:
                live[block], changed = frozenset(alive), True
    return live


def through(entry, block, known):
    """Returns the ways through a block with the predicates `known`: for each its counts, the predicates known after it, and the
    addresses skipped."""
    found = [((0, 0, 0, 0, 0), dict(known), ())]
    for it in entry.graph.instructions(block):
        name, value = it.guard.lstrip("!"), not it.guard.startswith("!")
        if name in entry.guards and not graphs.is_branch(it):
            found = [new for old in found for new in decided(old, name)]
        found = [ran(entry, it, old, name, value) for old in found]
    return found


def decided(old, name):
    """Splits a way into two if the predicate `name` is not known yet."""
    adds, known, skipped = old
    if name in known:
        return [old]
    return [(adds, {**known, name: value}, skipped) for value in (True, False)]


def ran(entry, it, old, name, value):
    """Returns a way with one more instruction. An instruction that its guard skips still takes a slot."""
    (loads, stores, scalar, minus_matrix, cost), known, skipped = old
    if it.guard and known.get(name, value) != value:
        return (loads, stores, scalar, minus_matrix, cost + 1), known, skipped + (it.address,)
    if it.address in entry.data:
        wide = it.width >= 128
        loads += wide and it.base in LOADS
        stores += wide and it.base in STORES
        scalar += not wide
    written = set(it.results)
    known = {key: bit for key, bit in known.items() if key not in written}
    minus_matrix -= it.base in MATRIX
    return (loads, stores, scalar, minus_matrix, cost + (CALL if it.base == "CALL" and not it.targets else 1)), known, skipped


def allowed(entry, block, nxt, known):
    """Returns the predicates known at the start of `nxt` after the edge from `block`; None if they exclude the edge."""
    last = entry.graph.instructions(block)[-1]
    known = dict(known)
    if graphs.is_branch(last) and last.guard and len(entry.graph.following[block]) == 2:
        name, value = last.guard.lstrip("!"), not last.guard.startswith("!")
        is_taken = entry.graph.blocks[nxt][0] != entry.graph.blocks[block][1]
        has_more = any(it.lstrip("!").startswith(("P", "UP")) for it in last.operands)
        if is_taken and known.setdefault(name, value) != value:
            return None
        if not is_taken and not has_more and known.setdefault(name, not value) == value:
            return None
    return frozenset((name, bit) for name, bit in known.items() if name in entry.live[nxt])


def ways(entry, loop):
    """Returns the best way for each pair of numbers of loads and stores of 16 bytes: through `loop`, or from the start to an exit."""
    body = loop.body if loop else set(entry.sequence)
    head = loop.head if loop else 0
    arrived = {head: {(0, 0, frozenset()): Step((0, 0, 0), (), None)}}
    left = {}
    for block in entry.sequence:
        if block in body and block in arrived:
            left[block] = passed(entry, block, arrived[block])
            for nxt in entry.graph.following[block]:
                if nxt in body and not graphs.is_back(entry.graph, block, nxt):
                    go(entry, block, nxt, left[block], arrived.setdefault(nxt, {}))
    found = {}
    for end in ends(entry, loop):
        for key, step in left.get(end, {}).items():
            if key[:2] not in found or step.cost < found[key[:2]][0]:
                found[key[:2]] = (step.cost, end, key)
    return [trace(arrived, left, end, key) for _, end, key in found.values()]


def passed(entry, block, steps):
    """Returns the ways to the end of a block, from those to its start."""
    left = {}
    for key, step in steps.items():
        for adds, known, skipped in through(entry, block, key[2]):
            new = (key[0] + adds[0], key[1] + adds[1], frozenset(known.items()))
            cost = tuple(map(sum, zip(step.cost, adds[2:])))
            if new not in left or cost < left[new].cost:
                left[new] = Step(cost, skipped, key)
    return left


def go(entry, block, nxt, steps, arrived):
    """Adds the ways to the start of `nxt` through `block` to `arrived` if they are better than the ways there."""
    for key, step in steps.items():
        known = allowed(entry, block, nxt, key[2])
        if known is not None:
            new = (key[0], key[1], known)
            if new not in arrived or step.cost < arrived[new].cost:
                arrived[new] = Step(step.cost, (), (block, key))


def trace(arrived, left, block, key):
    """Returns the way that ends with `block`, traced from its end to its start."""
    loads, stores, cost = key[0], key[1], left[block][key].cost
    blocks, skipped = [], []
    while True:
        blocks.append(block)
        skipped.extend(left[block][key].skipped)
        source = arrived[block][left[block][key].source].source
        if source is None:
            return Way(tuple(blocks[::-1]), frozenset(skipped), loads, stores, *cost)
        block, key = source


def ends(entry, loop):
    """Returns the blocks with which a way may end."""
    if loop:
        return loop.latches
    return [it for it in entry.sequence if entry.graph.instructions(it)[-1].base == "EXIT"]


def widest(found):
    """Returns the way with the most accesses of 16 bytes, among these the one with the most stores."""
    return max(found, key=lambda it: (it.loads + it.stores, it.stores, -it.scalar, -it.cost))
