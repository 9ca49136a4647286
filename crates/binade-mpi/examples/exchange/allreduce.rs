//! `MPI_Allreduce`, with which averages of gradients are compared.

use mpi_sys as ffi;

/// Returns the sum of values over all ranks. MPI adds in `f32`, in an order that it chooses.
pub(crate) fn sum(values: &[f32]) -> Result<Vec<f32>, String> {
    let count = i32::try_from(values.len()).map_err(|error| error.to_string())?;
    let mut sums = vec![0.0; values.len()];
    // SAFETY: MPI runs, since `binade_mpi::run` has started it, and no other thread is in it; both buffers have as many elements as are
    // told.
    let code = unsafe {
        ffi::MPI_Allreduce(
            values.as_ptr().cast(),
            sums.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_FLOAT,
            ffi::RSMPI_SUM,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    if code == 0 { Ok(sums) } else { Err(format!("MPI's error {code}")) }
}
