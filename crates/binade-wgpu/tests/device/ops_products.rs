//! Matrix products, batches of them, linear layers and convolutions, forward and backward, against the CPU.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::support::{
    Result, TYPES, assert_near, both, kind, narrow, noise, own, vector, wgpu, wide, with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Bmm, Conv2d, Conv2dConfig, Download, Linear, MatMul, Upload};
use binade_wgpu::{Tensor, Wgpu};

crate::tests![
    products_and_their_gradients_are_near_the_cpus,
    products_of_integers_are_exact,
    each_pair_of_a_batch_is_its_product_bit_for_bit,
    operands_begin_anywhere,
    linear_layers_are_near_the_cpus,
    convolutions_are_near_the_cpus,
    products_without_terms_are_zeros_or_the_bias,
    operands_that_end_where_they_begin_are_no_operands,
    what_is_not_finite_stays_so,
    operands_that_do_not_fit_are_refused,
];

const SIZES: [[usize; 3]; 8] = [
    [1, 1, 1],
    [2, 3, 4],
    [5, 7, 3],
    [17, 33, 65],
    [64, 64, 64],
    [65, 16, 66],
    [3, 300, 2],
    [130, 5, 129],
];

/// Of operands between -1 and 1: 2·K roundings of at most K, and the CPU's own.
fn assert_products(
    wgpu: &Wgpu,
    got: &Tensor,
    want: &binade_cpu::Tensor,
    terms: usize,
    what: &str,
) -> Result {
    let terms = f64::from(u32::try_from(terms)?);
    assert_eq!(got.shape(), want.shape(), "{what}");
    let want = with_mass(want, |_, _| terms * terms + 2.0 * terms);
    assert_near(&wgpu.download(got)?, &want, got.dtype(), what);
    Ok(())
}

fn products_and_their_gradients_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for [m, k, n] in SIZES {
            let what = format!("{m} {k} {n}");
            let (a, p) = both(&wgpu, &noise(1, m * k), &[m, k], dtype);
            let (b, q) = both(&wgpu, &noise(2, k * n), &[k, n], dtype);
            let (g, h) = both(&wgpu, &noise(3, m * n), &[m, n], dtype);
            let (p, q, h) = (wide(&p), wide(&q), wide(&h));
            let got = wgpu.matmul(&a, &b)?;
            assert_eq!(got.dtype(), dtype);
            assert_products(&wgpu, &got, &Cpu.matmul(&p, &q)?, k, &what)?;
            let got = wgpu.matmul_backward(&g, &a, &b)?;
            let want = Cpu.matmul_backward(&h, &p, &q)?;
            assert_products(&wgpu, &got[0], &want[0], n, &what)?;
            assert_products(&wgpu, &got[1], &want[1], m, &what)?;
        }
    }
    Ok(())
}

fn products_of_integers_are_exact() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let whole = |seed, len| -> Vec<f32> {
            noise(seed, len).iter().map(|x| (x * 4.0).round()).collect()
        };
        let (a, p) = both(&wgpu, &whole(1, 70 * 40), &[70, 40], dtype);
        let (b, q) = both(&wgpu, &whole(2, 40 * 67), &[40, 67], dtype);
        assert_eq!(wgpu.to_bits(&wgpu.matmul(&a, &b)?)?, Cpu.matmul(&p, &q)?.to_bits(), "{dtype}");
    }
    Ok(())
}

fn each_pair_of_a_batch_is_its_product_bit_for_bit() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for [m, k, n] in [[3, 5, 7], [66, 20, 4], [2, 3, 1]] {
            let a = wgpu.upload(&noise(1, 6 * m * k), &[2, 3, m, k], dtype)?;
            let b = wgpu.upload(&noise(2, 6 * k * n), &[2, 3, k, n], dtype)?;
            let g = wgpu.upload(&noise(3, 6 * m * n), &[2, 3, m, n], dtype)?;
            let all = wgpu.bmm(&a, &b)?;
            let [da, db] = wgpu.bmm_backward(&g, &a, &b)?;
            assert_eq!((da.shape(), db.shape()), (a.shape(), b.shape()));
            for i in 0..6 {
                let of = |all: &Tensor, rows: usize, columns: usize| {
                    all.slice(i * rows * columns, rows * columns)?.reshape(&[rows, columns])
                };
                let (x, y, g) = (of(&a, m, k)?, of(&b, k, n)?, of(&g, m, n)?);
                let pairs = [
                    (of(&all, m, n)?, wgpu.matmul(&x, &y)?),
                    (of(&da, m, k)?, wgpu.matmul_backward(&g, &x, &y)?[0].clone()),
                    (of(&db, k, n)?, wgpu.matmul_backward(&g, &x, &y)?[1].clone()),
                ];
                for (got, want) in &pairs {
                    assert_eq!(wgpu.to_bits(got)?, wgpu.to_bits(want)?, "{dtype} {i}");
                }
            }
        }
    }
    Ok(())
}

