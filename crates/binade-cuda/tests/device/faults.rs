//! Indices out of range: NaN on the device, an error at the host's next read, and no read before it.

use crate::support::{Device, Result, kind, noise, own, set, vector};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_cuda::{Captured, Cuda, Error, Found, Scale, Tensor};
use binade_grad_scaler::{GradScaler, LossScale, ScaleState, ScaleStore};
use binade_ops::{CrossEntropy, Download, Embedding, Upload};

crate::tests![
    a_bad_index_is_told_once_by_the_next_download_in_the_cpus_words,
    the_first_launch_and_its_lowest_position_are_told,
    the_gradient_passes_over_bad_indices_and_tells_them,
    the_gradient_passes_over_hundreds_of_bad_indices,
    a_table_of_nothing_has_no_right_index,
    a_steps_report_tells_a_bad_index_and_those_sent_with_it_do_not_tell_it_again,
    the_scale_and_findings_that_nobody_reported_tell_a_bad_index,
    a_bad_index_is_left_without_the_host_waiting,
    of_several_bad_indices_in_a_replay_the_first_of_the_step_is_told,
    of_several_bad_indices_in_replays_and_between_them_the_first_is_told,
];

const ROWS: usize = 10;
const WIDTH: usize = 5;

fn table<D: Upload>(device: &D) -> Result<D::Tensor, D::Error> {
    device.upload(&noise(1, ROWS * WIDTH), &[ROWS, WIDTH], DType::F32)
}

/// Returns rows of the table by these indices.
fn rows(device: &Cuda, indices: &[i64]) -> Result<Tensor, Error> {
    device.embedding(&table(device)?, &device.upload_i64(indices, &[indices.len()])?)
}

fn refused<T>(result: Result<T, Error>) -> String {
    let error = result.err().expect("this must be refused");
    assert_eq!(kind::<T, _>(Err(error.clone())), ErrorKind::InvalidArgument);
    error.to_string()
}

fn a_bad_index_is_told_once_by_the_next_download_in_the_cpus_words() -> Result {
    let device = own();
    for bad in [-1, 10, i64::MIN, i64::MAX] {
        let indices = [3, bad, 9];
        let want = Cpu.embedding(&table(&Cpu)?, &Cpu.upload_i64(&indices, &[3])?).unwrap_err();
        let got = rows(&device, &indices)?;
        let other = vector(&device, &[1.0], DType::F32);
        assert_eq!(refused(device.download(&other)), want.to_string());
        let values = device.download(&got)?;
        let whole = noise(1, ROWS * WIDTH);
        assert_eq!(values[..WIDTH], whole[3 * WIDTH..4 * WIDTH]);
        assert!(values[WIDTH..2 * WIDTH].iter().all(|x| x.is_nan()));
        assert_eq!(values[2 * WIDTH..], whole[9 * WIDTH..]);
        // The next call is as if there had been no fault.
        assert_eq!(device.download(&rows(&device, &[0])?)?, whole[..WIDTH]);
    }
    Ok(())
}

fn the_first_launch_and_its_lowest_position_are_told() -> Result {
    let device = own();
    let mut indices = vec![1; 5000];
    for position in [4999, 7, 2500] {
        indices[position] = 100 + i64::try_from(position)?;
    }
    rows(&device, &indices)?;
    let later = rows(&device, &[-5])?;
    let want = "embedding: index 107 at position 7; expected 0 ≤ index < 10";
    assert_eq!(refused(device.to_bits(&later)), want);
    device.to_bits(&later)?;
    Ok(())
}

fn the_gradient_passes_over_bad_indices_and_tells_them() -> Result {
    let device = own();
    let grad = device.upload(&noise(2, 3 * WIDTH), &[3, WIDTH], DType::F32)?;
    let indices = device.upload_i64(&[2, 10, 0], &[3])?;
    let got = device.embedding_backward(&grad, &indices, ROWS)?;
    let want = "embedding: index 10 at position 1; expected 0 ≤ index < 10";
    assert_eq!(refused(device.download(&got)), want);
    let mut table = vec![0.0; ROWS * WIDTH];
    table[2 * WIDTH..3 * WIDTH].copy_from_slice(&noise(2, 3 * WIDTH)[..WIDTH]);
    table[..WIDTH].copy_from_slice(&noise(2, 3 * WIDTH)[2 * WIDTH..]);
    assert_eq!(device.download(&got)?, table);
    Ok(())
}

