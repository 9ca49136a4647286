//! Forms of jumps, barriers, exchanges among lanes, and asynchronous copies.

use super::{
    Class::{Predicate, W32, W64},
    Form,
    Kind::{self, Exactly, From, Label, Memory, Number, To, ToMaybeAlso},
    Op, Shuffle, Space, Together, Vote,
};
use crate::module::Capability;

/// Operands of a shuffle: result and the predicate of a source inside the segment; value; lane or distance; clamp; mask.
const SHUFFLE: &[Kind] = &[ToMaybeAlso(W32), From(W32), From(W32), From(W32), From(W32)];
/// Operands of a vote: result, predicate, mask.
const VOTE: &[Kind] = &[To(Predicate), From(Predicate), From(W32)];
const REDUCE: &[Kind] = &[To(W32), From(W32), From(W32)];

const fn shuffle(how: Shuffle) -> Op {
    Op::Together(Together::Shuffle(how))
}

const fn vote(what: Vote) -> Op {
    Op::Together(Together::Vote(what))
}

const fn reduce(name: &'static str, f: fn(u64, u64) -> u64) -> Form {
    Form::new(name, REDUCE, Op::Together(Together::Reduce(f))).since(Capability::SM_80)
}

pub(super) const FORMS: &[Form] = &[
    Form::new("bra", &[Label], Op::Branch),
    // The suffix promises that all lanes go the same way; the interpreter does not rely on it.
    Form::new("bra.uni", &[Label], Op::Branch),
    Form::new("ret", &[], Op::Return),
    Form::new("exit", &[], Op::Return),
    Form::new("trap", &[], Op::Trap),
    // Barrier 0 is that of `__syncthreads`. The other fifteen are not told apart here, and are refused.
    Form::new("bar.sync", &[Exactly(0)], Op::Barrier),
    Form::new("barrier.sync", &[Exactly(0)], Op::Barrier),
    Form::new("barrier.sync.aligned", &[Exactly(0)], Op::Barrier),
    Form::new("bar.warp.sync", &[From(W32)], Op::Together(Together::Barrier)),
    Form::new("membar.cta", &[], Op::Fence),
    Form::new("membar.gl", &[], Op::Fence),
    Form::new("membar.sys", &[], Op::Fence),
    Form::new("fence.acq_rel.cta", &[], Op::Fence),
    Form::new("fence.acq_rel.gpu", &[], Op::Fence),
    Form::new("fence.acq_rel.sys", &[], Op::Fence),
    Form::new("fence.sc.cta", &[], Op::Fence),
    Form::new("fence.sc.gpu", &[], Op::Fence),
    Form::new("fence.sc.sys", &[], Op::Fence),
    Form::new("activemask.b32", &[To(W32)], Op::ActiveMask),
    Form::new("shfl.sync.up.b32", SHUFFLE, shuffle(Shuffle::Up)),
    Form::new("shfl.sync.down.b32", SHUFFLE, shuffle(Shuffle::Down)),
    Form::new("shfl.sync.bfly.b32", SHUFFLE, shuffle(Shuffle::Butterfly)),
    Form::new("shfl.sync.idx.b32", SHUFFLE, shuffle(Shuffle::Index)),
    Form::new("vote.sync.all.pred", VOTE, vote(Vote::All)),
    Form::new("vote.sync.any.pred", VOTE, vote(Vote::Any)),
    Form::new("vote.sync.uni.pred", VOTE, vote(Vote::Uniform)),
    Form::new("vote.sync.ballot.b32", &[To(W32), From(Predicate), From(W32)], vote(Vote::Ballot)),
    Form::new("match.any.sync.b32", REDUCE, vote(Vote::Match)),
    Form::new("match.any.sync.b64", &[To(W32), From(W64), From(W32)], vote(Vote::Match)),
    reduce("redux.sync.add.u32", |a, b| a.wrapping_add(b) & 0xffff_ffff),
    reduce("redux.sync.add.s32", |a, b| a.wrapping_add(b) & 0xffff_ffff),
    reduce("redux.sync.min.u32", Ord::min),
    reduce("redux.sync.max.u32", Ord::max),
    reduce("redux.sync.min.s32", |a, b| if flipped(a) < flipped(b) { a } else { b }),
    reduce("redux.sync.max.s32", |a, b| if flipped(a) > flipped(b) { a } else { b }),
    reduce("redux.sync.and.b32", |a, b| a & b),
    reduce("redux.sync.or.b32", |a, b| a | b),
    reduce("redux.sync.xor.b32", |a, b| a ^ b),
    copy("cp.async.cg.shared.global", &[TO, FROM, Exactly(16)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(4)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(8)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(16)]),
    // The last operand is the number of bytes to read; zeros fill the rest.
    copy("cp.async.cg.shared.global", &[TO, FROM, Exactly(16), From(W32)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(4), From(W32)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(8), From(W32)]),
    copy("cp.async.ca.shared.global", &[TO, FROM, Exactly(16), From(W32)]),
    Form::new("cp.async.commit_group", &[], Op::CopyCommit).since(Capability::SM_80),
    Form::new("cp.async.wait_group", &[Number], Op::CopyWait).since(Capability::SM_80),
];

const TO: Kind = Memory(Space::Shared);
const FROM: Kind = Memory(Space::Global);

/// Form of `cp.async`. The cache that it passes does not show.
const fn copy(name: &'static str, operands: &'static [Kind]) -> Form {
    Form::new(name, operands, Op::CopyAsync).since(Capability::SM_80)
}

/// Maps signed words to unsigned ones of the same order.
fn flipped(word: u64) -> u64 {
    word ^ 0x8000_0000
}
