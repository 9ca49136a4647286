//! Mistakes that cuBLASLt refuses, and those that its stand-in refuses besides, each by its status.

use cudarc::cublaslt::{
    result::{self, CublasError},
    sys::{
        self, cublasComputeType_t as Compute, cublasLtMatrixLayoutAttribute_t as Of,
        cublasStatus_t as Status,
    },
};

use super::{
    process::alone,
    products::{Asked, F16, F32, Made, Shape, address, context, contiguous, down, plain, up},
};

const INVALID: Option<Status> = Some(Status::CUBLAS_STATUS_INVALID_VALUE);
const NOT_SUPPORTED: Option<Status> = Some(Status::CUBLAS_STATUS_NOT_SUPPORTED);

fn status<T>(outcome: Result<T, CublasError>) -> Option<Status> {
    outcome.err().map(|error| error.0)
}

/// Returns the status of asking for an algorithm.
fn asked(asked: &Asked) -> Option<Status> {
    status(Made::new(asked).and_then(|made| made.choose(asked)))
}

fn shaped(place: usize, shape: Shape) -> Asked {
    let mut asked = plain();
    asked.shapes[place] = shape;
    if place == 3 {
        asked.shapes[2] = shape;
    }
    asked
}

#[test]
fn sums_in_anything_but_f32_are_refused() {
    alone!({
        let _device = context();
        assert_eq!(asked(&plain()), None);
        for compute in [
            Compute::CUBLAS_COMPUTE_16F,
            Compute::CUBLAS_COMPUTE_32F_FAST_16F,
            Compute::CUBLAS_COMPUTE_64F,
        ] {
            assert_eq!(asked(&Asked { compute, ..plain() }), NOT_SUPPORTED, "{compute:?}");
        }
        assert_eq!(asked(&Asked { scale: F16, ..plain() }), NOT_SUPPORTED);
        // Reductions in place, in the result's type, and the library's default of all.
        for reductions in [1, 4, 7, 3] {
            assert_eq!(asked(&Asked { reductions, ..plain() }), NOT_SUPPORTED, "{reductions}");
        }
        assert_eq!(asked(&Asked { reductions: 0, ..plain() }), None);
    });
}

/// Returns `plain` in f32, by TF32.
fn by_tf32() -> Asked {
    let compute = Compute::CUBLAS_COMPUTE_32F_FAST_TF32;
    let wide =
        |(_, rows, columns, leading, batch, step)| (F32, rows, columns, leading, batch, step);
    Asked { compute, shapes: plain().shapes.map(wide), ..plain() }
}

#[test]
fn tf32_of_sixteen_bits_is_refused() {
    alone!({
        let _device = context();
        assert_eq!(asked(&by_tf32()), None);
        assert_eq!(asked(&Asked { shapes: plain().shapes, ..by_tf32() }), NOT_SUPPORTED);
    });
}

#[test]
fn tf32_wants_compute_capability_8_0() {
    alone!(["BINADE_PTX_CC" = "7.5"], {
        let _device = context();
        assert_eq!(asked(&by_tf32()), NOT_SUPPORTED);
        let compute = plain().compute;
        assert_eq!(asked(&Asked { compute, ..by_tf32() }), None);
    });
}

