//! candle's tensors as the kit's subject: made from bits and read back here, all else by the handle's traits.

mod compute;

use binade_autocast::Autocast;
use binade_candle::Candle;
use binade_conformance::{
    Arithmetic, Layout, OpInvocation, Result, Runner, SparseResult, SparseRun, Subject,
    SubjectError,
};
use binade_core::DType;
use candle_core::{Device as On, Tensor};

/// candle's CPU tensors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandleCpu;

impl Subject for CandleCpu {
    type Handle = Candle;

    fn handle(&self) -> Option<&Candle> {
        Some(&Candle)
    }

    fn name(&self) -> &'static str {
        "candle"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let dtype = match dtype {
            DType::E4M3 => candle_core::DType::F8E4M3,
            DType::I64 => candle_core::DType::I64,
            DType::E5M2 => return Err(SubjectError::unsupported("a tensor of e5m2 in candle")),
            other => binade_candle::candle_dtype(other)?,
        };
        Tensor::from_raw_buffer(bits, dtype, shape, &On::Cpu).map_err(failed)
    }

    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Tensor> {
        let Layout::Offset(offset) = layout else {
            return Err(SubjectError::unsupported("a view by strides"));
        };
        let (buffer, len) = (layout.buffer(bits, dtype, shape), bits.len() / dtype.bytes());
        let whole = self.from_bits(&buffer, dtype, &[buffer.len() / dtype.bytes()])?;
        whole.narrow(0, offset, len).and_then(|view| view.reshape(shape)).map_err(failed)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        tensor.write_bytes(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(Autocast::cast(&Candle, tensor, to)?)
    }

    fn sparse(&self, run: SparseRun<Tensor>) -> Result<SparseResult<Tensor>> {
        binade_conformance::sparse(&Candle, run)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute::compute(op, operands)
    }
}

fn failed(error: candle_core::Error) -> SubjectError {
    SubjectError::from(binade_candle::Error::from(error))
}

/// Names of all operations.
macro_rules! names {
    ({} $($trait:ident $name:ident $methods:tt)*) => { [$(stringify!($name)),*] };
}

/// Operations of `binade_candle::ops`, and one that [`LACKING`] has.
const HERE: [&str; 16] = [
    "matmul",
    "bmm",
    "linear",
    "linear_relu",
    "conv2d",
    "layer_norm",
    "rms_norm",
    "batch_norm",
    "softmax",
    "log_softmax",
    "cross_entropy",
    "mse_loss",
    "sum",
    "mean",
    "add",
    "embedding",
];

/// Returns the runner with the lists of cases that candle or the handle lacks, and of cases that candle fails.
pub(crate) fn listed(runner: Runner) -> Runner {
    let mut runner =
        LACKING.iter().fold(runner, |runner, (part, reason)| runner.excuse(*part, *reason));
    for (operations, cases, reason) in LACKING_BY_TYPE {
        for (operation, dtype) in
            operations.iter().flat_map(|it| ["bf16", "f16", "f32"].map(|dtype| (it, dtype)))
        {
            for case in *cases {
                runner = runner.excuse(format!("{operation}/{dtype}/{case}"), *reason);
            }
        }
    }
    let own = binade_conformance::ops::for_each_op!([names]).into_iter();
    own.filter(|name| !HERE.contains(name))
        .fold(runner, |runner, name| runner.excuse(format!("{name}/"), OWN))
        .known("cross_entropy/f32/2_rows_of_8203_classes", THROUGH_THE_LARGEST)
        .known("cross_entropy/bf16/starts_anywhere_in_a_buffer", INFINITE_GRADIENT)
        .known("cross_entropy/f16/starts_anywhere_in_a_buffer", INFINITE_GRADIENT)
        .known("cross_entropy/f32/starts_anywhere_in_a_buffer", INFINITE_GRADIENT)
}

