"""Basic blocks of an entry, the edges between them, and its loops."""

from dataclasses import dataclass, field

BRANCHES = ("BRA", "BRX", "BRXU", "JMP")
ENDS = ("EXIT", "RET")


@dataclass
class Graph:
    """Blocks as pairs of first and last index into `code`, the last exclusive; the edges; and the dominators of each block."""

    code: list
    blocks: list
    following: list
    before: list = field(default_factory=list)
    dominators: list = field(default_factory=list)

    def instructions(self, block):
        """Returns the instructions of a block."""
        first, end = self.blocks[block]
        return self.code[first:end]


@dataclass(frozen=True)
class Loop:
    """A natural loop: its first block, all of its blocks, and those that lead back to the first."""

    head: int
    body: frozenset
    latches: frozenset


def is_branch(it):
    """Returns true for a branch. Before 9.0 a far branch is a call of a label in the same entry."""
    return it.base in BRANCHES or it.base == "CALL" and bool(it.targets)


def build(code, labels):
    """Returns the graph of an entry. It omits slow paths that are called: a call continues at the next instruction."""
    starts = {0} | set(labels.values())
    starts |= {at + 1 for at, it in enumerate(code) if is_branch(it) or it.base in ENDS}
    starts = sorted(it for it in starts if it < len(code))
    blocks = list(zip(starts, starts[1:] + [len(code)]))
    place = {first: index for index, (first, _) in enumerate(blocks)}
    following = [edges(code[end - 1], index, len(blocks), labels, place) for index, (_, end) in enumerate(blocks)]
    graph = Graph(code, blocks, following)
    graph.before = [[] for _ in blocks]
    for block, nexts in enumerate(following):
        for it in nexts:
            graph.before[it].append(block)
    graph.dominators = dominators(graph)
    return graph


def edges(last, block, count, labels, place):
    """Returns the blocks that follow a block that ends with `last`. The branch of a diverged warp (`BRA.DIV`) is not followed."""
    is_sure = not last.guard and not any(it.lstrip("!").startswith(("P", "UP")) for it in last.operands)
    nexts = []
    if is_branch(last) and not last.has("DIV"):
        nexts = [place[labels[it]] for it in last.targets if labels.get(it) in place]
    if (not is_branch(last) and last.base not in ENDS or not is_sure or last.has("DIV")) and block + 1 < count:
        nexts.append(block + 1)
    return sorted(set(nexts))


def order(graph):
    """Returns the blocks that are reached from the first in reverse postorder."""
    reached, post, stack = {0}, [], [(0, iter(graph.following[0]))]
    while stack:
        block, rest = stack[-1]
        step = next((it for it in rest if it not in reached), None)
        if step is None:
            post.append(block)
            stack.pop()
        else:
            reached.add(step)
            stack.append((step, iter(graph.following[step])))
    return post[::-1]


def dominators(graph):
    """Returns for each block the set of blocks that every way from the start to it passes; None for blocks that are not reached."""
    sequence = order(graph)
    everything = set(sequence)
    sets = [everything if it in everything else None for it in range(len(graph.blocks))]
    sets[0] = {0}
    changed = True
    while changed:
        changed = False
        for block in sequence[1:]:
            known = [sets[it] for it in graph.before[block] if sets[it] is not None]
            new = set.intersection(*known) | {block}
            if new != sets[block]:
                sets[block], changed = new, True
    return sets


def loops(graph):
    """Returns the natural loops, one for each head."""
    latches = {}
    for block, nexts in enumerate(graph.following):
        for head in nexts:
            if graph.dominators[block] is not None and head in graph.dominators[block]:
                latches.setdefault(head, set()).add(block)
    return [Loop(head, body(graph, head, ends), frozenset(ends)) for head, ends in sorted(latches.items())]


def body(graph, head, latches):
    """Returns the blocks from which a latch is reached without passing the head."""
    found, waiting = {head}, [it for it in latches if it != head]
    while waiting:
        block = waiting.pop()
        if block not in found and graph.dominators[block] is not None:
            found.add(block)
            waiting.extend(graph.before[block])
    return frozenset(found)


def is_back(graph, block, following):
    """Returns true for an edge to a dominator of the block, and if the block is not reached."""
    return graph.dominators[block] is None or following in graph.dominators[block]