#[test]
fn what_does_not_fit_together_is_refused() {
    alone!({
        let _device = context();
        for wrong in [
            shaped(0, (F16, 2, 4, 2, 1, 0)),
            shaped(0, (F16, 3, 3, 3, 1, 0)),
            shaped(0, (F16, 2, 3, 1, 1, 0)),
            shaped(0, (F16, 2, 3, 2, 2, 6)),
            shaped(0, (F16, 2, 3, 2, 1, -1)),
            shaped(0, (F16, 2, 0, 2, 1, 0)),
            shaped(0, (F32, 2, 3, 2, 1, 0)),
            shaped(1, (14, 3, 2, 3, 1, 0)),
            shaped(2, (F32, 2, 2, 2, 1, 0)),
            shaped(3, (14, 2, 2, 2, 1, 0)),
            Asked { transposed: [1, 0], ..plain() },
        ] {
            assert_eq!(asked(&wrong), INVALID, "{wrong:?}");
        }
        assert_eq!(asked(&shaped(3, (F32, 2, 2, 2, 1, 0))), None, "f32 out of sixteen bits");
        assert_eq!(asked(&shaped(0, (1, 2, 3, 2, 1, 0))), NOT_SUPPORTED, "f64");
        assert_eq!(asked(&Asked { transposed: [2, 0], ..plain() }), NOT_SUPPORTED);
        assert_eq!(asked(&Asked { epilogue: 2, ..plain() }), NOT_SUPPORTED, "ReLU");
        assert_eq!(asked(&Asked { aligned: 2, ..plain() }), NOT_SUPPORTED);
        assert_eq!(asked(&Asked { aligned: 24, ..plain() }), NOT_SUPPORTED);
    });
}

#[test]
fn attributes_have_the_size_and_the_number_that_they_have() {
    alone!({
        let _device = context();
        let layout = result::create_matrix_layout(sys::cudaDataType::CUDA_R_16F, 2, 2, 2).unwrap();
        let value = [0_u8; 8];
        let set = |attribute, bytes| {
            // SAFETY: alive, and the value has at least as many bytes.
            status(unsafe {
                result::set_matrix_layout_attribute(layout, attribute, value.as_ptr().cast(), bytes)
            })
        };
        assert_eq!(set(Of::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8), None);
        assert_eq!(set(Of::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 4), INVALID);
        assert_eq!(set(Of::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 8), INVALID);
        assert_eq!(set(Of::CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8), NOT_SUPPORTED);
        // SAFETY: a stale handle is what is tested; this library looks it up.
        let destroy = || status(unsafe { result::destroy_matrix_layout(layout) });
        assert_eq!((destroy(), destroy()), (None, INVALID));
    });
}

#[test]
fn a_library_before_its_driver_is_not_initialised() {
    alone!({
        let refused = status(result::create_handle());
        assert_eq!(refused, Some(Status::CUBLAS_STATUS_NOT_INITIALIZED));
    });
}

/// Product of `plain`, computed with one mistake.
struct Told {
    asked: Asked,
    /// Product that the algorithm was chosen for.
    chosen: Asked,
    /// Bytes added to the addresses of A, B and D.
    moved: [u64; 3],
    /// Elements that A, B and D have room for.
    room: [usize; 3],
    beta: f32,
    workspace: usize,
    /// Passes A's address as D's.
    in_place: bool,
}

fn right() -> Told {
    Told {
        asked: plain(),
        chosen: plain(),
        moved: [0; 3],
        room: [6, 6, 4],
        beta: 0.0,
        workspace: 0,
        in_place: false,
    }
}

impl Told {
    fn outcome(&self) -> Option<Status> {
        let (_context, stream) = context();
        let slices = self.room.map(|len| up(&stream, &vec![1.0; len]));
        let [mut a, b, mut d] = [0, 1, 2].map(|i| address(&stream, &slices[i]) + self.moved[i]);
        if self.in_place {
            (a, d) = (a.min(a), a);
        }
        let workspace = stream.alloc_zeros::<u8>(1 << 20).unwrap();
        let workspace = (address(&stream, &workspace), self.workspace);
        let algorithm = Made::new(&self.chosen).unwrap().choose(&self.chosen).unwrap().algo;
        let made = Made::new(&self.asked).unwrap();
        let outcome = made.multiply([a, b, d], [1.0, self.beta], &algorithm, workspace, &stream);
        if outcome.is_ok() {
            assert_eq!(down(&stream, &slices[2])[..4], [3.0; 4]);
        }
        status(outcome)
    }
}

