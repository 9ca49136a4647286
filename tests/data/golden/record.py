"""Records random runs of torch.amp.GradScaler("cpu"): record.py FIRST_SEED LAST_SEED FOLDER

Needs torch and numpy on a CPU. The same seed and the same torch give the same file. The format is in README.md."""
import gzip
import json
import random
import struct
import sys

import numpy as np
import torch

INF, NAN = float("inf"), float("nan")
EVENTS = 120
INITS, WILD_INITS = [65536.0, 1.0, 2.0, 3.0, 1024.0], [0.0, INF, -INF, NAN, -2.0, 1e-45, 1e-39, 3e38, 1e39, 1234.567]
GROWTHS, WILD_GROWTHS = [2.0, 1.5, 1.1], [1e10, 1e300, INF, NAN]
BACKOFFS, WILD_BACKOFFS = [0.5, 0.25, 0.75, 0.1], [1e-10, 0.0, -1.0, -1e300, NAN]
INTERVALS, WILD_INTERVALS = [1, 2, 3, 5], [0, -3, 2000, 2**40]
SCALES, WILD_SCALES = [1.0, 4096.0, 0.1], [0.0, INF, NAN, -5.0, 1e39, -1e300, 7e-41]


def ieee_sqrt(self):
    """torch's own is off by one ulp for a fifth of all inputs."""
    return torch.from_numpy(np.sqrt(self.detach().numpy()))


def num(x):
    return {"dec": repr(float(x)), "f64": f"0x{struct.unpack('<Q', struct.pack('<d', float(x)))[0]:016x}"}


def nums(d):
    return {k: num(v) if isinstance(v, float) else v for k, v in d.items()}


def bits(tensor):
    width = tensor.element_size()
    view = tensor.detach().reshape(-1).view({2: torch.int16, 4: torch.int32, 8: torch.int64}[width])
    return [int(x) & ((1 << (8 * width)) - 1) for x in view.tolist()]


