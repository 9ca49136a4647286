"""Records steps of torch.optim.Adagrad: record_adagrad.py FILE

Needs torch and numpy on a CPU. The same torch gives the same file, in the format of optim.json.gz: see README.md."""
import gzip
import json
import random
import sys

import torch

from record import bits, ieee_sqrt, nums

STEPS, SIZES = 200, [17, 8, 1]
SETTINGS = [
    {},
    {"lr_decay": 0.01, "initial_accumulator_value": 0.1},
    {"weight_decay": 0.01, "eps": 1e-6},
    {"weight_decay": 0.3, "lr_decay": 0.5, "initial_accumulator_value": 1.0, "maximize": True},
]
torch.Tensor.sqrt = ieee_sqrt
torch.set_num_threads(1)
draw = random.Random(1)


def tensor(n, spread):
    return torch.tensor([draw.gauss(0, 1) * 2.0 ** draw.randint(-spread, spread) for _ in range(n)])


init = [tensor(n, 3) for n in SIZES]
grads = [[tensor(n, 12) for n in SIZES] for _ in range(STEPS)]


def steps(hyper):
    params = [torch.nn.Parameter(p.clone()) for p in init]
    optimizer = torch.optim.Adagrad(params, foreach=False, fused=False, **hyper)
    for step in grads:
        for p, grad in zip(params, step):
            p.grad = grad.clone()
        optimizer.step()
        yield [{"param": bits(p), "sum": bits(optimizer.state[p]["sum"])} for p in params]


cases = []
for setting in SETTINGS:
    hyper = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "eps": 1e-10} | setting
    cases.append({"kind": "adagrad", "hyper": nums(hyper), "variants": {"forloop_ieee": list(steps(hyper))}})
recording = {"init": [bits(p) for p in init], "grads": [[bits(g) for g in step] for step in grads], "cases": cases,
             "meta": {"seed": 1, "torch": torch.__version__, "ieee_sqrt": True, "script": "record_adagrad.py"}}
with open(sys.argv[1], "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as zipped:
    zipped.write(json.dumps(recording, separators=(",", ":")).encode())
