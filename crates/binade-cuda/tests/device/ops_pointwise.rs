//! relu, add, mul, tanh and gelu, forward and backward, against the CPU.

use crate::{
    agree::{Within, mixed, stranger},
    on_both,
    support::{Result, cuda, kind},
};
use binade_core::{DType, ErrorKind};
use binade_ops::{Add, Download, Gelu, Mul, Relu, Tanh, Upload};

crate::tests![
    relu_is_the_cpus_bit_for_bit,
    sums_and_products_are_the_cpus_bit_for_bit,
    tanh_is_within_two_ulp_of_the_cpus_and_its_gradient_has_the_same_bits,
    gelu_is_within_five_ulp_of_the_cpus,
    the_gradient_of_gelu_is_off_by_2_to_minus_22_of_the_results_at_most,
    the_functions_of_a_fine_sweep_are_within_their_bounds,
    no_elements_are_no_elements,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
    operands_of_another_handle_are_refused,
];

type Operands = Vec<(Vec<f32>, Vec<usize>)>;

/// One operand, of an odd shape, whose last group lacks one element.
fn one() -> Operands {
    vec![(mixed(0, 55), vec![5, 11])]
}

/// Two of one shape, whose pairs are not those of equal places in the list.
fn two() -> Operands {
    vec![(mixed(0, 55), vec![5, 11]), (mixed(5, 55), vec![5, 11])]
}

fn relu_is_the_cpus_bit_for_bit() -> Result {
    on_both!(one(), |device, x| [device.relu(&x[0])?], Within::Bits);
    on_both!(two(), |device, x| [device.relu_backward(&x[0], &x[1])?], Within::Bits);
    Ok(())
}

fn sums_and_products_are_the_cpus_bit_for_bit() -> Result {
    on_both!(two(), |device, x| [device.add(&x[0], &x[1])?], Within::Bits);
    on_both!(one(), |device, x| device.add_backward(&x[0])?, Within::Bits);
    on_both!(two(), |device, x| [device.mul(&x[0], &x[1])?], Within::Bits);
    let mut three = two();
    three.push((mixed(9, 55), vec![5, 11]));
    on_both!(three, |device, x| device.mul_backward(&x[0], &x[1], &x[2])?, Within::Bits);
    Ok(())
}

fn tanh_is_within_two_ulp_of_the_cpus_and_its_gradient_has_the_same_bits() -> Result {
    // The CPU's own is an ulp off at most.
    on_both!(one(), |device, x| [device.tanh(&x[0])?], Within::Codes(3));
    on_both!(two(), |device, x| [device.tanh_backward(&x[0], &x[1])?], Within::Bits);
    Ok(())
}

fn gelu_is_within_five_ulp_of_the_cpus() -> Result {
    on_both!(one(), |device, x| [device.gelu(&x[0])?], Within::Codes(5));
    Ok(())
}

fn the_gradient_of_gelu_is_off_by_2_to_minus_22_of_the_results_at_most() -> Result {
    let (device, x) = (cuda(), mixed(3, 443));
    let ones = vec![1.0; x.len()];
    let shape = vec![x.len()];
    // Near the slope's zero a code is less than the error in f32.
    let close = Within::Apart(2.0_f32.powi(-22));
    let operands = vec![(ones, shape.clone()), (x, shape)];
    on_both!(operands, |device, x| [device.gelu_backward(&x[0], &x[1])?], close);
    // The gradient is a factor, whatever it is.
    let [x, g] = [[0.5_f32, -0.75, 3.0], [-8.0, 1024.0, 0.0]];
    let slope = device.download(&device.gelu_backward(
        &device.upload(&[1.0; 3], &[3], DType::F32)?,
        &device.upload(&x, &[3], DType::F32)?,
    )?)?;
    let scaled = device.download(&device.gelu_backward(
        &device.upload(&g, &[3], DType::F32)?,
        &device.upload(&x, &[3], DType::F32)?,
    )?)?;
    let products: Vec<f32> = slope.iter().zip(g).map(|(slope, g)| g * slope).collect();
    assert_eq!(scaled, products);
    Ok(())
}

/// Every 65521st f32, as far as the functions are neither their limits nor their argument.
fn the_functions_of_a_fine_sweep_are_within_their_bounds() -> Result {
    let range = |from: f32, to: f32| (from.to_bits()..to.to_bits()).step_by(65_521);
    let positive: Vec<f32> = range(1e-3, 20.0).map(f32::from_bits).collect();
    let values: Vec<f32> = positive.iter().flat_map(|x| [*x, -x]).collect();
    let x = vec![(values.clone(), vec![values.len()])];
    on_both!(x.clone(), |device, x| [device.tanh(&x[0])?], Within::Codes(3));
    on_both!(x, |device, x| [device.gelu(&x[0])?], Within::Codes(5));
    Ok(())
}

fn no_elements_are_no_elements() -> Result {
    let none = || vec![(vec![], vec![0, 3]), (vec![], vec![0, 3])];
    on_both!(none(), |device, x| [device.relu(&x[0])?], Within::Bits);
    on_both!(none(), |device, x| [device.add(&x[0], &x[1])?], Within::Bits);
    on_both!(none(), |device, x| device.mul_backward(&x[0], &x[0], &x[1])?, Within::Bits);
    Ok(())
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    fn words<D>(device: &D) -> Result<Vec<String>>
    where
        D: Upload + Relu + Gelu + Tanh + Add + Mul,
    {
        let long = device.upload(&[1.0; 3], &[3], DType::F32).map_err(text)?;
        let short = device.upload(&[1.0; 2], &[2], DType::F32).map_err(text)?;
        let half = device.upload(&[1.0; 3], &[3], DType::F16).map_err(text)?;
        let whole = device.upload_i64(&[1; 3], &[3]).map_err(text)?;
        let said = [
            device.relu(&whole).err(),
            device.relu_backward(&long, &short).err(),
            device.gelu(&whole).err(),
            device.gelu_backward(&long, &half).err(),
            device.tanh(&whole).err(),
            device.tanh_backward(&long, &half).err(),
            device.add(&long, &short).err(),
            device.add(&long, &half).err(),
            device.mul(&whole, &whole).err(),
            device.mul_backward(&long, &long, &half).err(),
            device.mul_backward(&long, &short, &long).err(),
        ];
        let one = |error: Option<D::Error>| error.map(text).unwrap_or_default();
        Ok(said.into_iter().map(one).collect())
    }
    fn text(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let want = words(&binade_cpu::Cpu)?;
    assert!(want.iter().all(|words| !words.is_empty()), "{want:?}");
    assert_eq!(words(&cuda())?, want);
    Ok(())
}

fn operands_of_another_handle_are_refused() -> Result {
    let (device, there) = stranger()?;
    let here = device.upload(&[1.0, 2.0], &[2], DType::F32)?;
    let refused = [
        kind(device.relu(&there)),
        kind(device.add(&here, &there)),
        kind(device.add_backward(&there)),
        kind(device.mul_backward(&here, &here, &there)),
    ];
    assert_eq!(refused, [ErrorKind::Mismatch; 4]);
    Ok(())
}
