//! What the tests of operations share: a case, and what every case is held to.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "these are tests, though not marked as such")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the numbers are small"
)]

pub mod cases;
pub mod oracle;

use binade_core::DType;
use binade_cpu::{Error, Tensor};
use ndarray::{ArrayD, IxDyn};

pub type Reals = ArrayD<f64>;
type Oracle = Box<dyn Fn(&[Reals]) -> Reals + Sync>;
type Forward = Box<dyn Fn(&[Tensor]) -> Result<Tensor, Error> + Sync>;
/// From gradient, operands and result.
type Backward = Box<dyn Fn(&Tensor, &[Tensor], &Tensor) -> Result<Vec<Tensor>, Error> + Sync>;

/// One operation: what it does, what it must do, and how far apart the two may be.
pub struct Case {
    pub name: &'static str,
    /// Shapes of the floating-point operands.
    pub shapes: Vec<Vec<usize>>,
    /// The definition, in f64 and as plainly as it can be written.
    pub oracle: Oracle,
    pub forward: Forward,
    pub backward: Backward,
    pub bound: Bound,
}

/// How far from the oracle a result of f32 arithmetic may be.
#[derive(Clone, Copy)]
pub enum Bound {
    /// `n·2^-24·Σ|a||b|`, for sums of n products.
    Products(usize),
    /// A number of units of 2^-24, relative to `1 + |expected|`.
    Units(f64),
}

const UNIT: f64 = 1.0 / 16777216.0;

/// Values in −1..1 that differ from case to case and from operand to operand: splitmix64, the upper 24 bits.
pub fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) >> 40
    };
    (0..count).map(|_| next() as f32 / 8388608.0 - 1.0).collect()
}

pub fn tensor(shape: &[usize], seed: u64, dtype: DType) -> Tensor {
    Tensor::from_f32(values(shape.iter().product(), seed), shape, dtype).unwrap()
}

pub fn reals(tensor: &Tensor) -> Reals {
    let values = tensor.to_f32().iter().map(|x| f64::from(*x)).collect();
    ArrayD::from_shape_vec(IxDyn(tensor.shape()), values).unwrap()
}

pub fn operands(case: &Case, dtype: DType) -> Vec<Tensor> {
    let shapes = case.shapes.iter().enumerate();
    shapes.map(|(i, shape)| tensor(shape, 7 + i as u64, dtype)).collect()
}

/// Equal as bytes, and in type and shape.
pub fn assert_same_bits(found: &Tensor, expected: &Tensor, what: &str) {
    assert_eq!(found.dtype(), expected.dtype(), "{what}");
    assert_eq!(found.shape(), expected.shape(), "{what}");
    assert!(found.to_bits() == expected.to_bits(), "{what}: other bits");
}

impl Case {
    /// Result and gradients, the gradient that comes in being `values`.
    pub fn run(&self, operands: &[Tensor]) -> (Tensor, Tensor, Vec<Tensor>) {
        let output = (self.forward)(operands).unwrap();
        let grad = tensor(output.shape(), 3, output.dtype());
        let grads = (self.backward)(&grad, operands, &output).unwrap();
        (output, grad, grads)
    }

    /// Forward in f32 against the oracle.
    pub fn check_forward(&self) {
        let operands = operands(self, DType::F32);
        let found = reals(&(self.forward)(&operands).unwrap());
        let exact: Vec<Reals> = operands.iter().map(reals).collect();
        let expected = (self.oracle)(&exact);
        assert_eq!(found.shape(), expected.shape(), "{}", self.name);
        let room = self.room(&exact, &expected);
        for ((found, expected), room) in found.iter().zip(&expected).zip(&room) {
            let error = (found - expected).abs();
            assert!(error <= *room, "{}: {found}, expected {expected} ± {room:e}", self.name);
        }
    }

    fn room(&self, exact: &[Reals], expected: &Reals) -> Reals {
        match self.bound {
            Bound::Products(n) => {
                let sizes: Vec<Reals> = exact.iter().map(|x| x.mapv(f64::abs)).collect();
                (self.oracle)(&sizes).mapv(|sum| n as f64 * UNIT * sum)
            }
            Bound::Units(n) => expected.mapv(|x| n * UNIT * (1.0 + x.abs())),
        }
    }

    /// Backward in f32 against central differences of the oracle in f64.
    pub fn check_backward(&self) {
        let operands = operands(self, DType::F32);
        let (_, grad, grads) = self.run(&operands);
        let exact: Vec<Reals> = operands.iter().map(reals).collect();
        let loss = |x: &[Reals]| (&(self.oracle)(x) * &reals(&grad)).sum();
        assert_eq!(grads.len(), exact.len(), "{}", self.name);
        for (which, found) in grads.iter().enumerate() {
            assert_eq!(found.shape(), operands[which].shape(), "{}", self.name);
            for (at, found) in reals(found).iter().enumerate() {
                let expected = slope(&exact, which, at, &loss);
                // 2^-16 relative: some hundred roundings of 2^-24, and the difference's own error of about 1e-9.
                let close = (found - expected).abs() <= 256.0 * UNIT * (1.0 + expected.abs());
                assert!(close, "{} operand {which}[{at}]: {found}, expected {expected}", self.name);
            }
        }
    }

    /// Sixteen-bit storage gives what f32 gives for the same values, rounded once: forward and backward.
    pub fn check_storage(&self) {
        for dtype in [DType::BF16, DType::F16] {
            let what = format!("{} in {dtype}", self.name);
            let narrow = operands(self, dtype);
            let wide: Vec<Tensor> = narrow.iter().map(|x| x.cast(DType::F32).unwrap()).collect();
            let (output, grad, grads) = self.run(&narrow);
            let expected = (self.forward)(&wide).unwrap();
            assert_same_bits(&output, &expected.cast(output.dtype()).unwrap(), &what);
            let [grad, output] = [grad, output].map(|x| x.cast(DType::F32).unwrap());
            let expected = (self.backward)(&grad, &wide, &output).unwrap();
            for (found, expected) in grads.iter().zip(&expected) {
                assert_same_bits(found, &expected.cast(dtype).unwrap(), &what);
            }
        }
    }

    /// One, two and three threads give the same bits.
    pub fn check_threads(&self) {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let operands = operands(self, dtype);
            let [one, two, three] = [1, 2, 3].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (output, _, grads) = pool.install(|| self.run(&operands));
                [vec![output], grads].concat()
            });
            for many in [two, three] {
                for (many, one) in many.iter().zip(&one) {
                    assert_same_bits(many, one, self.name);
                }
            }
        }
    }
}

/// The derivative of `f` by element `at` of operand `which`.
fn slope(x: &[Reals], which: usize, at: usize, f: &dyn Fn(&[Reals]) -> f64) -> f64 {
    const STEP: f64 = 1e-5;
    let moved = |by: f64| {
        let mut x = x.to_vec();
        x[which].as_slice_mut().unwrap()[at] += by;
        f(&x)
    };
    (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
}
