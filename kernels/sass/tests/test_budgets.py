"""Tests of budgets' lines and of the log of ptxas."""

import tempfile
import unittest
from pathlib import Path

import budgets
import resources

LOG = """\
ptxas info    : Compiling entry function 'adam' for 'sm_90'
ptxas info    : Function properties for adam
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 88 registers, used 1 barriers, 64 bytes smem
ptxas info    : Compiling entry function 'nothing' for 'sm_90'
ptxas info    : Function properties for nothing
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
"""
PTX = ".visible .entry adam(\n.param .u64 a\n)\n.maxntid 256\n{\n}\n.visible .entry nothing()\n{\n}\n"


class Budgets(unittest.TestCase):
    def test_a_line_that_is_no_budget_is_refused_with_what_it_should_be(self):
        for line in ("// sass: adam loads", "// sass: adam lods 2", "// sass: adam loads two"):
            with self.assertRaisesRegex(budgets.Malformed, "adam.cu:9: write"):
                budgets.budget(line, "adam.cu:9")
        with self.assertRaisesRegex(budgets.Malformed, "why"):
            budgets.budget("// sass: adam scalar 2", "adam.cu:9")
        self.assertEqual(budgets.budget("// sass: adam scalar 2; a reason", "adam.cu:9").numbers, {"scalar": 2})

    def test_budgets_stand_behind_all_else(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "adam.cu"
            path.write_text("int x;\n// sass: adam loads 2\n// sass: adam stores 2\n")
            self.assertEqual(len(budgets.read(path)), 2)
            path.write_text("// sass: adam loads 2\nint x;\n")
            with self.assertRaisesRegex(budgets.Malformed, "adam.cu:1: budgets stand at the end"):
                budgets.read(path)

    def test_a_budget_of_no_entry_is_told(self):
        line = budgets.budget("// sass: adan loads 2", "adam.cu:9")
        self.assertEqual(list(budgets.broken([], [line])), ["adam.cu:9: no entry is called adan"])

    def test_registers_spills_threads_and_resident_blocks_are_read(self):
        found = resources.read(LOG, PTX)
        adam, nothing = found["adam"], found["nothing"]
        self.assertEqual((adam.registers, adam.shared, adam.spills, adam.threads), (88, 64, 20, 256))
        self.assertEqual((adam.blocks(90), nothing.blocks(90)), (2, None))
        self.assertEqual(resources.Resources(32, 0, 0, 256).blocks(89), 6)
        self.assertEqual(resources.Resources(250, 0, 0, 256).blocks(90, 98304), 1)
