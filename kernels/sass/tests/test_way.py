"""Tests of loops, ways through them and steps from lane to lane, on small texts."""

import unittest

import counts
import hot
import way
from listing import instruction


def entry(text):
    """Returns the entry of lines such as `@P0 BRA L1` and labels such as `L1:`, which stands for `.L_x_1`."""
    code, labels = [], {}
    for line in text.strip().splitlines():
        line = line.strip()
        if line.endswith(":"):
            labels[".L_x_" + line[1:-1]] = len(code)
        else:
            words = line.split(" ")
            if "BRA" in words:
                words[-1] = f"`(.L_x_{words[-1][1:]})"
            code.append(instruction(f"/*{16 * len(code):04x}*/ {' '.join(words)} ;"))
    return way.Entry.of(code, labels)


def counted(text):
    """Returns the counts of the widest way of the only hot loop of a text."""
    found = entry(text)
    (ways,) = hot.hot(found)
    return counts.count(found, way.widest(ways))


# A lane has 32 bytes; the branch leads to eight loads of one element each.
GROUPS = """
    S2R R0, SR_TID.X
    IMAD.SHL.U32 R0, R0, 0x8, RZ
L1:
    IMAD.WIDE.U32 R2, R0, 0x4, c[0x0][0x160]
    LDG.E.64 R20, [UR4]
    LOP3.LUT P0, RZ, R2, 0xf, RZ, 0xc0, !PT
    @P0 BRA L2
    LDG.E.128 R4, [R2.64]
    LDG.E.128 R8, [R2.64+0x10]
    BRA L3
L2:
    @!P3 LDG.E R4, [R2.64]
    @!P3 LDG.E R5, [R2.64+0x4]
L3:
    FADD R12, R4, R9
    IADD3 R0, R0, 0x800, RZ
    ISETP.GE.AND P1, PT, R0, c[0x0][0x170], PT
    @!P1 BRA L1
    EXIT
"""


class Ways(unittest.TestCase):
    def test_the_aligned_path_is_that_with_accesses_of_16_bytes_and_fields_of_rows_do_not_count(self):
        found = counted(GROUPS)
        self.assertEqual((found.loads, found.scalar, found.unknown), ({128: 2}, 0, 0))
        self.assertEqual(found.slots, 11)
        self.assertEqual(float(found.read_ratio), 2)
        self.assertEqual(found.rounds, [32])

    def test_a_load_that_is_used_before_the_next_is_asked_for_ends_a_round(self):
        between = GROUPS.replace("    LDG.E.128 R8", "    FADD R16, R4, R5\n    LDG.E.128 R8")
        self.assertEqual(counted(between).rounds, [16, 16])

    def test_a_predicate_has_one_value_on_a_way_until_it_is_written_again(self):
        twice = GROUPS.replace("LDG.E.128 R4, [R2.64]", "@P2 LDG.E.128 R4, [R2.64]").replace(
            "    LDG.E.128 R8, [R2.64+0x10]", "    @!P2 LDG.E.128 R8, [R2.64+0x10]"
        )
        self.assertEqual(counted(twice).loads, {128: 1})
        again = twice.replace("    @!P2", "    ISETP.NE.AND P2, PT, R20, RZ, PT\n    @!P2")
        self.assertEqual(counted(again).loads, {128: 2})

    def test_a_narrow_store_behind_a_guard_counts_as_run(self):
        planted = GROUPS.replace("    FADD R12", "    @P4 STG.E [R2.64], R4\n    FADD R12")
        self.assertEqual((counted(planted).stores, counted(planted).scalar), ({32: 1}, 1))

    def test_a_call_is_a_slow_path(self):
        eight = "    FADD R1, R1, R1\n" * 8
        either = f"    @P5 BRA L4\n    CALL.REL.NOINC `(slow)\n    BRA L5\nL4:\n{eight}L5:\n    FADD R12"
        slow = GROUPS.replace("    FADD R12", either)
        self.assertEqual(counted(slow).slots, 11 + 1 + 8)

    def test_sectors_follow_from_the_step_and_the_size(self):
        self.assertEqual(counts.sectors(16, 16), 16)
        self.assertEqual(counts.sectors(32, 16), 32)
        self.assertEqual(counts.sectors(2, 2), 2)
        self.assertEqual(counts.sectors(0, 16), 1)

    def test_a_step_that_is_not_known_is_told(self):
        far = GROUPS.replace("R2, R0, 0x4,", "R2, R0, R30,").replace("SR_TID.X", "SR_TID.X\n    MUFU.RCP R30, R0")
        self.assertEqual(counted(far).unknown, 2)

    def test_an_entry_without_loops_is_one_way(self):
        flat = counted("S2R R0, SR_TID.X\nIMAD.WIDE.U32 R2, R0, 0x10, c[0x0][0x160]\nLDG.E.128 R4, [R2.64]\nSTG.E.128 [R2.64], R4\nEXIT")
        self.assertEqual((flat.wide_loads, flat.wide_stores, flat.slots), (1, 1, 5))
        self.assertEqual((float(flat.read_ratio), flat.slots_for_16), (1, 2.5))

    def test_a_call_of_a_place_in_the_same_entry_is_a_branch(self):
        far = GROUPS.replace("    @!P1 BRA L1\n", "    @P1 CALL.REL.NOINC `(.L_x_9)\n    BRA L1\nL9:\n")
        self.assertEqual((counted(far).loads, counted(far).slots), ({128: 2}, 12))