fn the_gradient_passes_over_hundreds_of_bad_indices() -> Result {
    let device = own();
    // Good indices are too many for the path of short rows, and as many are bad.
    let bad = [-1, 10, i64::MIN, i64::MAX];
    let indices: Vec<i64> = (0..600).map(|i| if i % 2 == 1 { 4 } else { bad[i / 2 % 4] }).collect();
    let grad = noise(3, 600 * WIDTH);
    let there = device.upload(&grad, &[600, WIDTH], DType::F32)?;
    let got = device.embedding_backward(&there, &device.upload_i64(&indices, &[600])?, ROWS)?;
    let want = "embedding: index -1 at position 0; expected 0 ≤ index < 10";
    assert_eq!(refused(device.download(&got)), want);
    let mut table = vec![0.0; ROWS * WIDTH];
    for right in grad.chunks_exact(WIDTH).skip(1).step_by(2) {
        table[4 * WIDTH..].iter_mut().zip(right).for_each(|(sum, g)| *sum += g);
    }
    assert_eq!(device.download(&got)?, table);
    Ok(())
}

fn a_table_of_nothing_has_no_right_index() -> Result {
    let device = own();
    let indices = device.upload_i64(&[0], &[1])?;
    let one = vector(&device, &[1.0], DType::F32);
    let want = "embedding: index 0 at position 0; expected 0 ≤ index < 0";
    device.embedding(&device.upload(&[], &[0, 3], DType::F32)?, &indices)?;
    assert_eq!(refused(device.download(&one)), want);
    device.embedding_backward(&device.upload(&[1.0; 3], &[1, 3], DType::F32)?, &indices, 0)?;
    assert_eq!(refused(device.download(&one)), want);
    // A table of rows without elements has no eleventh row either.
    let indices = device.upload_i64(&[10], &[1])?;
    device.embedding(&device.upload(&[], &[10, 0], DType::F32)?, &indices)?;
    refused(device.download(&one));
    device.embedding_backward(&device.upload(&[], &[1, 0], DType::F32)?, &indices, 10)?;
    refused(device.download(&one));
    device.download(&one)?;
    Ok(())
}

/// Makes a step's finding and scale, whose report is on its way.
fn step(device: &Cuda) -> Result<(Found, Scale)> {
    let mut scale = device.upload_state(ScaleState::from_exponent(4))?;
    let mut grads = set(device, &[("w", Some(vec![1.0]))], DType::F16);
    let found = device.unscale(&mut grads, &scale)?;
    device.update(&mut scale, &[&found], &[], &LossScale::dynamic())?;
    Ok((found, scale))
}

fn a_steps_report_tells_a_bad_index_and_those_sent_with_it_do_not_tell_it_again() -> Result {
    let device = own();
    let before = step(&device)?;
    rows(&device, &[4, 11])?;
    let (first, second) = (step(&device)?, step(&device)?);
    device.read(&[&before.0], &before.1)?;
    let want = "embedding: index 11 at position 1; expected 0 ≤ index < 10";
    assert_eq!(refused(device.read(&[&first.0], &first.1)), want);
    let (findings, state) = device.read(&[&second.0], &second.1)?;
    assert_eq!((findings.len(), findings[0].magnitude, state.exponent), (1, 1.0, 4));
    device.read(&[&first.0], &first.1)?;
    // The next bad index is told again, by the first call that reads.
    rows(&device, &[12])?;
    let third = step(&device)?;
    refused(device.download(&vector(&device, &[1.0], DType::F32)));
    device.read(&[&third.0], &third.1)?;
    Ok(())
}

fn the_scale_and_findings_that_nobody_reported_tell_a_bad_index() -> Result {
    let device = own();
    let scale = device.upload_state(ScaleState::from_exponent(4))?;
    let mut grads = set(&device, &[("w", Some(vec![1.0]))], DType::F16);
    let found = device.unscale(&mut grads, &scale)?;
    rows(&device, &[-1])?;
    refused(device.read(&[&found], &scale));
    assert_eq!(device.read(&[&found], &scale)?.1.exponent, 4);
    Ok(())
}

fn a_bad_index_is_left_without_the_host_waiting() -> Result {
    let device = own();
    rows(&device, &[1])?;
    let (table, bad) = (table(&device)?, device.upload_i64(&[1, 99], &[2])?);
    let grad = device.upload(&noise(1, 2 * WIDTH), &[2, WIDTH], DType::F32)?;
    let before = device.counters();
    device.embedding(&table, &bad)?;
    device.embedding_backward(&grad, &bad, ROWS)?;
    let after = device.counters();
    // One launch looks up; the others count, move, find where rows start, and sum.
    assert_eq!((after.syncs, after.launches), (before.syncs, before.launches + 1 + 4));
    assert!(device.to_bits(&table).is_err());
    assert_eq!(device.bits(&table).len(), 4 * ROWS * WIDTH);
    Ok(())
}