class Recorder:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.wild = self.random.random() < 0.6
        config = self.config()
        self.scaler = torch.amp.GradScaler("cpu", **config)
        self.optimizers, self.saved, self.events = [], [], []
        specs = [self.optimizer() for _ in range(self.random.randint(1, 3))]
        self.recording = {"config": nums(config), "optimizers": specs, "events": self.events, "wild": self.wild,
                          "meta": {"seed": seed, "torch": torch.__version__, "ieee_sqrt": True, "script": "record.py"}}

    def pick(self, usual, wild=()):
        return self.random.choice([*usual, *(wild if self.wild else ())])

    def config(self):
        return {"init_scale": self.pick(INITS, WILD_INITS), "growth_factor": self.pick(GROWTHS, WILD_GROWTHS),
                "backoff_factor": self.pick(BACKOFFS, WILD_BACKOFFS), "growth_interval": self.pick(INTERVALS, WILD_INTERVALS)}

    def values(self, n, spread=12):
        return [self.random.gauss(0, 1) * 2.0 ** self.random.randint(-spread, spread) for _ in range(n)]

    def optimizer(self):
        kind, sizes = self.pick(["sgd", "adam", "adamw"]), [self.pick([1, 2, 5, 16, 17, 33]) for _ in range(self.random.randint(1, 3))]
        params = [torch.nn.Parameter(torch.tensor(self.values(n, 3))) for n in sizes]
        hyper = {"lr": self.pick([0.1, 0.01, 0.001]), "weight_decay": self.pick([0.0, 0.01, 0.3]), "maximize": self.random.random() < 0.2}
        if kind == "sgd":
            momentum, dampening = self.pick([0.0, 0.5, 0.9]), self.pick([0.0, 0.0, 0.1])
            nesterov = momentum > 0 and dampening == 0 and self.random.random() < 0.5
            hyper |= {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
        else:
            # A first beta of 0 is left out: torch's vector loop and its tails differ in the sign of zeros then.
            hyper |= {"betas": self.pick([(0.9, 0.999), (0.8, 0.95), (0.4, 0.9)]), "eps": self.pick([1e-8, 1e-3]),
                      "amsgrad": self.random.random() < 0.4}
        maker = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]
        self.optimizers.append((maker(params, foreach=False, fused=False, **hyper), params))
        written = nums(hyper) | ({"betas": [num(b) for b in hyper["betas"]]} if "betas" in hyper else {})
        return {"kind": kind, "hyper": written, "params": [bits(p) for p in params]}

    def record(self, event, call):
        try:
            event |= call() or {}
        except Exception as error:
            event["err"] = {"type": type(error).__name__, "msg": str(error)}
        scale = self.scaler._scale
        event["after"] = {"scale": None if scale is None else bits(scale)[0], "get_scale": num(self.scaler.get_scale()),
                          "tracker": int(self.scaler._get_growth_tracker())}
        self.events.append(event)

    def looked(self, k):
        optimizer, params = self.optimizers[k]
        found = self.scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()
        return {"found_inf": [bits(f)[0] for f in found], "grads": [None if p.grad is None else bits(p.grad) for p in params]}

    def scale(self):
        dtype = self.pick([torch.bfloat16, torch.float16, torch.float32, torch.float64])
        values = [x if self.random.random() < 0.9 else self.pick([INF, NAN, 0.0, 65504.0]) for x in self.values(self.pick([1, 4]))]
        given = torch.tensor(values[0] if len(values) == 1 else values, dtype=dtype)
        name = lambda t: str(t.dtype).removeprefix("torch.")

        def call():
            out = self.scaler.scale(given)
            return {"out": bits(out), "out_dtype": name(out)}

        self.record({"op": "scale", "dtype": name(given), "in": bits(given)}, call)

    def grad(self, n):
        if self.random.random() < 0.15:
            return None
        grad = torch.tensor(self.values(n))
        if self.random.random() < 0.1:
            grad[self.random.randrange(n)] = self.pick([INF, -INF, NAN, 3e38, 1e-45, -0.0, 0.0])
        return grad

    def set_grads(self):
        nothing = self.random.random() < 0.1
        for _, params in self.optimizers:
            for p in params:
                p.grad = None if nothing else self.grad(p.numel())
        grads = [[None if p.grad is None else bits(p.grad) for p in params] for _, params in self.optimizers]
        self.events.append({"op": "set_grads", "grads": grads})

    def unscale(self):
        k = self.random.randrange(len(self.optimizers))

        def call():
            self.scaler.unscale_(self.optimizers[k][0])
            return self.looked(k)

        self.record({"op": "unscale", "opt": k}, call)

    def step(self):
        k = self.random.randrange(len(self.optimizers))
        optimizer, params = self.optimizers[k]

        def call():
            steps = []
            hook = optimizer.register_step_post_hook(lambda *_: steps.append(1))
            try:
                self.scaler.step(optimizer)
            finally:
                hook.remove()
            state = [{n: bits(v) for n, v in optimizer.state.get(p, {}).items() if v is not None} for p in params]
            return {"stepped": bool(steps), "params": [bits(p) for p in params], "state": state, **self.looked(k)}

        self.record({"op": "step", "opt": k}, call)

    def update(self):
        kind = self.random.choices([None, "float", "tensor", "int"], [75, 13, 7, 5])[0]
        value = 3 if kind == "int" else self.pick(SCALES, WILD_SCALES)
        given, written = {
            None: (None, None),
            "float": (value, {"kind": kind, "value": num(value)}),
            "tensor": (tensor := torch.tensor(value, dtype=torch.float64).to(torch.float32), {"kind": kind, "bits": bits(tensor)[0]}),
            "int": (value, {"kind": kind, "value": value}),
        }[kind]
        self.record({"op": "update", "new_scale": written}, lambda: self.scaler.update(given))

    def state_dict(self):
        def call():
            self.saved.append(self.scaler.state_dict())
            return {"dict": nums(self.saved[-1])}

        self.record({"op": "state_dict", "slot": len(self.saved)}, call)

    def load(self):
        if not self.saved:
            return
        slot, fresh = self.random.randrange(len(self.saved)), self.config() if self.random.random() < 0.5 else None

        def call():
            if fresh:
                self.scaler = torch.amp.GradScaler("cpu", **fresh)
            self.scaler.load_state_dict(self.saved[slot])

        self.record({"op": "load", "slot": slot, "fresh": fresh and nums(fresh)}, call)

    def run(self):
        self.set_grads()
        calls = [self.scale, self.set_grads, self.unscale, self.step, self.update, self.state_dict, self.load]
        for call in self.random.choices(calls, [14, 16, 18, 27, 15, 5, 5], k=EVENTS):
            call()
        return self.recording


def main():
    first, last, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    torch.Tensor.sqrt = ieee_sqrt
    for seed in range(first, last + 1):
        text = json.dumps(Recorder(seed).run(), separators=(",", ":"), sort_keys=True)
        with open(f"{folder}/gs_{seed}.json.gz", "wb") as file:
            file.write(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
