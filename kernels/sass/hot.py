"""The hot loops of an entry: those with accesses to data in 16 bytes or with matrix instructions."""

import graph as graphs
from way import MATRIX, ways


def hot(entry):
    """Returns the ways through each hot loop. An entry without hot loops has the loop with the largest share of accesses to data; an entry
    without loops is one way."""
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
    """Returns the loops to count. `ranks` has the loops with accesses of 16 bytes or matrix instructions, and 2 for those with both. Of nested
    loops the one with the higher rank is chosen, and of equal ranks the inner. A way through a loop passes each loop in it once."""
    inner = [loop for loop in ranks if not any(it.body < loop.body and ranks[it] >= ranks[loop] for it in ranks)]
    return [loop for loop in inner if not any(it.body > loop.body and ranks[it] > ranks[loop] for it in inner)]


def has_matrix(entry, blocks):
    """Returns true if blocks have an instruction of Tensor Cores."""
    return any(it.base in MATRIX for block in blocks for it in entry.graph.instructions(block))


def has_wide(entry, blocks):
    """Returns true if blocks have an access to data of 16 bytes."""
    code = (it for block in blocks for it in entry.graph.instructions(block))
    return any(it.address in entry.data and it.width >= 128 for it in code)


def busy(entry, loop):
    """Returns the share of accesses to data among a loop's instructions, and the number of instructions."""
    code = [it for block in loop.body for it in entry.graph.instructions(block)]
    return sum(it.address in entry.data for it in code) / len(code), len(code)