/// Captured step of four operations with indices.
struct Looks {
    device: Cuda,
    indices: [Tensor; 4],
    step: Captured<[Tensor; 4]>,
    _others: [Tensor; 4],
}

impl Looks {
    fn new() -> Result<Self> {
        let device = own();
        let indices = [(); 4].map(|()| device.upload_i64(&[0; 3], &[3]));
        let [labels, places, rows, last] = indices.map(Result::unwrap);
        let (table, logits) = (table(&device)?, device.upload(&[0.5; 30], &[3, 10], DType::F16)?);
        let grad = device.upload(&[1.0; 3 * WIDTH], &[3, WIDTH], DType::F32)?;
        let one = vector(&device, &[1.0], DType::F32).reshape(&[])?;
        let step = || {
            let loss = device.cross_entropy(&logits, &labels)?;
            let adjoint = device.embedding_backward(&grad, &places, ROWS)?;
            let rows = device.embedding(&table, &rows)?;
            let slope = device.cross_entropy_backward(&one, &logits, &last)?;
            Ok::<_, Error>([loss, adjoint, rows, slope])
        };
        let (_, capture) = device.capture().warm_up(step)?;
        let (_, capture) = capture.warm_up(step)?;
        let step = capture.capture(step)?;
        Ok(Self {
            step,
            indices: [labels, places, rows, last],
            device,
            _others: [table, logits, grad, one],
        })
    }

    /// Replays the step with these bad indices, each given as operation, position and index.
    fn replay(&self, bad: &[(usize, usize, i64)]) -> Result {
        for (operation, indices) in self.indices.iter().enumerate() {
            let mut values = [1_i64; 3];
            for (_, position, index) in bad.iter().filter(|(at, ..)| *at == operation) {
                values[*position] = *index;
            }
            let bits: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
            self.device.write_bits(indices, &bits)?;
        }
        self.step.replay()?;
        Ok(())
    }

    /// Returns the error that is told now, and checks that it is told once.
    fn told(&self) -> Result<String> {
        let one = vector(&self.device, &[1.0], DType::F32);
        let told = refused(self.device.download(&one));
        self.device.download(&one)?;
        Ok(told)
    }
}

fn told(op: &str, index: i64, position: usize) -> String {
    format!("{op}: index {index} at position {position}; expected 0 ≤ index < 10")
}

fn of_several_bad_indices_in_a_replay_the_first_of_the_step_is_told() -> Result {
    let looks = Looks::new()?;
    for _ in 0..2 {
        looks.replay(&[(0, 2, 20), (1, 1, 21), (2, 0, 22)])?;
        assert_eq!(looks.told()?, told("cross_entropy", 20, 2));
        looks.replay(&[(1, 2, 31), (1, 1, 30), (2, 0, 32)])?;
        assert_eq!(looks.told()?, told("embedding", 30, 1));
        looks.replay(&[(2, 2, -1)])?;
        assert_eq!(looks.told()?, told("embedding", -1, 2));
        looks.replay(&[(3, 1, 33)])?;
        assert_eq!(looks.told()?, told("cross_entropy", 33, 1));
        looks.replay(&[])?;
        looks.device.synchronize()?;
    }
    Ok(())
}

fn of_several_bad_indices_in_replays_and_between_them_the_first_is_told() -> Result {
    let looks = Looks::new()?;
    // Of two replays, the later one's fault comes in an earlier operation.
    looks.replay(&[(2, 2, 40)])?;
    looks.replay(&[(0, 0, 41), (2, 0, 42)])?;
    assert_eq!(looks.told()?, told("embedding", 40, 2));
    // An ordinary operation's fault after a replay, and one before it.
    looks.replay(&[(2, 2, 50)])?;
    rows(&looks.device, &[51])?;
    assert_eq!(looks.told()?, told("embedding", 50, 2));
    rows(&looks.device, &[1, 1, 60])?;
    looks.replay(&[(0, 0, 61)])?;
    assert_eq!(looks.told()?, told("embedding", 60, 2));
    // A fault between two warm-ups, which are ordinary steps.
    let (labels, device) = (&looks.indices[0], &looks.device);
    let logits = device.upload(&[0.5; 30], &[3, 10], DType::F16)?;
    looks.replay(&[(2, 2, 70)])?;
    let (_, capture) = device.capture().warm_up(|| rows(device, &[71]))?;
    assert_eq!(looks.told()?, told("embedding", 70, 2));
    let (_, capture) = capture.warm_up(|| device.cross_entropy(&logits, labels))?;
    rows(device, &[72])?;
    drop(capture);
    assert_eq!(looks.told()?, told("embedding", 72, 0));
    Ok(())
}
