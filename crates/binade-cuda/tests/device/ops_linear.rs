//! Linear layers: the weight in place, and the bias inside.

use crate::products::{assert_within, matrix, stored, turned, types, upload};
use crate::support::{Result, cuda, kind, noise, own};
use binade_core::{DType, ErrorKind};
use binade_ops::{Download, Linear, Upload};

crate::tests![
    operands_that_are_transposed_as_they_lie_are_multiplied_so,
    large_tiles_add_their_bias,
    large_tiles_of_no_terms_are_their_bias,
    a_linear_layer_adds_its_bias_before_the_one_rounding,
    gradients_but_for_the_inputs_are_the_same_and_a_product_less,
];

/// `Linear` has its weight transposed, and its gradients are the other two transpositions.
fn operands_that_are_transposed_as_they_lie_are_multiplied_so() -> Result {
    for dtype in types() {
        for sizes @ [rows, out, width] in [[5, 7, 9], [80, 72, 64]] {
            let [x, w, b, g] = [(1, rows * width), (2, out * width), (3, out), (4, rows * out)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let (input, weight) =
                (upload(&x, &[rows, width], dtype), upload(&w, &[out, width], dtype));
            let (bias, grad) = (upload(&b, &[out], dtype), upload(&g, &[rows, out], dtype));
            let what = format!("linear {sizes:?}");
            let got = cuda().download(&cuda().linear(&input, &weight, Some(&bias))?)?;
            let (x_matrix, w_turned) = (matrix(&x, width), turned(&w, width));
            assert_within(&got, &x_matrix, &w_turned, Some(&b), sizes, (dtype, &what));
            let grads = cuda().linear_backward(&grad, &input, &weight, true)?;
            let of_input = cuda().download(&grads.input)?;
            let (g_matrix, w_matrix) = (matrix(&g, out), matrix(&w, width));
            assert_within(
                &of_input,
                &g_matrix,
                &w_matrix,
                None,
                [rows, width, out],
                (dtype, &what),
            );
            let of_weight = cuda().download(&grads.weight)?;
            let g_turned = turned(&g, out);
            assert_within(
                &of_weight,
                &g_turned,
                &x_matrix,
                None,
                [out, width, rows],
                (dtype, &what),
            );
        }
    }
    Ok(())
}

/// Large tiles too add a bias, to rows of whole groups and of others, with operands at any offset.
fn large_tiles_add_their_bias() -> Result {
    for dtype in types() {
        for sizes @ [rows, out, width] in [[8100, 130, 7], [8100, 136, 8]] {
            let [x, w, b] = [(1, rows * width), (2, out * width), (3, out)]
                .map(|(seed, len)| stored(&noise(seed, len), dtype));
            let (input, weight) =
                (upload(&x, &[rows, width], dtype), upload(&w, &[out, width], dtype));
            let got = cuda().linear(&input, &weight, Some(&upload(&b, &[out], dtype)))?;
            let (got, what) = (cuda().download(&got)?, format!("large {sizes:?}"));
            assert_within(
                &got,
                &matrix(&x, width),
                &turned(&w, width),
                Some(&b),
                sizes,
                (dtype, &what),
            );
        }
    }
    Ok(())
}

fn large_tiles_of_no_terms_are_their_bias() -> Result {
    let (rows, out) = (8100, 130);
    for dtype in types() {
        let b = stored(&noise(3, out), dtype);
        let (x, w) = (upload(&[], &[rows, 0], dtype), upload(&[], &[out, 0], dtype));
        let got = cuda().linear(&x, &w, Some(&upload(&b, &[out], dtype)))?;
        assert_eq!(cuda().download(&got)?, b.repeat(rows));
    }
    Ok(())
}

/// 2048 and 1 are f16 numbers, 2049 is none: added after a rounding, the bias would be lost twice.
fn a_linear_layer_adds_its_bias_before_the_one_rounding() -> Result {
    let cuda = cuda();
    let (one, bias) = (upload(&[1.0], &[1, 1], DType::F16), upload(&[1.0], &[1], DType::F16));
    let weight = upload(&[2048.0, 1.0], &[1, 2], DType::F16);
    let input = upload(&[1.0, 1.0], &[1, 2], DType::F16);
    assert_eq!(cuda.download(&cuda.linear(&input, &weight, Some(&bias))?)?, [2050.0]);
    assert_eq!(cuda.download(&cuda.linear(&one, &one, Some(&bias))?)?, [2.0]);
    Ok(())
}

fn gradients_but_for_the_inputs_are_the_same_and_a_product_less() -> Result {
    let cuda = own();
    let one = |seed, shape: &[usize]| {
        cuda.upload(&noise(seed, shape.iter().product()), shape, DType::F16)
    };
    let (x, w, g) = (one(1, &[5, 7])?, one(2, &[3, 7])?, one(3, &[5, 3])?);
    let before = cuda.counters().launches;
    let all = cuda.linear_backward(&g, &x, &w, true)?;
    let between = cuda.counters().launches;
    let some = cuda.linear_backward_of_weight(&g, &x, &w, true)?;
    assert_eq!(cuda.counters().launches - between + 1, between - before);
    assert_eq!(cuda.to_bits(&some.weight)?, cuda.to_bits(&all.weight)?);
    assert_eq!(cuda.to_bits(&some.bias.unwrap())?, cuda.to_bits(&all.bias.unwrap())?);
    assert!(cuda.linear_backward_of_weight(&g, &x, &w, false)?.bias.is_none());
    let refused = cuda.linear_backward_of_weight(&g, &w, &x, false);
    assert_eq!(kind(refused), ErrorKind::Mismatch);
    Ok(())
}
