"""Tests of the model of times."""

import json
import tempfile
import unittest
from pathlib import Path

import model
from counts import Counts
from resources import Resources
from table import Row

CASE, GPU = model.CASES[1], model.GPUS[0]


def share(**changed):
    """Returns the prediction for a reader of f32, four loads of 16 bytes, with other counts."""
    counts = Counts(**{"slots": 50, "bytes_moved": 64, "least_read": 64, "rounds": [64], **changed})
    row = Row("unscale", "unscale", 1, 90, Resources(32, 0, 0, 256), counts)
    return model.predicted(CASE, row, GPU)


class Model(unittest.TestCase):
    """The least of the rates, and the shares of committed runs."""

    def test_the_name_is_that_of_the_limit(self):
        self.assertEqual(share()[1], "memory")
        self.assertEqual(share(slots=1000)[1], "instructions")
        self.assertEqual(share(f64=500)[1], "f64")
        self.assertEqual(share(rounds=[1] * 20)[1], "latency")

    def test_a_share_is_of_memory_and_falls_with_instructions(self):
        well, badly = share()[0], share(slots=1000)[0]
        self.assertTrue(0.88 < well < model.READS, well)
        self.assertAlmostEqual(badly, 4 * 64 * 32 / 1000 / GPU.clocked(GPU.memory), delta=0.05)

    def test_the_largest_size_of_a_run_on_the_gpu_is_measured(self):
        rows = [
            {"name": "check and unscale", "dtype": "f32", "elements": size, "tensors": count, "queued": {"gbs": rate}}
            for size, count, rate in ((1, 1, 9.0), (8, 1, 3015.0), (8, 1000, 8.0))
        ]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "a-run"
            place.mkdir()
            page = {"meta": {"device": "NVIDIA H100 80GB HBM3"}, "rows": rows}
            (place / "kernels.json").write_text(json.dumps(page))
            both = [model.measured(CASE, gpu, Path(folder)) for gpu in model.GPUS[:2]]
        self.assertEqual(both, ["90%", ""])
