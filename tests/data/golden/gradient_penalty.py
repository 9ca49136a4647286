"""Records PyTorch's training with a gradient penalty, by the recipe of its page of AMP examples.

    python3 gradient_penalty.py [FILE]     writes gradient_penalty.json beside this script, or FILE

Needs torch. The names of the steps are those of the page. Tensors are written row by row.
"""
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

SEED, STEPS, EVERY = 23, 20, 10
CLASSES, BATCH, BATCHES = 4, 6, 4
LR, MOMENTUM, PENALTY = 0.05, 0.9, 0.1
SCALER = {"init_scale": 1024.0, "growth_interval": 6}


class Mlp(nn.Module):
    shape = [10]

    def __init__(self):
        super().__init__()
        self.up, self.mid, self.down = nn.Linear(10, 16), nn.Linear(16, 16), nn.Linear(16, CLASSES, bias=False)

    def forward(self, x):
        return self.down(functional.gelu(self.mid(torch.tanh(self.up(x)))))


class Net(nn.Module):
    """Convolution, batch norm, SiLU, pooling, layer norm."""
    shape = [2, 6, 6]

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3)
        self.up, self.layer_norm, self.down = nn.Linear(27, 12), nn.LayerNorm(12), nn.Linear(12, CLASSES)

    def forward(self, x):
        x = functional.max_pool2d(functional.silu(self.norm(self.conv(x))), 3, 2, 1)
        return self.down(torch.tanh(self.layer_norm(self.up(x.flatten(1)))))


def values(tensor):
    return {"shape": list(tensor.shape), "values": [float(f"{it:.9g}") for it in tensor.detach().float().flatten()]}


def train(kind, dtype):
    torch.manual_seed(SEED)
    model = kind()
    # Eighths, which every type holds, and which are short to write.
    batches = [(torch.randn(BATCH, *kind.shape).mul(8).round().div(8), torch.randint(CLASSES, (BATCH,))) for _ in range(BATCHES)]
    named = lambda: {name: values(it) for name, it in model.named_parameters()}
    run = {"dtype": str(dtype).replace("torch.", ""), "params": named(), "batches": [], "steps": []}
    run["batches"] = [{"input": values(x), "labels": y.tolist()} for x, y in batches]
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    scaler = torch.amp.GradScaler("cpu", **SCALER)
    autocast = lambda: torch.autocast("cpu", dtype if dtype != torch.float32 else torch.bfloat16, enabled=dtype != torch.float32)
    for step in range(STEPS):
        input, target = batches[step % BATCHES]
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = functional.cross_entropy(model(input), target)
        before, scale = loss.item(), scaler.get_scale()
        scaled_grad_params = torch.autograd.grad(outputs=scaler.scale(loss), inputs=model.parameters(), create_graph=True)
        inv_scale = 1.0 / scaler.get_scale()
        grad_params = [p * inv_scale for p in scaled_grad_params]
        with autocast():
            grad_norm = 0
            for grad in grad_params:
                grad_norm += grad.pow(2).sum()
            grad_norm = grad_norm.sqrt()
            loss = loss + grad_norm * PENALTY
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        run["steps"].append({"loss": before, "grad_norm": grad_norm.item(), "scale": scaler.get_scale() if step == STEPS - 1 else scale})
        if (step + 1) % EVERY == 0:
            run["steps"][-1]["params"] = named()
    return run


def record(file):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    runs = {f"{kind.__name__.lower()} {str(dtype).replace('torch.', '')}": train(kind, dtype)
            for kind, dtype in ((Mlp, torch.float32), (Mlp, torch.bfloat16), (Mlp, torch.float16), (Net, torch.float32))}
    page = {"torch": torch.__version__, "lr": LR, "momentum": MOMENTUM, "penalty": PENALTY, **SCALER, "runs": runs}
    pathlib.Path(file).write_text(json.dumps(page) + "\n")


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("gradient_penalty.json"))
