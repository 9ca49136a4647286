//! Memory of other programs as tensors: order of streams, lifetimes, refusals.

use crate::{
    captures::why,
    model::{Model, say},
    support::{Grads, Result, captured, found, noise, own, vector, warmed},
};
use binade_core::ops::{Add, Download};
use binade_core::{DType, Named};
use binade_cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use binade_cuda::{AdoptError, CaptureError, Cuda, CudaError, Error, ReferencePass, Tensor};
use binade_grad_scaler::GradOps;
use binade_master_weights::{MasterOptimizer, MasterWeights, OptimizerConfig, UpdateRule};
use std::borrow::Borrow;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

crate::tests![
    work_on_adopted_memory_is_behind_its_owners_stream,
    an_owners_stream_is_behind_the_work_on_memory_that_comes_back,
    memory_that_is_kept_is_ordered_by_calls,
    an_owner_is_dropped_with_the_last_tensor_and_not_before,
    a_slice_that_is_too_short_is_refused,
    memory_of_another_device_is_refused,
    memory_that_was_adopted_to_be_read_is_not_written_to,
    a_sum_of_adopted_gradients_is_in_memory_of_its_own,
    a_parameter_that_would_leave_its_memory_is_refused,
    a_checkpoint_is_loaded_into_adopted_memory,
    a_captured_step_works_on_adopted_memory,
    a_captured_run_adopts_nothing_and_orders_no_streams,
    a_replay_after_adopted_memory_is_gone_is_refused,
    memory_that_is_dropped_while_another_handle_captures_comes_back_after_it,
    a_tensors_memory_is_lent_and_comes_back_in_order,
];

/// Returns a stream of another program's, with a context object of its own.
pub(crate) fn theirs() -> Result<Arc<CudaStream>> {
    Ok(CudaContext::new(0)?.new_stream()?)
}

/// Returns the reason why an adoption, or an operation on adopted memory, is refused.
pub(crate) fn refusal<T>(result: Result<T, Error>) -> AdoptError {
    match result {
        Err(Error::Driver(CudaError::Adopt { why, .. })) => why,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("this must be refused"),
    }
}

/// Slice with an owner that counts its drops.
pub(crate) struct Counted<T> {
    pub(crate) slice: CudaSlice<T>,
    pub(crate) drops: Arc<AtomicUsize>,
}

impl<T> Borrow<CudaSlice<T>> for Counted<T> {
    fn borrow(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

/// The owner's values come from pinned memory, so that the interpreter has not copied them yet when the tensor is read.
fn work_on_adopted_memory_is_behind_its_owners_stream() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let other = Cuda::on(stream.clone())?;
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 100])?);
    other.write(&other.adopt_mut(slice.clone(), &[100])?, &[2.0; 100])?;
    let before = cuda.counters().syncs;
    let tensor = cuda.adopt(slice, &[10, 10])?;
    let twice = cuda.add(&tensor, &tensor)?;
    assert_eq!(cuda.counters().syncs, before, "nothing waits");
    assert_eq!(cuda.download(&twice)?, [4.0; 100]);
    Ok(())
}

fn an_owners_stream_is_behind_the_work_on_memory_that_comes_back() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 100])?);
    let tensor = cuda.adopt_mut(slice.clone(), &[100])?;
    let before = cuda.counters().syncs;
    cuda.write(&tensor, &[2.0; 100])?;
    drop(tensor);
    assert_eq!(cuda.counters().syncs, before, "nothing waits");
    assert_eq!(stream.clone_dtoh(&*slice)?, [2.0; 100]);
    Ok(())
}

fn memory_that_is_kept_is_ordered_by_calls() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let other = Cuda::on(stream.clone())?;
    let slice = Arc::new(stream.clone_htod(&[0.0_f32; 100])?);
    let (here, there) =
        (cuda.adopt_mut(slice.clone(), &[100])?, other.adopt_mut(slice.clone(), &[100])?);
    for number in [1.0, 3.0] {
        other.write(&there, &[number; 100])?;
        cuda.wait_for(&stream)?;
        let sum = cuda.add(&here, &here)?;
        cuda.write(&here, &[number + 1.0; 100])?;
        cuda.precede(&stream)?;
        assert_eq!(stream.clone_dtoh(&*slice)?, [number + 1.0; 100]);
        assert_eq!(cuda.download(&sum)?, [2.0 * number; 100]);
    }
    Ok(())
}

