//! relu, add and mul, forward and backward, against the CPU.

use crate::support::{
    Result, TYPES, assert_same, cpu_vector, kind, mixed, narrow, own, vector, wgpu,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_ops::{Add, Mul, Relu};
use binade_wgpu::{Tensor, Wgpu};

crate::tests![
    relu_is_the_cpus_bit_for_bit,
    sums_and_products_are_the_cpus_bit_for_bit,
    operands_begin_and_end_anywhere_and_in_many_parts,
    a_tensor_goes_with_itself_and_with_its_neighbour,
    operands_that_do_not_fit_are_refused,
];

const LEN: usize = 2003;

/// Values of several operands, the same on the device and on the CPU.
fn operands(dtype: DType) -> ([Tensor; 3], [binade_cpu::Tensor; 3]) {
    let values = [mixed(3, LEN), mixed(4, LEN), mixed(5, LEN)];
    let here = values.each_ref().map(|values| vector(&wgpu(), values, dtype));
    (here, values.each_ref().map(|values| cpu_vector(values, dtype)))
}

fn relu_is_the_cpus_bit_for_bit() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let (here, there) = operands(dtype);
        let got = wgpu.to_bits(&wgpu.relu(&here[0])?)?;
        assert_same(&got, &Cpu.relu(&there[0])?.to_bits(), dtype, "relu");
        let got = wgpu.to_bits(&wgpu.relu_backward(&here[1], &here[0])?)?;
        let want = Cpu.relu_backward(&there[1], &there[0])?.to_bits();
        assert_same(&got, &want, dtype, "relu_backward");
    }
    Ok(())
}

fn sums_and_products_are_the_cpus_bit_for_bit() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        let (here, there) = operands(dtype);
        let got = wgpu.to_bits(&wgpu.add(&here[0], &here[1])?)?;
        assert_same(&got, &Cpu.add(&there[0], &there[1])?.to_bits(), dtype, "add");
        let got = wgpu.to_bits(&wgpu.mul(&here[0], &here[1])?)?;
        assert_same(&got, &Cpu.mul(&there[0], &there[1])?.to_bits(), dtype, "mul");
        let got = wgpu.mul_backward(&here[2], &here[0], &here[1])?;
        let want = Cpu.mul_backward(&there[2], &there[0], &there[1])?;
        for (got, want) in got.iter().zip(&want) {
            assert_same(&wgpu.to_bits(got)?, &want.to_bits(), dtype, "mul_backward");
        }
        let got = wgpu.add_backward(&here[2])?;
        assert_eq!(wgpu.to_bits(&got[0])?, wgpu.to_bits(&here[2])?);
    }
    Ok(())
}

/// The sum of two slices of vectors of this length.
fn sum(wgpu: &Wgpu, dtype: DType, [a, b, len]: [usize; 3]) -> Result<Vec<u8>> {
    let whole = 70_000;
    let [x, y] = [6, 7].map(|seed| vector(wgpu, &mixed(seed, whole), dtype));
    Ok(wgpu.to_bits(&wgpu.add(&x.slice(a, len)?, &y.slice(b, len)?)?)?)
}

fn operands_begin_and_end_anywhere_and_in_many_parts() -> Result {
    let (wide, narrow) = (wgpu(), narrow());
    for dtype in TYPES {
        let [x, y] = [6, 7].map(|seed| mixed(seed, 70_000));
        for [a, b, len] in [[0, 1, 1], [1, 0, 2], [5, 130, 3], [127, 64, 1001], [1, 3, 69_990]] {
            let want =
                Cpu.add(&cpu_vector(&x[a..a + len], dtype), &cpu_vector(&y[b..b + len], dtype))?;
            for wgpu in [&wide, &narrow] {
                let got = sum(wgpu, dtype, [a, b, len])?;
                assert_same(&got, &want.to_bits(), dtype, &format!("{a} {b} {len}"));
            }
        }
    }
    Ok(())
}

fn a_tensor_goes_with_itself_and_with_its_neighbour() -> Result {
    let wgpu = wgpu();
    let x = vector(&wgpu, &[1.0, 2.0, 4.0, 8.0, 16.0], DType::F16);
    let want = cpu_vector(&[2.0, 4.0, 8.0, 16.0, 32.0], DType::F16).to_bits();
    assert_eq!(wgpu.to_bits(&wgpu.add(&x, &x)?)?, want);
    let want = cpu_vector(&[3.0, 6.0, 12.0, 24.0], DType::F16).to_bits();
    assert_eq!(wgpu.to_bits(&wgpu.add(&x.slice(0, 4)?, &x.slice(1, 4)?)?)?, want);
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let [a, b] = [2, 3].map(|len| vector(&wgpu, &mixed(0, len), DType::F32));
    assert_eq!(kind(wgpu.add(&a, &b)), ErrorKind::Mismatch);
    let half = vector(&wgpu, &[1.0, 2.0], DType::F16);
    assert_eq!(kind(wgpu.mul(&a, &half)), ErrorKind::Mismatch);
    let stranger = vector(&own(), &[1.0, 2.0], DType::F32);
    assert_eq!(kind(wgpu.add(&a, &stranger)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.relu(&stranger)), ErrorKind::Mismatch);
    Ok(())
}
