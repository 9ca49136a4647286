//! Every operation alike: what is refused, and in which words; other handles' operands; and what nothing waits for.

use crate::{
    shared::calls::{Row, rows, run},
    support::{Result, gpu, kind, own, told, vector},
};
use binade_autocast::Autocast;
use binade_core::ops::{OpInvocation as Call, Upload, for_each_op};
use binade_core::{DType, Error, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, ScaleState, ScaleStore};

crate::tests![
    every_method_has_a_row,
    operands_that_do_not_fit_are_refused_with_the_cpus_words,
    operands_of_another_handle_are_refused,
    no_operation_waits_and_each_gives_the_same_bits_again,
    integers_have_no_gradient_and_are_not_cast,
];

const N: usize = 5;

macro_rules! methods {
    ({} $($trait:ident $file:ident {
        $($variant:ident $method:ident $operands:tt $({ $($values:tt)+ })? -> $results:ident;)+
    })*) => { [$($(stringify!($method)),+),*] };
}

fn every_method_has_a_row() -> Result {
    let rows = rows(N, DType::F16);
    for method in for_each_op!([methods]) {
        assert!(rows.iter().any(|(call, _)| call.method() == method), "{method}");
    }
    Ok(())
}

/// A row for each operand that has another element type, one extent more, or a longer one.
fn misfits((call, operands): &Row) -> Vec<Row> {
    let mut all = Vec::new();
    for (place, operand) in operands.iter().enumerate() {
        let types = [DType::I64, DType::BF16, DType::F32].map(|dtype| {
            // Whole numbers in the place of others are all 0.
            let least = if operand.dtype == DType::I64 { operand.least } else { 1.0 };
            (dtype, operand.shape.clone(), least)
        });
        let longer = match &operand.shape[..] {
            [rest @ .., last] => [rest, &[last + 1]].concat(),
            [] => vec![2],
        };
        let shapes = [[&operand.shape[..], &[1]].concat(), longer];
        let shapes = shapes.map(|shape| (operand.dtype, shape, operand.least));
        for (dtype, shape, least) in types.into_iter().chain(shapes) {
            let mut row = (call.clone(), operands.clone());
            (row.1[place].dtype, row.1[place].shape, row.1[place].least) = (dtype, shape, least);
            all.push(row);
        }
    }
    all
}

/// A refusal's kind and words. A fused operation may be named by the one that it begins with.
fn refusal(error: &impl Error) -> (ErrorKind, String) {
    (error.kind(), error.to_string().replace("linear_relu", "linear"))
}

fn operands_that_do_not_fit_are_refused_with_the_cpus_words() -> Result {
    let mut refused = 0;
    for row in rows(N, DType::F16).iter().flat_map(misfits) {
        let want = run(&Cpu, &row).map(drop).map_err(|error| refusal(&error));
        let got = run(&gpu(), &row).map(drop).map_err(|error| refusal(&error));
        refused += usize::from(want.is_err());
        assert_eq!(got, want, "{row:?}");
    }
    assert!(refused > 200, "{refused}");
    Ok(())
}

fn operands_of_another_handle_are_refused() -> Result {
    let (here, there) = (gpu(), own());
    for (call, operands) in rows(N, DType::F16) {
        // A reshape looks at no element.
        if matches!(call, Call::Reshape { .. }) {
            continue;
        }
        for strange in 0..operands.len() {
            let put = operands
                .iter()
                .enumerate()
                .map(|(place, operand)| operand.put(if place == strange { &there } else { &here }));
            let put: Vec<_> = put.collect();
            let result = call.run(&here, &put.iter().collect::<Vec<_>>()).ok_or("operands")?;
            assert_eq!(kind(result), ErrorKind::Mismatch, "operand {strange} of {call:?}");
        }
    }
    Ok(())
}

fn no_operation_waits_and_each_gives_the_same_bits_again() -> Result {
    let gpu = own();
    for row in rows(N, DType::F32) {
        let before = gpu.counters().syncs;
        let [first, again] = [run(&gpu, &row).map_err(told)?, run(&gpu, &row).map_err(told)?];
        assert_eq!(gpu.counters().syncs, before, "{row:?}");
        for (one, other) in first.iter().zip(&again) {
            assert_eq!(gpu.to_bits(one)?, gpu.to_bits(other)?, "{row:?}");
        }
    }
    Ok(())
}

fn integers_have_no_gradient_and_are_not_cast() -> Result {
    let gpu = gpu();
    let labels = gpu.upload_i64(&[0], &[1])?;
    let scale = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = vec![Named::new("labels", Some(labels))].into();
    assert_eq!(kind(gpu.unscale(&mut grads, &scale)), ErrorKind::Unsupported);
    let floats = vector(&gpu, &[1.0], DType::F32);
    for to in [DType::I64, DType::U8, DType::F64] {
        assert_eq!(kind(gpu.cast(&floats, to)), ErrorKind::Unsupported);
    }
    let labels = gpu.upload_i64(&[1, -2], &[2])?;
    assert_eq!(kind(gpu.cast(&labels, DType::F32)), ErrorKind::Unsupported);
    Ok(())
}