fn an_owner_is_dropped_with_the_last_tensor_and_not_before() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let drops = Arc::new(AtomicUsize::new(0));
    let dropped = || drops.load(Ordering::Relaxed);
    let slice = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?;
    let before = (cuda.memory_use(), cuda.counters());
    let all = cuda.adopt(Counted { slice, drops: drops.clone() }, &[4])?;
    let part = all.slice(2, 2)?;
    drop(all);
    assert_eq!(dropped(), 0, "a part is alive");
    assert_eq!(cuda.download(&part)?, [3.0, 4.0]);
    drop(part);
    assert_eq!(dropped(), 1);
    assert_eq!(cuda.memory_use(), before.0, "it is no memory of this handle's");
    assert_eq!(cuda.counters().adopted - before.1.adopted, 1);
    let short = Counted { slice: stream.clone_htod(&[1.0_f32])?, drops: drops.clone() };
    assert!(cuda.adopt(short, &[2]).is_err());
    assert_eq!(dropped(), 2, "a refusal drops the owner");
    Ok(())
}

fn a_slice_that_is_too_short_is_refused() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 5])?);
    let short = cuda.adopt(slice.clone(), &[2, 3]).map(drop);
    let (shape, what) = (vec![2, 3], "elements");
    assert_eq!(short, Err(Error::Length { what, found: 5, shape, expected: 6 }));
    assert_eq!(cuda.download(&cuda.adopt(slice, &[2, 2])?)?, [1.0; 4]);
    Ok(())
}

/// Interpreters have two devices here; a machine with one GPU has nothing to refuse.
fn memory_of_another_device_is_refused() -> Result {
    if CudaContext::device_count()? < 2 {
        return Ok(());
    }
    let (cuda, there) = (own(), CudaContext::new(1)?.new_stream()?);
    let slice = there.clone_htod(&[1.0_f32; 5])?;
    let why = AdoptError::Device { found: 1, device: 0 };
    assert_eq!(refusal(cuda.adopt(slice, &[5])), why);
    assert_eq!(refusal(cuda.lend::<f32>(&vector(&cuda, &[1.0], DType::F32), &there)), why);
    Ok(())
}

fn memory_that_was_adopted_to_be_read_is_not_written_to() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 5])?);
    let mut tensor = cuda.adopt(slice.clone(), &[5])?;
    assert_eq!(refusal(cuda.write(&tensor, &[2.0; 5])), AdoptError::ReadOnly);
    assert_eq!(refusal(cuda.write_bits(&tensor, &[0; 20])), AdoptError::ReadOnly);
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    let taken = cuda.masters(&mut vec![Named::new("w", tensor.clone())], &config).map(drop);
    assert_eq!(taken, Err(Error::ReadOnly { name: "w".into() }));
    let params = ["v", "w"].map(|name| Named::new(name, vector(&cuda, &[1.0; 5], DType::F32)));
    let mut optimizer = MasterOptimizer::new(cuda.clone(), Vec::from(params), config)?;
    let saved = optimizer.save()?;
    cuda.write(&optimizer.params[0].value, &[9.0; 5])?;
    optimizer.params[1].value = tensor.clone();
    assert!(optimizer.load(&saved).is_err());
    assert_eq!(cuda.download(&optimizer.params[0].value)?, [9.0; 5], "nothing has moved");
    cuda.reference_pass(ReferencePass::Rewrite(&mut tensor))?;
    assert_eq!(stream.clone_dtoh(&*slice)?, [1.0; 5]);
    Ok(())
}

/// Takes a step of SGD by gradients of 1.
fn step(cuda: &Cuda, params: &mut Vec<Named<Tensor>>, stored: DType) -> Result<(), Error> {
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5)).unwrap().with_storage(stored);
    let mut masters = cuda.masters(params, &config)?;
    let len = params[0].value.len();
    let grads = vec![Named::new("w", Some(vector(cuda, &vec![1.0; len], DType::F32)))];
    cuda.step(params, &mut masters, grads.into(), &found(cuda, 1.0))
}