fn operands_begin_anywhere() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let values = noise(4, 500);
        let all = vector(&wgpu, &values, dtype);
        for start in [0, 1, 3, 130] {
            let [a, b] =
                [(start, [9, 11]), (start + 101, [11, 6])].map(|(start, [rows, columns])| {
                    all.slice(start, rows * columns)?.reshape(&[rows, columns])
                });
            let got = wgpu.to_bits(&wgpu.matmul(&a?, &b?)?)?;
            let a = wgpu.upload(&values[start..start + 99], &[9, 11], dtype)?;
            let b = wgpu.upload(&values[start + 101..start + 167], &[11, 6], dtype)?;
            assert_eq!(got, wgpu.to_bits(&wgpu.matmul(&a, &b)?)?, "{dtype} {start}");
        }
    }
    Ok(())
}

fn linear_layers_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for (lead, k, n) in [(vec![1], 1, 1), (vec![5], 64, 10), (vec![2, 3], 7, 9), (vec![], 4, 3)]
        {
            let rows: usize = lead.iter().product();
            let shape = |last: usize| [&lead[..], &[last]].concat();
            let (x, p) = both(&wgpu, &noise(1, rows * k), &shape(k), dtype);
            let (w, q) = both(&wgpu, &noise(2, k * n), &[n, k], dtype);
            let (b, r) = both(&wgpu, &noise(3, n), &[n], dtype);
            let (g, h) = both(&wgpu, &noise(4, rows * n), &shape(n), dtype);
            let (p, q, r, h) = (wide(&p), wide(&q), wide(&r), wide(&h));
            for bias in [false, true] {
                let got = wgpu.linear(&x, &w, bias.then_some(&b))?;
                let want = Cpu.linear(&p, &q, bias.then_some(&r))?;
                assert_products(&wgpu, &got, &want, k + 1, "linear")?;
                let got = wgpu.linear_backward(&g, &x, &w, bias)?;
                let want = Cpu.linear_backward(&h, &p, &q, bias)?;
                assert_products(&wgpu, &got.input, &want.input, n, "input")?;
                assert_products(&wgpu, &got.weight, &want.weight, rows, "weight")?;
                match (got.bias, want.bias) {
                    (Some(got), Some(want)) => assert_products(&wgpu, &got, &want, rows, "bias")?,
                    (got, want) => assert!(got.is_none() && want.is_none() && !bias),
                }
            }
        }
    }
    Ok(())
}

/// N, C, H, W, O, KH, KW, and how the kernel moves.
const CONVOLUTIONS: [([usize; 7], [usize; 2], [usize; 2]); 5] = [
    ([1, 1, 1, 1, 1, 1, 1], [1, 1], [0, 0]),
    ([2, 3, 5, 6, 4, 3, 3], [1, 1], [1, 1]),
    ([3, 2, 8, 7, 5, 3, 2], [2, 3], [0, 2]),
    ([2, 1, 9, 9, 3, 5, 5], [2, 2], [2, 2]),
    ([1, 4, 3, 3, 2, 3, 3], [1, 1], [0, 0]),
];

fn convolutions_are_near_the_cpus() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for ([images, c, height, width, o, kh, kw], stride, padding) in CONVOLUTIONS {
            let config = Conv2dConfig { stride, padding };
            let image = [images, c, height, width];
            let (x, p) = both(&wgpu, &noise(1, image.iter().product()), &image, dtype);
            let (w, q) = both(&wgpu, &noise(2, o * c * kh * kw), &[o, c, kh, kw], dtype);
            let (b, r) = both(&wgpu, &noise(3, o), &[o], dtype);
            let (p, q, r) = (wide(&p), wide(&q), wide(&r));
            for bias in [false, true] {
                let got = wgpu.conv2d(&x, &w, bias.then_some(&b), config)?;
                let want = Cpu.conv2d(&p, &q, bias.then_some(&r), config)?;
                assert_products(&wgpu, &got, &want, c * kh * kw + 1, "conv2d")?;
                let (g, h) = both(&wgpu, &noise(4, got.len()), got.shape(), dtype);
                let got = wgpu.conv2d_backward(&g, &x, &w, bias, config)?;
                let want = Cpu.conv2d_backward(&wide(&h), &p, &q, bias, config)?;
                let samples = g.len() / o;
                assert_products(&wgpu, &got.input, &want.input, o * kh * kw, "input")?;
                assert_products(&wgpu, &got.weight, &want.weight, samples, "weight")?;
                if let (Some(got), Some(want)) = (&got.bias, &want.bias) {
                    assert_products(&wgpu, got, want, samples, "bias")?;
                }
                assert_eq!(got.bias.is_some(), bias);
            }
        }
    }
    Ok(())
}

