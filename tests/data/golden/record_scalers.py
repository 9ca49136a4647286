"""Records how other libraries move a loss scale, and what they save of it: record_scalers.py LIBRARY FOLDER

LIBRARY is one of torch, keras, tf_keras, jmp, paddle, deepspeed, fairseq, and then the library writes its own figures, or
of apex, log_max, which PyPI does not have: their rules stand below as they were read from source. For deepspeed and
fairseq, DEEPSPEED_SOURCE and FAIRSEQ_SOURCE name the unpacked folder; a file or two of it is run alone. The same seed and
the same library give the same file. The format is in README.md."""
import gzip
import importlib.util
import json
import math
import os
import random
import sys
import types
from unittest import mock

STEPS = 300
SAVED = [0, 1, 7, 50, 131, 222, 299]


def overflows(seed, shares=(0.0, 0.02, 0.05, 0.2, 0.5, 0.95)):
    """Quiet and stormy stretches, so that scales grow, back off, tolerate and exhaust."""
    pick, seen = random.Random(seed), []
    while len(seen) < STEPS:
        share = pick.choice(shares)
        seen += [pick.random() < share for _ in range(pick.randint(5, 60))]
    return seen[:STEPS]


def run(rule, scaler, seed, seen=None):
    """One trace: `scaler` has `update(overflow)`, `scale()` and `state()`, which is null where the library saves none."""
    seen = overflows(seed) if seen is None else seen
    trace = {"rule": rule, "seed": seed, "overflow": "", "scale": [scaler.scale()], "saved": [], "raised": None}
    for t, overflow in enumerate(seen):
        if t in SAVED and scaler.state() is not None:
            trace["saved"].append({"after": t, "state": scaler.state()})
        trace["overflow"] += "x" if overflow else "."
        try:
            scaler.update(overflow)
        except Exception as error:
            if type(error) not in (Exception, FloatingPointError):
                raise
            trace["raised"] = f"{type(error).__name__}: {error}"
            break
        trace["scale"].append(scaler.scale())
    return trace


def grid(**axes):
    """Every combination, as dictionaries."""
    rows = [{}]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    return rows


def from_file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Torch:
    def __init__(self, **rule):
        import torch
        self.parameter = torch.nn.Parameter(torch.zeros(1))
        self.optimizer = torch.optim.SGD([self.parameter], lr=0.0)
        self.scaler = torch.amp.GradScaler("cpu", **rule)
        self.scaler.scale(torch.zeros(1))
        self.bad, self.good = torch.full((1,), float("inf")), torch.ones(1)

    def update(self, overflow):
        self.parameter.grad = (self.bad if overflow else self.good).clone()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def scale(self):
        return self.scaler.get_scale()

    def state(self):
        return self.scaler.state_dict()


def torch():
    import torch
    rules = grid(init_scale=[1.0, 1024.0, 65536.0, 400.0], growth_factor=[2.0, 4.0], backoff_factor=[0.5, 0.25], growth_interval=[2, 10, 100])
    return torch.__version__, [run(rule, Torch(**rule), seed) for seed, rule in enumerate(rules)]


class Keras:
    """Keras 3 by the variables that a checkpoint holds."""

    def __init__(self, **rule):
        import keras
        self.variable = keras.Variable([0.0])
        self.optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.0), **rule)
        self.optimizer.build([self.variable])
        self.gradients = [keras.ops.convert_to_tensor([1.0]), keras.ops.convert_to_tensor([float("inf")])]

    def update(self, overflow):
        self.optimizer.apply([self.gradients[overflow]], [self.variable])

    def scale(self):
        return float(self.optimizer.dynamic_scale)

    def state(self):
        own = {v.name: v.numpy() for v in self.optimizer.variables if v.name in ("step_counter", "dynamic_scale")}
        return {name: int(v) if "int" in str(v.dtype) else float(v) for name, v in own.items()}


def keras():
    import keras
    rules = grid(initial_scale=[32768.0, 400.0, 2.0, 1.0], dynamic_growth_steps=[2, 10, 50])
    return keras.__version__, [run(rule, Keras(**rule), seed) for seed, rule in enumerate(rules)]


class TfKeras:
    def __init__(self, **rule):
        import tensorflow as tf
        import tf_keras
        self.variable = tf.Variable([0.0])
        self.optimizer = tf_keras.mixed_precision.LossScaleOptimizer(tf_keras.optimizers.SGD(0.0), **rule)
        self.gradients = [tf.constant([1.0]), tf.constant([float("inf")])]

    def update(self, overflow):
        self.optimizer.apply_gradients([(self.gradients[overflow], self.variable)])

    def scale(self):
        return float(self.optimizer.loss_scale)

    def state(self):
        # By the names of the variables in its checkpoints.
        return {"current_loss_scale": float(self.optimizer.loss_scale), "good_steps": int(self.optimizer.dynamic_counter)}


