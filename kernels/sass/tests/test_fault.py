"""Test of a planted fault: a kernel keeps its budget, and exceeds it with its store of 16 bytes replaced by four."""

import tempfile
import unittest
from pathlib import Path

import budgets
import measure
import table

PTX = Path(__file__).with_name("copy.ptx").read_text()
WIDE = "st.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7};"
NARROW = " ".join(f"st.global.b32 [%rd5+{4 * k}], %r{k + 4};" for k in range(4))
BUDGET = budgets.budget("// sass: copy loads 1 stores 1 slots 16", "copy.cu:1")


def rows(ptx, arch):
    """Returns the rows of the only entry of `ptx`, as `cargo xtask sass` makes them."""
    with tempfile.TemporaryDirectory() as folder:
        return measure.rows({"copy": ptx}, [arch], [], Path(folder))


class Fault(unittest.TestCase):
    def test_a_store_that_is_made_in_four_parts_breaks_the_budget_on_every_architecture(self):
        self.assertIn(WIDE, PTX)
        for arch in (75, 80, 90, 120):
            self.assertEqual(list(budgets.broken(rows(PTX, arch), [BUDGET])), [])
            found = rows(PTX.replace(WIDE, NARROW), arch)
            (row,) = found
            self.assertEqual((row.counts.stores, row.counts.scalar), ({32: 4}, 4))
            self.assertEqual(float(row.counts.write_ratio), 4)
            faults = "\n".join(budgets.broken(found, [BUDGET]))
            self.assertIn("scalar 4, budget 0", faults)
            self.assertIn("written 4, budget 1.05", faults)
            self.assertIn("no loop has 1 loads, 1 stores of 16 bytes", faults)

    def test_lines_of_a_kernel_are_kept_by_it(self):
        found = rows(PTX, 90)
        lines = list(budgets.lines(found))
        self.assertEqual(len(lines), 1)
        self.assertEqual(list(budgets.broken(found, [budgets.budget(lines[0], "copy.cu:1")])), [])

    def test_every_row_has_a_value_in_every_column_and_the_table_says_what_it_is(self):
        text = table.markdown(rows(PTX, 90))
        for name, _ in table.COLUMNS:
            self.assertIn(f"| {name.split(' ')[0]}", text)
        self.assertIn("| copy | 1 | 9.0 |", text)
