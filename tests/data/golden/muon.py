"""Records steps of torch.optim.Muon.

    python3 muon.py [FILE]     writes muon.json.gz beside this script, or FILE

Needs torch. Tensors are written row by row. The gradient of `square` is missing in one step, and that of `tall` is zero in the first.
"""
import gzip
import json
import pathlib
import sys

import torch

SEED, STEPS, KEPT, MISSING = 17, 24, (0, 1, 7, 15, 23), 5
SHAPES = {"wide": (8, 12), "tall": (12, 5), "square": (6, 6)}
RUNS = {
    "defaults": {"lr": 0.02},
    "no nesterov": {"lr": 0.02, "nesterov": False, "momentum": 0.8, "weight_decay": 0.0},
    "match_rms_adamw": {"lr": 0.05, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.01},
    "spectral_unclamped": {"lr": 0.02, "adjust_lr_fn": "spectral_unclamped", "ns_steps": 3, "momentum": 0.5},
    "cubic": {"lr": 0.02, "ns_coefficients": (1.5, -0.5, 0.0), "ns_steps": 12, "eps": 1e-3},
}


def values(tensor):
    return {"shape": list(tensor.shape), "values": [float(f"{it:.9g}") for it in tensor.detach().flatten()]}


def record(file):
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    start = {name: torch.randn(shape).mul(8).round().div(8) for name, shape in SHAPES.items()}
    # Multiples of 1/8, which are short to write, around directions of their own.
    slope = {name: torch.randn(shape) for name, shape in SHAPES.items()}
    grads = [{name: (slope[name] + torch.randn(shape)).mul(8).round().div(8) for name, shape in SHAPES.items()} for _ in range(STEPS)]
    grads[0]["tall"] = torch.zeros(SHAPES["tall"])
    grads[MISSING]["square"] = None
    runs = {}
    for run, settings in RUNS.items():
        params = {name: torch.nn.Parameter(it.clone()) for name, it in start.items()}
        optimizer = torch.optim.Muon(params.values(), **settings)
        named = lambda: {name: values(it) for name, it in params.items()}
        steps = []
        for step in range(STEPS):
            for name, param in params.items():
                param.grad = None if grads[step][name] is None else grads[step][name].clone()
            optimizer.step()
            if step in KEPT:
                momentum = {name: values(optimizer.state[it]["momentum_buffer"]) for name, it in params.items()}
                steps.append({"step": step, "params": named(), "momentum": momentum})
        group = optimizer.param_groups[0]
        settings = {key: group[key] for key in group if key in torch.optim.Muon.__init__.__code__.co_varnames and key != "params"}
        runs[run] = {"settings": settings, "steps": steps}
    given = [{name: None if it is None else values(it) for name, it in step.items()} for step in grads]
    page = {"torch": torch.__version__, "seed": SEED, "params": {name: values(it) for name, it in start.items()}, "grads": given, "runs": runs}
    pathlib.Path(file).write_bytes(gzip.compress((json.dumps(page) + "\n").encode(), mtime=0))


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("muon.json.gz"))