#[test]
fn memory_that_is_not_as_it_was_said_is_refused() {
    alone!({
        assert_eq!(right().outcome(), None);
        // Addresses aligned less than the preference said, and addresses aligned as it said.
        for operand in 0..3 {
            let mut moved = [0; 3];
            moved[operand] = 16;
            let room = [20; 3];
            assert_eq!(Told { moved, room, ..right() }.outcome(), INVALID, "{operand}");
        }
        let low = Asked { aligned: 16, ..plain() };
        let (moved, room) = ([16, 16, 0], [20, 20, 4]);
        let told = Told { asked: low.clone(), chosen: low, moved, room, ..right() };
        assert_eq!(told.outcome(), None);
        // Allocations one element too small.
        for operand in 0..3 {
            let mut room = [6, 6, 4];
            room[operand] -= 1;
            assert_eq!(Told { room, ..right() }.outcome(), INVALID, "{operand}");
        }
        assert_eq!(Told { in_place: true, ..right() }.outcome(), INVALID);
        assert_eq!(Told { beta: 1.0, ..right() }.outcome(), NOT_SUPPORTED);
        // Matrices of a result that lie over each other.
        let mut asked = plain();
        for (place, step) in [(0, 0), (1, 0), (2, 2), (3, 2)] {
            (asked.shapes[place].4, asked.shapes[place].5) = (2, step);
        }
        let told = Told { asked: asked.clone(), chosen: asked, room: [6, 6, 6], ..right() };
        assert_eq!(told.outcome(), INVALID);
    });
}

#[test]
fn an_algorithm_is_for_the_problem_that_it_was_given_for() {
    alone!({
        let mut wide = plain();
        wide.shapes[1] = (F16, 3, 2, 4, 1, 0);
        let room = [6, 8, 4];
        assert_eq!(Told { asked: wide.clone(), room, ..right() }.outcome(), INVALID);
        assert_eq!(Told { chosen: wide, room, ..right() }.outcome(), INVALID);
        // A bias that is missing, and one that no algorithm was asked for.
        let with_bias = Asked { epilogue: 4, ..plain() };
        let told = Told { asked: with_bias.clone(), chosen: with_bias.clone(), ..right() };
        assert_eq!(told.outcome(), INVALID);
        assert_eq!(Told { asked: with_bias, ..right() }.outcome(), INVALID);
        // Unwritten memory is no algorithm either.
        let (_context, stream) = context();
        let nothing = sys::cublasLtMatmulAlgo_t { data: [0; 8] };
        let slices = [6, 6, 4].map(|len| up(&stream, &vec![1.0; len]));
        let at = [0, 1, 2].map(|i| address(&stream, &slices[i]));
        let made = Made::new(&plain()).unwrap();
        let outcome = made.multiply(at, [1.0, 0.0], &nothing, (0, 0), &stream);
        assert_eq!(status(outcome), INVALID);
    });
}

#[test]
fn a_long_sum_takes_the_workspace_that_its_algorithm_says() {
    alone!({
        let (_context, stream) = context();
        let asked = Asked { shapes: contiguous(1, 64, 1), ..plain() };
        let slices = [64, 64, 1].map(|len| up(&stream, &vec![1.0; len]));
        let workspace = stream.alloc_zeros::<u8>(1 << 20).unwrap();
        let workspace = address(&stream, &workspace);
        let at = [0, 1, 2].map(|i| address(&stream, &slices[i]));
        let made = Made::new(&asked).unwrap();
        let found = made.choose(&asked).unwrap();
        assert_eq!(found.workspaceSize, 1 << 20);
        let with = |place, bytes| {
            status(made.multiply(at, [1.0, 0.0], &found.algo, (place, bytes), &stream))
        };
        assert_eq!(with(workspace, 1 << 20), None);
        assert_eq!(down(&stream, &slices[2]), [64.0]);
        assert_eq!(with(workspace, (1 << 20) - 1), INVALID, "less than it says");
        assert_eq!(with(workspace + 16, 1 << 20), INVALID, "beyond the allocation");
        assert_eq!(with(0, 1 << 20), INVALID, "none");
        let small = made.choose(&Asked { workspace: 1000, ..asked.clone() }).unwrap();
        assert_eq!(small.workspaceSize, 0, "no more than it may have");
        let without = made.multiply(at, [1.0, 0.0], &small.algo, (0, 0), &stream);
        assert_eq!(status(without), None);
    });
}