fn products_without_terms_are_zeros_or_the_bias() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let a = wgpu.upload(&[], &[3, 0], dtype)?;
        let b = wgpu.upload(&[], &[0, 5], dtype)?;
        assert_eq!(wgpu.download(&wgpu.matmul(&a, &b)?)?, [0.0; 15]);
        let w = wgpu.upload(&[], &[2, 0], dtype)?;
        let bias = vector(&wgpu, &[1.5, -2.0], dtype);
        let got = wgpu.download(&wgpu.linear(&a, &w, Some(&bias))?)?;
        assert_eq!(got, [1.5, -2.0, 1.5, -2.0, 1.5, -2.0]);
        let none = wgpu.upload(&[], &[0, 3], dtype)?;
        assert_eq!(wgpu.matmul(&none, &a)?.shape(), [0, 0]);
    }
    Ok(())
}

fn what_is_not_finite_stays_so() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let a = wgpu.upload(&[1.0, f32::INFINITY, f32::NAN, 2.0, 3.0, 4.0], &[3, 2], dtype)?;
        let b = wgpu.upload(&[1.0, 2.0, 3.0, 4.0], &[2, 2], dtype)?;
        let got = wgpu.download(&wgpu.matmul(&a, &b)?)?;
        assert_eq!((&got[..2], &got[4..]), (&[f32::INFINITY; 2][..], &[15.0, 22.0][..]));
        assert!(got[2].is_nan() && got[3].is_nan());
    }
    let large = wgpu.upload(&[60000.0, 60000.0], &[1, 2], DType::F16)?;
    let ones = wgpu.upload(&[1.0, 1.0], &[2, 1], DType::F16)?;
    assert_eq!(wgpu.download(&wgpu.matmul(&large, &ones)?)?, [f32::INFINITY]);
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let a = wgpu.upload(&[0.0; 6], &[2, 3], DType::F32)?;
    let b = wgpu.upload(&[0.0; 6], &[3, 2], DType::F32)?;
    assert_eq!(kind(wgpu.matmul(&a, &a)), ErrorKind::Mismatch);
    let half = wgpu.upload(&[0.0; 6], &[3, 2], DType::F16)?;
    assert_eq!(kind(wgpu.matmul(&a, &half)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.bmm(&a, &a)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.linear(&a, &b, None)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.matmul_backward(&a, &a, &b)), ErrorKind::Mismatch);
    assert_eq!(kind(own().matmul(&a, &b)), ErrorKind::Mismatch);
    // A matrix that no binding holds.
    let narrow = narrow();
    let large = narrow.upload(&vec![0.0; 2000], &[40, 50], DType::F32)?;
    assert_eq!(kind(narrow.matmul(&large, &large.reshape(&[50, 40])?)), ErrorKind::Unsupported);
    let image = wgpu.upload(&[0.0; 4], &[1, 1, 2, 2], DType::F32)?;
    let zero = Conv2dConfig { stride: [0, 1], padding: [0, 0] };
    assert_eq!(kind(wgpu.conv2d(&image, &image, None, zero)), ErrorKind::InvalidArgument);
    Ok(())
}

/// An empty slice may begin at its buffer's end, where no binding does.
fn operands_that_end_where_they_begin_are_no_operands() -> Result {
    let wgpu = own();
    let x = vector(&wgpu, &noise(9, 64), DType::F32);
    let none = |start, shape: &[usize]| x.slice(start, 0)?.reshape(shape);
    for start in [0, 1, 63, 64] {
        let product = wgpu.matmul(&none(start, &[3, 0])?, &none(start, &[0, 4])?)?;
        assert_eq!(wgpu.download(&product)?, [0.0; 12], "from {start}");
    }
    assert_eq!(wgpu.download(&x)?, noise(9, 64), "the device goes on");
    Ok(())
}
