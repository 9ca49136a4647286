//! Products that only convolutions use: rows and matrices with gaps, and f32 results of 16-bit operands.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::{Gemm, GemmConfig, Kernels, Matrices, chosen, sizes_of};
pub(in crate::ops) use crate::testing::device;
use crate::{Cuda, Products, ProductsBackend, Tensor};
use binade_core::DType;
use binade_core::ops::{Download, Upload};
use binade_gpu::Driver;

/// Returns the device with its kernels, and also with a library if there is one; nothing if no device is required.
fn devices() -> Vec<Cuda> {
    let with_library =
        device().filter(|cuda| matches!(cuda.products().unwrap(), ProductsBackend::Library { .. }));
    let with_kernels = device().map(|cuda| cuda.with_products(Products::Own));
    with_kernels.into_iter().chain(with_library).collect()
}

/// Matrices with gaps that nothing may read or write.
struct PaddedMatrices {
    values: Vec<f32>,
    row: usize,
    step: usize,
    transposed: bool,
}

/// Values in the gaps of operands, and of results.
const GAPS: [f32; 2] = [f32::NAN, 7.0];

impl PaddedMatrices {
    /// Creates matrices of `rows` by `columns`, transposed or not. Lines begin at multiples of `unit` elements, up to eight, and
    /// of no larger power of two.
    fn of([batch, rows, columns]: [usize; 3], transposed: bool, unit: usize, gap: f32) -> Self {
        let (lines, width) = if transposed { (columns, rows) } else { (rows, columns) };
        let row = (width + 1).next_multiple_of(8) + unit % 8;
        let step = (lines + 1) * row;
        Self { values: vec![gap; batch * step], row, step, transposed }
    }

    fn place(&self, [matrix, row, column]: [usize; 3]) -> usize {
        let (line, place) = if self.transposed { (column, row) } else { (row, column) };
        matrix * self.step + line * self.row + place
    }

    /// Fills in multiples of 1/8 up to one, whose products and sums are exact.
    fn fill(mut self, [batch, rows, columns]: [usize; 3], seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        for matrix in 0..batch {
            for row in 0..rows {
                for column in 0..columns {
                    let place = self.place([matrix, row, column]);
                    self.values[place] = f32::from(random.i8(-8..=8)) / 8.0;
                }
            }
        }
        self
    }

    fn on<'a>(&self, tensor: &'a Tensor) -> Matrices<'a> {
        Matrices { tensor, row: self.row, step: self.step, transposed: self.transposed }
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    /// Batch, M, N and K.
    sizes: [usize; 4],
    /// Transposition of A and B.
    transposed: [bool; 2],
    /// Number of elements that every line begins at a multiple of.
    unit: usize,
    bias: bool,
    result: DType,
}

/// Checks one case. Returns true if the product took a large tile.
fn check(cuda: &Cuda, case: Case) -> bool {
    let multiply = |gemm: &Gemm<'_>| {
        let before = cuda.counters().library;
        cuda.gemm(gemm).unwrap();
        if is_taken_by_stand_in(cuda, &case) {
            assert_eq!(cuda.counters().library, before + 1, "{case:?}");
        }
        chosen(case.dtype, cuda.inner.capability, gemm).unwrap()
    };
    !check_by(cuda, case, multiply).kernel.ends_with("_small")
}

