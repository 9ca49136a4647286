"""Writes what torch's optimizers keep after five steps, and where three more lead: record.py FOLDER

For each optimizer NAME.safetensors is its state dictionary as `load_torch_optimizer` reads it; NAME.run.safetensors has the parameters
then (`before.I`), the gradients of the steps after (`grad.T.I`) and the parameters at their end (`after.I`). Parameter 2 gets no
gradient before the sixth step. Made with torch 2.15 on a CPU, for-loops rather than fused kernels."""
import sys

import torch
from safetensors.torch import save_file

SHAPES = [(2, 3), (4,), (1, 2)]
OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.1, foreach=False),
    "momentum": lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.25, weight_decay=0.01, foreach=False),
    "adamw": lambda params: torch.optim.AdamW(params, lr=0.01, foreach=False),
    "amsgrad": lambda params: torch.optim.Adam(params, lr=0.01, betas=(0.9, 0.99), weight_decay=0.1, amsgrad=True, foreach=False),
}


def record(name, folder):
    torch.manual_seed(7)
    params = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    optimizer, run = OPTIMIZERS[name](params), {}
    for step in range(8):
        if step == 5:
            state = optimizer.state_dict()["state"]
            tensors = {f"state.{i}.{key}": torch.as_tensor(value).contiguous()
                       for i, kept in state.items() for key, value in kept.items() if value is not None}
            save_file(tensors, f"{folder}/{name}.safetensors")
            run.update({f"before.{i}": param.detach().clone() for i, param in enumerate(params)})
        for i, param in enumerate(params):
            param.grad = None if i == 2 and step < 5 else torch.randn(param.shape)
            if step >= 5:
                run[f"grad.{step - 5}.{i}"] = param.grad.clone()
        optimizer.step()
    run.update({f"after.{i}": param.detach().clone() for i, param in enumerate(params)})
    save_file(run, f"{folder}/{name}.run.safetensors")


for name in OPTIMIZERS:
    record(name, sys.argv[1])
