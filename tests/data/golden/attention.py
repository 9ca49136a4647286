"""Records PyTorch's scaled dot-product attention, forward and backward.

    python3 attention.py [FILE]     writes attention.json beside this script, or FILE

Needs torch. Operands and results are written row by row.
"""
import json
import pathlib
import sys

import torch
from torch.nn import functional

SEED = 17
# Queries, keys, width of keys, width of values.
SIZES = [(5, 5, 8, 8), (7, 3, 4, 6), (1, 9, 16, 16), (66, 70, 2, 2)]


def values(tensor):
    return [float(f"{it:.9g}") for it in tensor.detach().float().flatten()]


def case(size, dtype, causal, masked, generator):
    """One call on 1 batch of 2 heads, and its gradients."""
    queries, keys, width, out = size
    # Quarters, which every type holds, and which are short to write.
    quarters = lambda *shape: (torch.randn(*shape, generator=generator) * 4).round().div(4).to(dtype)
    of = lambda *shape: quarters(1, 2, *shape)
    query, key, value, grad = of(queries, width), of(keys, width), of(keys, out), of(queries, out)
    mask = quarters(queries, keys) if masked else None
    for it in query, key, value:
        it.requires_grad_()
    output = functional.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
    grads = torch.autograd.grad(output, (query, key, value), grad)
    given = {"query": query, "key": key, "value": value, "grad": grad, **({"mask": mask} if masked else {})}
    found = dict(zip(("of_query", "of_key", "of_value"), grads), output=output)
    tensors = {name: {"shape": list(it.shape), "values": values(it)} for name, it in (given | found).items()}
    return {"dtype": {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}[dtype], "causal": causal, "tensors": tensors}


def record(file):
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(SEED)
    cases = []
    for dtype in torch.float32, torch.bfloat16, torch.float16:
        for size in SIZES if dtype == torch.float32 else SIZES[:2]:
            # A causal mask of torch's is aligned to the first key, and other lengths make it a question of convention.
            kinds = [(False, False), (False, True), *([(True, False)] if size[0] == size[1] else [])]
            cases += [case(size, dtype, *kind, generator) for kind in kinds]
    pathlib.Path(file).write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("attention.json"))
