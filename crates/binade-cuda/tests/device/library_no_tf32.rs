//! Devices without TF32, with the library or without: those before compute capability 8.0, and Binade's own kernels.

use crate::library_tf32::{FINE, fine};
use crate::products::is_old;
use crate::support::{Result, own};
use binade_core::{Error as _, ErrorKind};
use binade_cuda::{F32Products, Products};

crate::tests![tf32_before_8_0_is_refused_by_name, own_kernels_multiply_in_full_and_say_so];

fn tf32_before_8_0_is_refused_by_name() -> Result {
    let cuda = own();
    let asked = cuda.clone().with_f32_products(F32Products::Tf32);
    if !is_old() {
        return Ok(asked.map(drop)?);
    }
    let Err(error) = asked else { return Err("7.5 has no TF32".into()) };
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let told = error.to_string();
    assert!(["TF32", "7.5", "8.0", "in full"].iter().all(|it| told.contains(it)), "{told}");
    assert_eq!(fine(&cuda)?, [FINE; 256], "nothing has changed");
    assert_eq!(cuda.counters().tf32, 0);
    cuda.with_f32_products(F32Products::Full)?;
    Ok(())
}

fn own_kernels_multiply_in_full_and_say_so() -> Result {
    if is_old() {
        return Ok(());
    }
    let cuda = own().with_products(Products::Own);
    let cuda = cuda.with_f32_products(F32Products::Tf32)?;
    let by = cuda.products()?.to_string();
    assert_eq!(by, "own kernels: asked for; they multiply f32 in full");
    assert_eq!(fine(&cuda)?, [FINE; 256]);
    assert_eq!(cuda.counters().tf32, 0);
    Ok(())
}