/// Checks one case, and returns the choice that computed it.
fn check_by(cuda: &Cuda, case: Case, multiply: impl Fn(&Gemm<'_>) -> GemmConfig) -> GemmConfig {
    let Case { dtype, sizes: [batch, m, n, k], transposed, unit, bias, result } = case;
    let (of_a, of_b, of_c) = ([batch, m, k], [batch, k, n], [batch, m, n]);
    let a = PaddedMatrices::of(of_a, transposed[0], unit, GAPS[0]).fill(of_a, 1);
    let b = PaddedMatrices::of(of_b, transposed[1], unit, GAPS[0]).fill(of_b, 2);
    let mut want = PaddedMatrices::of(of_c, false, unit, GAPS[1]);
    let biases: Vec<f32> =
        (0..n).map(|column| f32::from(u8::try_from(column % 256).unwrap())).collect();
    let upload = |values: &[f32], dtype| cuda.upload(values, &[values.len()], dtype).unwrap();
    let (x, y, z) = (upload(&a.values, dtype), upload(&b.values, dtype), upload(&biases, dtype));
    let c = upload(&want.values, result);
    let product = Gemm::of(a.on(&x), b.on(&y), want.on(&c), [m, n, k]);
    let gemm = Gemm { bias: bias.then_some(&z), batch, ..product };
    let choice = multiply(&gemm);
    let got = cuda.download(&c).unwrap();
    for matrix in 0..batch {
        for row in 0..m {
            for (column, added) in biases.iter().enumerate() {
                let place = want.place([matrix, row, column]);
                // The first and the last matrix are enough: only their neighbours could write into them.
                want.values[place] = if matrix == 0 || matrix + 1 == batch {
                    let term = |k| {
                        a.values[a.place([matrix, row, k])] * b.values[b.place([matrix, k, column])]
                    };
                    let sum: f32 = (0..k).map(term).sum();
                    sum + if bias { *added } else { 0.0 }
                } else {
                    got[place]
                };
            }
        }
    }
    let want = cuda.download(&upload(&want.values, result)).unwrap();
    assert!(got == want, "{case:?} {choice:?}");
    choice
}

/// Checks one case by a tile, its sums in so many ranges.
fn check_with(cuda: &Cuda, case: Case, tile: &'static Kernels, ranges: usize) {
    check_by(cuda, case, |gemm| {
        let choice = GemmConfig { tile, kernel: tile.find(gemm).unwrap(), ranges };
        cuda.multiply(gemm, choice).unwrap();
        choice
    });
}

/// Returns true if the stand-in for the library is there and has an algorithm for the case.
fn is_taken_by_stand_in(cuda: &Cuda, case: &Case) -> bool {
    let is_there = matches!(cuda.products().unwrap(), ProductsBackend::Library { .. });
    let has = !case.bias || case.dtype == DType::F32;
    is_there && has && cuda.name().unwrap() == "Binade PTX interpreter"
}

fn types(cuda: &Cuda) -> Vec<DType> {
    let old = cuda.inner.capability < (8, 0);
    if old { vec![DType::F16, DType::F32] } else { vec![DType::BF16, DType::F16, DType::F32] }
}

#[test]
fn gaps_are_neither_read_nor_written_whatever_is_transposed() {
    let turns = [[false, false], [false, true], [true, false], [true, true]];
    for cuda in devices() {
        for (dtype, transposed) in types(&cuda).into_iter().flat_map(|it| turns.map(|t| (it, t))) {
            for (unit, n) in [(8, 17), (8, 24), (4, 17), (2, 24), (1, 17)] {
                let sizes = [2, 19, n, 21];
                let result = DType::F32;
                check(&cuda, Case { dtype, sizes, transposed, unit, bias: unit > 2, result });
            }
        }
    }
}

#[test]
fn large_tiles_leave_gaps_as_they_are() {
    let Some(cuda) = device() else { return };
    for dtype in types(&cuda) {
        let is_new = cuda.inner.capability >= (8, 0) && dtype != DType::F32;
        let (columns, k) = if is_new { ([129, 136], 99) } else { ([66, 72], 35) };
        let tile = &sizes_of(dtype, cuda.inner.capability).unwrap().large;
        for transposed in [[false, false], [false, true], [true, false]] {
            for (unit, n) in [8, 8, 4, 2, 1].into_iter().zip(columns.into_iter().cycle()) {
                let bias = transposed == [false, true];
                let result = if n % 8 == 0 { dtype } else { DType::F32 };
                let case = Case { dtype, sizes: [3, 65, n, k], transposed, unit, bias, result };
                check_with(&cuda, case, tile, 1);
            }
        }
    }
}

#[test]
fn a_batch_that_fills_a_gpu_takes_large_tiles() {
    let Some(cuda) = device() else { return };
    let cuda = cuda.with_products(Products::Own);
    let (dtype, result, transposed) = (DType::F16, DType::F32, [false; 2]);
    let large = |batch| {
        let sizes = [batch, 65, 129, 3];
        check(&cuda, Case { dtype, sizes, transposed, unit: 8, bias: false, result })
    };
    assert!(large(64) && !large(2));
}

/// Sums that are not exact, so that each has the bits of the order in which it was added.
#[test]
fn sums_of_ranges_have_the_same_bits_in_large_tiles_and_in_small_ones() {
    let Some(cuda) = device() else { return };
    let (sizes, ranges) = ([66, 130, 200], 3);
    let [m, n, k] = sizes;
    for dtype in types(&cuda) {
        let mut random = fastrand::Rng::with_seed(7);
        let mut noise = |len: usize| {
            let values: Vec<f32> = (0..len).map(|_| random.f32() - 0.5).collect();
            cuda.upload(&values, &[len], dtype).unwrap()
        };
        let (x, y) = (noise(m * k), noise(k * n));
        let all = sizes_of(dtype, cuda.inner.capability).unwrap();
        for [turns_a, turns_b] in [[false, false], [false, true], [true, false]] {
            let of = |tensor, turns, [rows, columns]: [usize; 2]| {
                let (lines, line) = if turns { (columns, rows) } else { (rows, columns) };
                Matrices { transposed: turns, ..Matrices::dense(tensor, lines, line) }
            };
            let sums = [&all.large, &all.small].map(|tile| {
                let c = cuda.unset(DType::F32, &[m, n]).unwrap();
                let to = Matrices::dense(&c, m, n);
                let gemm = Gemm::of(of(&x, turns_a, [m, k]), of(&y, turns_b, [k, n]), to, sizes);
                let choice = GemmConfig { tile, kernel: tile.find(&gemm).unwrap(), ranges };
                cuda.multiply(&gemm, choice).unwrap();
                cuda.to_bits(&c).unwrap()
            });
            assert!(sums[0] == sums[1], "{dtype} {turns_a} {turns_b}");
        }
    }
}

/// More than a band of eight rows of tiles, and more than one column of any tile.
#[test]
fn every_tile_of_a_large_product_is_in_its_place() {
    let Some(cuda) = device() else { return };
    let cuda = cuda.with_products(Products::Own);
    for dtype in types(&cuda) {
        let all = sizes_of(dtype, cuda.inner.capability).unwrap();
        let tile = &all.large;
        let sizes = [1, 8 * tile.rows + 6, 3 * tile.columns / 2 + 8, 3];
        for transposed in [[false, false], [false, true], [true, false]] {
            let bias = transposed == [false, true];
            let case = Case { dtype, sizes, transposed, unit: 8, bias, result: DType::F32 };
            check_with(&cuda, case, tile, 1);
        }
    }
}

/// Seven tiles of 32 terms, the last one's last chunk one short, in two ranges, in four, and in six, of which two have none.
#[test]
fn sums_of_ranges_are_joined_whatever_the_tile_and_what_is_transposed() {
    let Some(cuda) = device() else { return };
    let units = [(2, 8), (2, 4), (2, 2), (2, 1), (6, 8), (4, 8)];
    for dtype in types(&cuda) {
        let all = sizes_of(dtype, cuda.inner.capability).unwrap();
        for transposed in [[false, false], [false, true], [true, false]] {
            // Large tiles take long: only one transposition of them is tried with every unit.
            let of_large = if transposed == [false; 2] { &units[..] } else { &units[3..5] };
            let products: [(_, _, &[(usize, usize)]); 3] = [
                (&all.small, [2, 19, 17, 199], &units),
                (&all.small, [2, 70, 72, 199], &[(6, 8)]),
                (&all.large, [1, 66, 130, 199], of_large),
            ];
            for (tile, sizes, cut) in products {
                for (ranges, unit) in cut.iter().copied() {
                    let bias = transposed == [false, true];
                    let case = Case { dtype, sizes, transposed, unit, bias, result: DType::F32 };
                    check_with(&cuda, case, tile, ranges);
                }
            }
        }
    }
}