def tf_keras():
    import tf_keras
    rules = grid(initial_scale=[32768.0, 2.0], dynamic_growth_steps=[2, 10, 50])
    return tf_keras.__version__, [run(rule, TfKeras(**rule), seed) for seed, rule in enumerate(rules)]


class Jmp:
    def __init__(self, loss_scale, period, factor, min_loss_scale):
        import jax.numpy as jnp
        import jmp
        self.verdicts = [jnp.array(True), jnp.array(False)]
        self.jmp = jmp.DynamicLossScale(jnp.float32(loss_scale), period=period, factor=factor, min_loss_scale=jnp.float32(min_loss_scale))

    def update(self, overflow):
        self.jmp = self.jmp.adjust(self.verdicts[overflow])

    def scale(self):
        return float(self.jmp.loss_scale)

    def state(self):
        return None


def jmp():
    import importlib.metadata
    rules = grid(loss_scale=[32768.0, 8.0], period=[2, 10, 100], factor=[2, 4], min_loss_scale=[1.0, 0.25])
    return importlib.metadata.version("jmp"), [run(rule, Jmp(**rule), seed) for seed, rule in enumerate(rules)]


class Paddle:
    """Paddle enables its scaler where there is a GPU only; what follows is the same code on any place."""

    def __init__(self, **rule):
        import paddle
        import paddle.amp.grad_scaler as module
        place = types.SimpleNamespace(is_gpu_place=lambda: True)
        with mock.patch.object(module, "_dygraph_tracer", lambda: types.SimpleNamespace(_expected_place=place)):
            self.scaler = paddle.amp.GradScaler(**rule)
        self.parameter = paddle.create_parameter([1], "float32")
        self.optimizer = paddle.optimizer.SGD(0.0, parameters=[self.parameter])
        self.factors = [paddle.to_tensor([1.0]), paddle.to_tensor([float("inf")])]

    def update(self, overflow):
        (self.parameter * self.factors[overflow]).sum().backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.clear_grad()

    def scale(self):
        return float(self.scaler._scale)

    def state(self):
        state = self.scaler.state_dict()
        return {**state, "scale": [float(x) for x in state["scale"]]}


def paddle():
    import paddle
    rules = grid(init_loss_scaling=[65536.0, 8.0], incr_ratio=[2.0, 4.0], decr_ratio=[0.5], incr_every_n_steps=[10, 100], decr_every_n_nan_or_inf=[1, 2, 5])
    return paddle.__version__, [run(rule, Paddle(**rule), seed) for seed, rule in enumerate(rules)]


def deepspeed_modules():
    """Its scaler and its fused optimizer, without the rest of the package: what they import and do not use is a mock."""
    source, base = os.environ["DEEPSPEED_SOURCE"], types.SimpleNamespace
    for name in ["", ".comm", ".utils", ".utils.torch", ".utils.bwc", ".runtime", ".runtime.utils", ".runtime.config_utils", ".runtime.base_optimizer",
                 ".checkpoint", ".runtime.constants", ".accelerator", ".moe", ".moe.utils", ".runtime.fp16", ".runtime.loss_scale_validation"]:
        sys.modules["deepspeed" + name] = mock.MagicMock()
    sys.modules["deepspeed.runtime.config_utils"].DeepSpeedConfigObject = object
    sys.modules["deepspeed.runtime.base_optimizer"].DeepSpeedOptimizer = object
    from_file("deepspeed.checkpoint.constants", f"{source}/deepspeed/checkpoint/constants.py")
    scaler = from_file("deepspeed.runtime.fp16.loss_scaler", f"{source}/deepspeed/runtime/fp16/loss_scaler.py")
    fused = from_file("deepspeed.runtime.fp16.fused_optimizer", f"{source}/deepspeed/runtime/fp16/fused_optimizer.py")
    version = open(f"{source}/version.txt").read().strip()
    return version, scaler, fused


class Zero:
    """The scaler of ZeRO's optimizers, which they pickle whole: its attributes but for `dtype`."""

    def __init__(self, module, **rule):
        self.scaler = module.DynamicLossScaler(**rule)

    def update(self, overflow):
        self.scaler.update_scale(overflow)

    def scale(self):
        return float(self.scaler.cur_scale)

    def state(self):
        return {name: value for name, value in vars(self.scaler).items() if name != "dtype"}