/// A window's sum begins in the memory of its first micro-batch, unless that is somebody else's.
fn a_sum_of_adopted_gradients_is_in_memory_of_its_own() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 5])?);
    let adopted = || -> Result<Grads<Cuda>> {
        let grad = Some(cuda.adopt(slice.clone(), &[5])?);
        Ok(vec![Named::new("w", grad)].into())
    };
    let fine = found(&cuda, 1.0);
    let sum = cuda.accumulate(Some(adopted()?), adopted()?, &fine)?;
    let grad = sum.as_stored()[0].value.clone().ok_or("no sum")?;
    assert_eq!(cuda.download(&grad)?, [2.0; 5]);
    assert_eq!(stream.clone_dtoh(&*slice)?, [1.0; 5]);
    Ok(())
}

fn a_parameter_that_would_leave_its_memory_is_refused() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 5])?);
    let mut params = vec![Named::new("w", cuda.adopt_mut(slice.clone(), &[5])?)];
    assert_eq!(refusal(step(&cuda, &mut params, DType::F16)), AdoptError::Moved);
    let clone = params[0].value.clone();
    assert_eq!(refusal(step(&cuda, &mut params, DType::F32)), AdoptError::Moved);
    drop(clone);
    assert_eq!(stream.clone_dtoh(&*slice)?, [1.0; 5]);
    step(&cuda, &mut params, DType::F32)?;
    cuda.precede(&stream)?;
    assert_eq!(stream.clone_dtoh(&*slice)?, [0.5; 5]);
    Ok(())
}

fn a_checkpoint_is_loaded_into_adopted_memory() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&noise(1, 100))?);
    let param = Named::new("w", cuda.adopt_mut(slice.clone(), &[100])?);
    let config = OptimizerConfig::new(UpdateRule::adamw(0.1))?;
    let mut optimizer = MasterOptimizer::new(cuda.clone(), vec![param], config)?;
    let (saved, values) = (optimizer.save()?, stream.clone_dtoh(&*slice)?);
    cuda.write(&optimizer.params[0].value, &[9.0; 100])?;
    optimizer.load(&saved)?;
    cuda.precede(&stream)?;
    assert_eq!(stream.clone_dtoh(&*slice)?, values);
    assert_eq!(cuda.counters().copies, 1);
    Ok(())
}

/// A model whose parameters lie in a stranger's memory: its tensors are those of `Model::new` by bits.
fn strangers_model(stream: &Arc<CudaStream>) -> Result<(Model, Vec<Arc<CudaSlice<f32>>>)> {
    let mut model = Model::new(&own(), crate::captures::config(), DType::F32)?;
    let mut slices = Vec::new();
    for param in &mut model.optimizer.params {
        let slice = Arc::new(stream.clone_htod(&model.cuda.download(&param.value)?)?);
        param.value = model.cuda.adopt_mut(slice.clone(), param.value.shape())?;
        slices.push(slice);
    }
    Ok((model, slices))
}

fn a_captured_step_works_on_adopted_memory() -> Result {
    let stream = theirs()?;
    let (mut adopted, slices) = strangers_model(&stream)?;
    let mut ordinary = Model::new(&own(), crate::captures::config(), DType::F32)?;
    let (graph, said) = adopted.captured(Model::step)?;
    let mut wanted = Vec::new();
    for number in 0..5 {
        ordinary.write(number)?;
        wanted.push(say(&ordinary.step()?.resolve()?));
    }
    assert_eq!(said, wanted[..2]);
    for (number, want) in (2..5).zip(&wanted[2..]) {
        adopted.write(number)?;
        adopted.cuda.wait_for(&stream)?;
        assert_eq!(say(&graph.replay()?.resolve()?), *want);
        adopted.cuda.precede(&stream)?;
    }
    for (slice, want) in slices.iter().zip(&ordinary.optimizer.params) {
        let got = stream.clone_dtoh(&**slice)?;
        assert!(got == ordinary.cuda.download(&want.value)?, "{}", want.name);
    }
    Ok(())
}

