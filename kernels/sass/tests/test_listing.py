"""Tests of lines of nvdisasm, for several architectures."""

import unittest

from listing import entries, half_pair, instruction

TEXT = """
//--------------------- .text.first                --------------------------
        .section        .text.first,"ax",@progbits
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_3:
        /*0010*/              @!P0 BRA P1, `(.L_x_3) ;
        /*0020*/                   BRX R2 -0x5c30   (*"BRANCH_TARGETS .L_x_3,.L_x_4"*);
.L_x_4:
        /*0030*/                   EXIT ;
//--------------------- .nv.constant0.first  --------------------------
"""


def of(line):
    """Returns the instruction of a line, at address 0."""
    return instruction(f"        /*0000*/                   {line} ;")


class Listing(unittest.TestCase):
    def test_entries_have_their_instructions_labels_and_targets(self):
        code, labels = entries(TEXT)["first"]
        self.assertEqual([it.opcode for it in code], ["LDC", "BRA", "BRX", "EXIT"])
        self.assertEqual(labels, {".L_x_3": 1, ".L_x_4": 3})
        self.assertEqual(code[1].guard, "!P0")
        self.assertEqual(code[1].targets, (".L_x_3",))
        self.assertEqual(code[2].targets, (".L_x_3", ".L_x_4"))

    def test_loads_and_stores_of_each_architecture_have_width_address_and_registers(self):
        for line in ("LDG.E.128.SYS R4, [R2+0x10]", "LDG.E.128 R4, [R2.64+0x10]", "LDG.E.128 R4, desc[UR12][R2.64+0x10]"):
            it = of(line)
            self.assertEqual((it.base, it.width, it.address_register), ("LDG", 128, "R2"))
            self.assertEqual(it.group, ["R4", "R5", "R6", "R7"])
        it = of("STG.E.64 desc[UR4][R6.64], R12")
        self.assertEqual((it.width, it.address_register, it.group, it.results), (64, "R6", ["R12", "R13"], []))
        self.assertEqual(of("LD.E.U16 R2, desc[UR12][R2.64]").width, 16)
        it = of("LDGSTS.E.BYPASS.LTC128B.128.ZFILL [R9+0x800], desc[UR8][R2.64], P1")
        self.assertEqual((it.width, it.address_register, it.results), (128, "R2", []))
        self.assertIsNone(of("LDG.E.SYS R0, [UR4]").address_register)

    def test_results_are_told_from_sources(self):
        cases = [
            ("ISETP.GE.U32.AND P0, PT, R3, 0x2, PT", ["P0"], ["R3"]),
            ("IADD3 R3, P1, -R8, UR6, RZ", ["R3", "P1"], ["P1", "R8", "UR6"]),
            ("IADD3.X R0, ~R9, UR7, RZ, P1, !PT", ["R0"], ["R9", "UR7", "P1"]),
            ("SEL R7, R9, R7, !P0", ["R7"], ["R9", "R7", "P0"]),
            ("LOP3.LUT P0, R5, R3, R2, RZ, 0xfc, !PT", ["P0", "R5"], ["R3", "R2"]),
            ("ATOMG.E.INC.STRONG.GPU PT, R3, desc[UR4][R4.64], R5", ["R3"], ["UR4", "R4", "R5"]),
        ]
        for line, results, sources in cases:
            it = of(line)
            self.assertEqual(it.results, results, line)
            self.assertEqual([name for name in it.sources if name not in results or name == "R7" or name == "P1"], sources, line)

    def test_small_integers_that_are_written_as_a_pair_of_f16_are_read(self):
        self.assertEqual(half_pair("0", "2.384185791015625e-07"), 4)
        self.assertEqual(half_pair("1.875", "0"), 0x3F800000)
