//! Jumps, barriers, shuffles, and waiting for copies.

use super::{
    Class::W32,
    Form,
    Kind::{Exactly, From, Label, Memory, Number, ToMaybeAlso},
    Op, Shuffle, Space,
};
use crate::module::Capability;

/// Result and whether the source lane was in the segment, value, lane or distance, clamp, lanes that take part.
const SHUFFLE: &[super::Kind] = &[ToMaybeAlso(W32), From(W32), From(W32), From(W32), From(W32)];

pub(super) const FORMS: &[Form] = &[
    Form::new("bra", &[Label], Op::Branch),
    // The suffix promises that all lanes go the same way; nothing hangs on it here.
    Form::new("bra.uni", &[Label], Op::Branch),
    Form::new("ret", &[], Op::Return),
    // Barrier 0 is the one that `__syncthreads` waits at; the other fifteen are not told apart here, and refused.
    Form::new("bar.sync", &[Exactly(0)], Op::Barrier),
    Form::new("shfl.sync.up.b32", SHUFFLE, Op::Shuffle(Shuffle::Up)),
    Form::new("shfl.sync.down.b32", SHUFFLE, Op::Shuffle(Shuffle::Down)),
    Form::new("shfl.sync.bfly.b32", SHUFFLE, Op::Shuffle(Shuffle::Butterfly)),
    Form::new("shfl.sync.idx.b32", SHUFFLE, Op::Shuffle(Shuffle::Index)),
    Form::new(
        "cp.async.cg.shared.global",
        &[Memory(Space::Shared), Memory(Space::Global), Exactly(16)],
        Op::CopyAsync,
    )
    .since(Capability::SM_80),
    Form::new("cp.async.commit_group", &[], Op::CopyCommit).since(Capability::SM_80),
    Form::new("cp.async.wait_group", &[Number], Op::CopyWait).since(Capability::SM_80),
];