fn a_captured_run_adopts_nothing_and_orders_no_streams() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let (x, slice) = (vector(&cuda, &noise(1, 100), DType::F32), stream.clone_htod(&[1.0_f32; 5])?);
    let slice = Arc::new(slice);
    let step = || cuda.add(&x, &x).map(drop);
    let refused = |also: &dyn Fn() -> Result<(), Error>| -> Result<_> {
        Ok(why(warmed(&cuda, step)?.capture(also)))
    };
    let order = ("order another stream", CaptureError::OtherStream);
    let adopt = refused(&|| cuda.adopt(slice.clone(), &[5]).map(drop))?;
    assert_eq!(adopt, ("adopt", CaptureError::OtherStream));
    assert_eq!(refused(&|| cuda.wait_for(&stream))?, order);
    assert_eq!(refused(&|| cuda.precede(&stream))?, order);
    let lend = ("lend", CaptureError::OtherStream);
    for to in [&stream, cuda.stream()] {
        assert_eq!(refused(&|| cuda.lend::<f32>(&x, to).map(drop))?, lend);
    }
    Ok(())
}

fn a_replay_after_adopted_memory_is_gone_is_refused() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let drops = Arc::new(AtomicUsize::new(0));
    let slice = stream.clone_htod(&noise(1, 100))?;
    let x = cuda.adopt(Counted { slice, drops: drops.clone() }, &[100])?;
    let graph = captured(&cuda, || cuda.add(&x, &x))?;
    drop(graph.replay()?);
    drop(x);
    assert_eq!(drops.load(Ordering::Relaxed), 0, "the graph has its address");
    assert_eq!(why(graph.replay().map(drop)), ("replay", CaptureError::Stale));
    drop(graph);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    Ok(())
}

/// The event behind the work on the memory would be recorded by the capture, which knows nothing of the memory.
fn memory_that_is_dropped_while_another_handle_captures_comes_back_after_it() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let other = Cuda::on(cuda.stream().clone())?;
    let drops = Arc::new(AtomicUsize::new(0));
    let slice = stream.clone_htod(&[1.0_f32; 5])?;
    let mut tensor = Some(other.adopt(Counted { slice, drops: drops.clone() }, &[5])?);
    let x = vector(&cuda, &noise(1, 100), DType::F32);
    let mut dropped = Vec::new();
    let step = || cuda.add(&x, &x).map(drop);
    let capture = warmed(&cuda, step)?;
    let graph = capture.capture(|| {
        tensor = None;
        dropped.push(drops.load(Ordering::Relaxed));
        step()
    })?;
    assert_eq!((dropped, drops.load(Ordering::Relaxed)), (vec![0], 1));
    graph.replay()?;
    Ok(())
}

fn a_tensors_memory_is_lent_and_comes_back_in_order() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let tensor = vector(&cuda, &[0.0; 100], DType::F32);
    cuda.write(&tensor, &[2.0; 100])?;
    let (before, part) = (cuda.counters().syncs, tensor.slice(40, 10)?);
    let loan = cuda.lend::<f32>(&part, &stream)?;
    assert_eq!(stream.clone_dtoh(&*loan)?, [2.0; 10]);
    let (other, late) = (Cuda::on(stream.clone())?, Arc::new(stream.clone_htod(&[0.0_f32; 10])?));
    let (here, there) = (cuda.adopt(late.clone(), &[10])?, other.adopt_mut(late, &[10])?);
    other.write(&there, &[1.0; 10])?;
    drop(loan);
    // Work from here on waits for the borrower's stream as it was then.
    let sum = cuda.add(&here, &here)?;
    assert_eq!(cuda.counters().syncs, before, "nothing waits");
    assert_eq!(cuda.download(&sum)?, [2.0; 10]);
    let asked = refusal(cuda.lend::<half::f16>(&tensor, &stream));
    assert_eq!(asked, AdoptError::DType { found: DType::F32, asked: DType::F16 });
    assert!(matches!(other.lend::<f32>(&tensor, &stream), Err(Error::Foreign)));
    Ok(())
}