/// Cases that candle or the handle lacks, each with a reason; excused if `BINADE_REQUIRE` names candle.
const LACKING: &[(&str, &str)] = &[
    ("a_result_larger_than_any_memory", "candle sizes its results itself"),
    ("views_are_read_in_row_major_order", "candle makes no view of strides alone"),
    ("e5m2", "candle has no such type"),
    ("-e4m3/", NO_E4M3),
    ("stochastic_cast/", NO_STOCHASTIC),
    ("multi_tensor/", "candle has no operations on sets of tensors"),
    ("sum/e4m3", NO_E4M3),
    ("mean/e4m3", NO_E4M3),
    ("gradients_of_0x4_by_4x3", NOTHING),
    ("gradients_of_3x0_by_0x2", NOTHING),
    ("gradients_of_3x4_by_4x0", NOTHING),
    ("random_0_of_2x3x4", NOTHING),
    ("random_2_of_0x3x4", NOTHING),
    ("random_2_of_3x0x4", NOTHING),
    ("random_0_rows_of_4x3", NOTHING),
    ("random_3_rows_of_0x2", NOTHING),
    ("random_3_rows_of_4x0", NOTHING),
    ("0x2x4x4_by_3x2x3x3", NOTHING),
    ("2x0x4x4_by_3x0x3x3", NOTHING),
    ("0_rows_of_4x5", NOTHING),
    ("3_rows_of_4x0", NOTHING),
    ("/channels_last_", "candle takes images with the channels first"),
    ("3x2x9x8_by_5x2x2x3_stride_2x3_padding_2x1", SQUARE),
    ("2x2x6x7_by_3x2x1x2_stride_3x2_padding_0x3", SQUARE),
    ("2x3x7x9_by_4x3x3x3_stride_1x1_padding_0x0_dilation_2x3", SQUARE),
    ("2x2x9x8_by_3x2x2x3_stride_2x1_padding_2x3_dilation_3x2", SQUARE),
    ("1x4x9x9_by_8x2x3x2_stride_2x1_padding_2x1_dilation_2x3", SQUARE),
    ("elements_of_a_dilated_kernel_lie_apart", SQUARE),
    ("2x33x5x3_by_66x11x3x1_stride_1x2_padding_1x0", SQUARE),
    ("0x4x4x4_by_2x2x2x2", NOTHING),
    ("2x4x5x5_by_0x2x2x2", NOTHING),
    ("the_last_of_a_million_rows_has_its_gradient", NOTHING),
    ("2x2x4x4_by_0x2x2x2", NOTHING),
    ("random_2x0x3", "candle normalises no tensor without channels"),
    ("/steps_", STEPS),
    ("batch_norm/-/statistics_of_fewer", STEPS),
    ("/random_0x4", NOTHING),
    ("/random_3x0", NOTHING),
    ("add/f16/all_of_1025", FROM_ZERO),
    ("softmax/-/what_does_not_fit", BY_RESULT),
    ("log_softmax/-/what_does_not_fit", BY_RESULT),
    ("a_row_with_nan_or_infinity_or_nothing_is_nan_throughout", BY_RESULT),
    ("linear_relu/", BOTH),
    // Some operations of the pass are candle's own.
    ("two_hundred_steps_track_the_loss_of_f32", OWN),
];

/// As [`LACKING`], by operation and floating-point type.
const LACKING_BY_TYPE: &[(&[&str], &[&str], &str)] = &[
    (&["mse_loss", "add"], &["all_of_0"], NOTHING),
    (&["add"], &["any_two_patterns"], FROM_ZERO),
    (
        &["softmax", "log_softmax"],
        &[
            "random",
            "starts_anywhere",
            "no_finite_row_overflows",
            "ones_in_their_thousands_share_alike",
            "a_wide_row_may_hang",
        ],
        BY_RESULT,
    ),
];

const NO_STOCHASTIC: &str =
    "candle casts to nearest even alone; masters that round by chance are the handle's, and run";
const NO_E4M3: &str = "candle's cast to F8E4M3 saturates, and the handle refuses it";
const THROUGH_THE_LARGEST: &str =
    "candle's backward gives a row's largest element the rounding of all its gradients";
const INFINITE_GRADIENT: &str =
    "candle's backward subtracts infinite parts where the gradient of the loss is infinite";
const NOTHING: &str = "candle's backward has no gradient where a tensor has no element";
const FROM_ZERO: &str = "candle's backward adds every gradient to a zero, which makes 0 of -0";
const STEPS: &str = "candle's own layer has no steps of a batch normalisation";
const SQUARE: &str = "candle moves and pads kernels alike along both axes";
const BY_RESULT: &str = "the case differentiates by the result, and candle's graph by the operand";
const OWN: &str = "candle brings this operation and its backward itself";
const BOTH: &str =
    "a layer of `ops::linear` with candle's own `relu` behind it is no operation of its own there";