class Fused:
    """`FP16_Optimizer`, as far as it moves the scale and saves it."""

    def __init__(self, scaler, fused, init_scale, scale_window, min_scale):
        import torch
        names = {scaler.INITIAL_LOSS_SCALE: init_scale, scaler.SCALE_WINDOW: scale_window, scaler.MIN_LOSS_SCALE: min_scale}
        config = scaler.LossScaleConfig(torch.float16, True, 1.0, names)
        inner = types.SimpleNamespace(state_dict=dict)
        self.module = fused.FP16_Optimizer
        self.optimizer = types.SimpleNamespace(loss_scale_config=config, verbose=False, optimizer=inner, fp32_groups_flat=[], clip_grad=0.0)

    def update(self, overflow):
        self.module._update_scale(self.optimizer, overflow)

    def scale(self):
        return float(self.optimizer.loss_scale_config.cur_scale)

    def state(self):
        state = self.module.state_dict(self.optimizer)
        return {name: value for name, value in state.items() if name not in ("optimizer_state_dict", "fp32_groups_flat", "clip_grad")}


def deepspeed():
    version, scaler, fused = deepspeed_modules()
    rules = grid(init_scale=[65536.0, 16.0], scale_window=[5, 50], min_scale=[1.0], delayed_shift=[1, 2, 4], consecutive_hysteresis=[False, True])
    runs = [run(rule, Zero(scaler, **rule), seed) for seed, rule in enumerate(rules)]
    gentle = [{**rule, "raise_error_at_min_scale": False} for rule in rules[12:15]]
    runs += [run(rule, Zero(scaler, **rule), 100 + seed) for seed, rule in enumerate(gentle)]
    if hasattr(scaler, "LossScaleConfig"):
        rules = grid(init_scale=[65536.0, 16.0], scale_window=[5, 50], min_scale=[1.0, 0.25])
        runs += [run({**rule, "fused": True}, Fused(scaler, fused, **rule), 200 + seed) for seed, rule in enumerate(rules)]
    return version, runs


class Fairseq:
    def __init__(self, module, **rule):
        self.scaler = module.DynamicLossScaler(**rule)

    def update(self, overflow):
        if overflow:
            try:
                self.scaler.check_overflow(float("inf"))
            except OverflowError:
                pass
        else:
            self.scaler.check_overflow(1.0)
            self.scaler.update()

    def scale(self):
        return float(self.scaler.loss_scale)

    def state(self):
        return None


def fairseq():
    source = os.environ["FAIRSEQ_SOURCE"]
    module = from_file("dynamic_loss_scaler", f"{source}/fairseq/optim/dynamic_loss_scaler.py")
    rules = grid(init_scale=[32768.0, 4.0], scale_window=[5, 50], tolerance=[0.0, 0.05, 0.25])
    runs = [run(rule, Fairseq(module, **rule), seed) for seed, rule in enumerate(rules)]
    # Storms raise soon: gentler ones, in which the share decides for long.
    rules = grid(init_scale=[32768.0], scale_window=[5, 50], tolerance=[0.03, 0.05, 0.125, 0.25])
    calm = lambda seed: overflows(seed, (0.0, 0.02, 0.05, 0.1))
    runs += [run(rule, Fairseq(module, **rule), 400 + seed, calm(400 + seed)) for seed, rule in enumerate(rules * 2)]
    return "0.12.2", runs


class Apex:
    """Read from source: `LossScaler` of apex/amp/scaler.py, and `state_dict` of apex/amp/frontend.py."""

    def __init__(self, init_scale=2.0**16, scale_window=2000, min_loss_scale=None, max_loss_scale=2.0**24):
        self.value, self.window, self.min, self.max, self.unskipped = min(max_loss_scale, init_scale), scale_window, min_loss_scale, max_loss_scale, 0

    def update(self, overflow):
        if overflow:
            halved = self.value / 2
            self.value, self.unskipped = max(self.min, halved) if self.min else halved, 0
        else:
            self.unskipped += 1
        if self.unskipped == self.window:
            self.value, self.unskipped = min(self.max, self.value * 2), 0

    def scale(self):
        return self.value

    def state(self):
        return {"loss_scaler0": {"loss_scale": self.value, "unskipped": self.unskipped}}


