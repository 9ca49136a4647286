//! Helpers of the backends' own tests.

use binade_master_weights::UpdateRule;
use std::{fs, io, path::Path};

/// Lists the kernels that go by the names of a row of one operand: those that `ops` launches without naming them.
macro_rules! unary_kernels {
    ({} $($trait:ident $name:ident $methods:tt)*) => {
        [$(unary_kernels!(@row $methods)),*].concat()
    };
    (@row {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => { vec![stringify!($forward), stringify!($backward)] };
    (@row $methods:tt) => { vec![] };
}

/// Kernels of operations on two operands of one shape and of their gradients, which `ops` launches by the methods' names.
const PAIRS: [&str; 5] = ["add", "sub", "sub_backward", "mul", "div_backward"];

/// Returns the kernels whose names stand nowhere in the code of a backend or of this crate, and that are no update rule's.
///
/// # Errors
///
/// If the code cannot be read.
pub fn never_launched<'k>(
    backend: &str,
    kernels: impl Iterator<Item = &'k str>,
) -> io::Result<Vec<&'k str>> {
    let backend = Path::new(backend);
    let code = code(&backend.join("src"))? + &code(&backend.join("../binade-gpu/src"))?;
    // The first of two passes over rows has the name of the second, with this behind it.
    let name = |kernel: &'k str| kernel.strip_suffix("_numbers").unwrap_or(kernel);
    let unary: Vec<&str> = binade_core::ops::for_each_op!([unary_kernels]);
    let kernels = kernels.filter(|kernel| !UpdateRule::KERNELS.contains(kernel));
    let kernels =
        kernels.filter(|kernel| !unary.contains(&name(kernel)) && !PAIRS.contains(kernel));
    Ok(kernels.filter(|kernel| !code.contains(&format!("{:?}", name(kernel)))).collect())
}

/// Reads every file below a folder.
fn code(folder: &Path) -> io::Result<String> {
    let one = |entry: io::Result<fs::DirEntry>| {
        let path = entry?.path();
        if path.is_dir() { code(&path) } else { fs::read_to_string(path) }
    };
    fs::read_dir(folder)?.map(one).collect()
}
