//! Indices out of range in long gradients and in captured steps.

use crate::{
    shared::indices::{ROWS, WIDTH, refused, rows, table},
    support::{Result, captured, noise, own, vector},
};
use binade_core::DType;
use binade_core::ops::{CrossEntropy, Download, Embedding, Upload};
use binade_cuda::{Captured, Cuda, Error, Tensor};

crate::tests![
    a_table_of_nothing_has_no_right_index,
    the_first_launch_and_its_lowest_position_are_told,
    the_gradient_passes_over_hundreds_of_bad_indices,
    of_several_bad_indices_in_a_replay_the_first_of_the_step_is_told,
    of_several_bad_indices_in_replays_and_between_them_the_first_is_told,
];

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

fn a_table_of_nothing_has_no_right_index() -> Result {
    let device = own();
    let up = |values: &[f32], shape: &[usize]| device.upload(values, shape, DType::F32);
    let one = vector(&device, &[1.0], DType::F32);
    // A table of rows without elements has no eleventh row either.
    for (index, count, width) in [(0, 0, 3), (10, 10, 0)] {
        let indices = device.upload_i64(&[index], &[1])?;
        let want = format!("embedding: index {index} at position 0; expected 0 ≤ index < {count}");
        device.embedding(&up(&[], &[count, width])?, &indices)?;
        assert_eq!(refused(device.download(&one)), want);
        device.embedding_backward(&up(&vec![1.0; width], &[1, width])?, &indices, count)?;
        assert_eq!(refused(device.download(&one)), want);
    }
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
        let step = captured(&device, step)?;
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
