//! Forms of jumps, barriers, exchanges among lanes, and asynchronous copies.

use super::{
    Class::W32,
    Kind::{Exactly, From, Label, Memory, Number, To, ToMaybeAlso},
    Op, Shuffle, Space, Table, Together,
};
use crate::module::Capability;

pub(super) fn add(table: &mut Table) {
    // The suffix promises that all lanes go the same way; the interpreter does not rely on it.
    for name in ["bra", "bra.uni"] {
        table.form(name, vec![Label], Op::Branch);
    }
    for (name, op) in [("ret", Op::Return), ("exit", Op::Return), ("trap", Op::Trap)] {
        table.form(name, vec![], op);
    }
    // Barrier 0 is that of `__syncthreads`. The other fifteen are not supported, and are refused.
    table.form("bar.sync", vec![Exactly(0)], Op::Barrier);
    table.form("bar.warp.sync", vec![From(W32)], Op::Together(Together::Barrier));
    table.form("membar.gl", vec![], Op::Fence);
    for (name, how) in [("down", Shuffle::Down), ("bfly", Shuffle::Butterfly)] {
        // Result and the predicate of a source inside the segment; value; lane or distance; clamp; mask.
        let operands = vec![ToMaybeAlso(W32), From(W32), From(W32), From(W32), From(W32)];
        table.form(format!("shfl.sync.{name}.b32"), operands, Op::Together(Together::Shuffle(how)));
    }
    let operands = vec![To(W32), From(W32), From(W32)];
    table.form("match.any.sync.b32", operands, Op::Together(Together::Match));
    // Copies of so many bytes, whose cache does not show. A last operand is the number of bytes to read; zeros fill the rest.
    for (name, bytes) in [("cg", 16), ("ca", 4), ("ca", 8), ("ca", 16)] {
        let whole = vec![Memory(Space::Shared), Memory(Space::Global), Exactly(bytes)];
        let part = [&whole[..], &[From(W32)]].concat();
        for operands in [whole, part] {
            let name = format!("cp.async.{name}.shared.global");
            table.form(name, operands, Op::CopyAsync).since = Capability::SM_80;
        }
    }
    table.form("cp.async.commit_group", vec![], Op::CopyCommit).since = Capability::SM_80;
    table.form("cp.async.wait_group", vec![Number], Op::CopyWait).since = Capability::SM_80;
}