class ApexHysteresis:
    """Read from source: csrc/update_scale_hysteresis.cu."""

    def __init__(self, init_scale, growth_factor, backoff_factor, growth_interval, hysteresis):
        self.value, self.growth, self.backoff = init_scale, growth_factor, backoff_factor
        self.interval, self.full = growth_interval, hysteresis
        self.tracker, self.left = 0, hysteresis

    def update(self, overflow):
        if not overflow:
            self.left, self.tracker = self.full, self.tracker + 1
            if self.tracker == self.interval:
                grown, self.tracker = self.value * self.growth, 0
                self.value = grown if grown < 2.0**128 else self.value
            return
        self.left, self.tracker = self.left - 1, 0
        if self.left <= 0:
            self.value *= self.backoff

    def scale(self):
        return self.value

    def state(self):
        return None


def apex():
    rules = grid(init_scale=[65536.0, 8.0, 2.0**24], scale_window=[3, 50], min_loss_scale=[None, 1.0])
    runs = [run(rule, Apex(**rule), seed) for seed, rule in enumerate(rules)]
    rules = grid(init_scale=[1.0, 1024.0, 65536.0], growth_factor=[1.0, 2.0, 4.0], backoff_factor=[0.5, 0.25], growth_interval=[10, 100], hysteresis=[10, 100])
    rules += grid(init_scale=[65536.0], growth_factor=[2.0], backoff_factor=[0.5], growth_interval=[10], hysteresis=[1, 2, 3])
    return "e13873de, read from source", runs + [run(rule, ApexHysteresis(**rule), 300 + seed) for seed, rule in enumerate(rules)]


class LogMax:
    """Read from source: OpenSeq2Seq's automatic_loss_scaler.py, in f64. `overflow_counts` is the logarithm that an
    overflow counts as: 16 is what the ceiling means, and 65536 what the source says (2 to the power of 16, where a
    logarithm is wanted)."""

    def __init__(self, overflow_counts, beta1=0.99, beta2=0.999, deviations=3.09, ceiling=16.0, scale_min=1.0, scale_max=2.0**24):
        self.counts, self.betas, self.deviations, self.ceiling = overflow_counts, (beta1, beta2), deviations, ceiling
        self.limits, self.value = (scale_min, scale_max), 1.0
        self.fast = self.slow = self.square = 0.0
        self.bias = [1.0, 1.0]

    def update(self, magnitude):
        x = math.log2(magnitude) if magnitude is not None else self.counts
        one, two = self.betas
        self.fast = one * self.fast + (1 - one) * x
        self.slow = two * self.slow + (1 - two) * x
        self.square = two * self.square + (1 - two) * x * x
        self.bias = [self.bias[0] * one, self.bias[1] * two]
        mean, slow, square = self.fast / (1 - self.bias[0]), self.slow / (1 - self.bias[1]), self.square / (1 - self.bias[1])
        deviation = math.sqrt(max(square - slow * slow, 0.0))
        exponent = self.ceiling - (mean + self.deviations * deviation)
        self.value = min(max(2.0 ** min(max(exponent, -200.0), 200.0), self.limits[0]), self.limits[1])

    def scale(self):
        return self.value

    def state(self):
        return None


def log_max():
    runs = []
    for seed, counts in enumerate([16.0, 16.0, 16.0, 16.0, 65536.0, 65536.0]):
        pick, rare, spread = random.Random(seed), [0.0, 0.002, 0.01, 0.05][seed % 4], [0.0, 0.5, 2.0, 1.0][seed % 4]
        # An f32 each, so that both sides take the logarithm of the same number.
        draw = lambda: random_f32(pick, -8.0, spread)
        seen = [None if pick.random() < rare else draw() for _ in range(1000)]
        trace = run({"overflow_counts": counts}, LogMax(counts), seed, seen)
        runs.append({**trace, "magnitude": seen})
    return "read from source", runs


def random_f32(pick, mean, spread):
    significand = pick.randrange(1 << 23, 1 << 24)
    return significand * 2.0 ** (round(mean + pick.gauss(0, 1) * spread) - 23)


LIBRARIES = {f.__name__: f for f in [torch, keras, tf_keras, jmp, paddle, deepspeed, fairseq, apex, log_max]}


def main():
    library, folder = sys.argv[1], sys.argv[2]
    version, runs = LIBRARIES[library]()
    if library == "log_max":
        runs = [{**r, "overflow": "".join("x" if m is None else "." for m in r["magnitude"])} for r in runs]
    text = json.dumps({"library": library, "version": version, "script": "record_scalers.py", "runs": runs}, separators=(",", ":"), sort_keys=True)
    name = f"{library}_{version}" if library == "deepspeed" else library
    with open(f"{folder}/{name}.json.gz", "wb") as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))


main()
