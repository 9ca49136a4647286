"""The hot loops of an entry: those with accesses to data in 16 bytes or with matrix instructions."""

import graph as graphs
from way import MATRIX, ways


def hot(entry):
    """The ways through each hot loop. Without one, the loop with the most accesses to data for its instructions; an entry without loops
    is one way."""
    loops = graphs.loops(entry.graph)
    ranks = {loop: has_matrix(entry, loop.body) + has_wide(entry, loop.body) for loop in loops}
    found = {loop: ways(entry, loop) for loop in loops if ranks[loop]}
    chosen = hottest({loop: ranks[loop] for loop in found if has_matrix(entry, loop.body) or any(it.loads + it.stores for it in found[loop])})
    if chosen:
        return [found[loop] for loop in chosen]
    if has_wide(entry, entry.sequence) or not loops:
        return [ways(entry, None)]
    return [ways(entry, max(loops, key=lambda loop: busy(entry, loop)))]


def hottest(ranks):
    """Of loops that have accesses in 16 bytes or matrix instructions, and rank by how many of the two: of loops in loops that with the
    higher rank, and of those with one rank the inner. Loops in a loop count once in its ways."""
    inner = [loop for loop in ranks if not any(it.body < loop.body and ranks[it] >= ranks[loop] for it in ranks)]
    return [loop for loop in inner if not any(it.body > loop.body and ranks[it] > ranks[loop] for it in inner)]


def has_matrix(entry, blocks):
    """True if blocks have an instruction of Tensor Cores."""
    return any(it.base in MATRIX for block in blocks for it in entry.graph.instructions(block))


def has_wide(entry, blocks):
    """True if blocks have an access to data in 16 bytes."""
    code = (it for block in blocks for it in entry.graph.instructions(block))
    return any(it.address in entry.data and it.width >= 128 for it in code)


def busy(entry, loop):
    """Accesses to data and instructions of the blocks of a loop, the former less the larger the loop is."""
    code = [it for block in loop.body for it in entry.graph.instructions(block)]
    return sum(it.address in entry.data for it in code) / len(code), len(code)
