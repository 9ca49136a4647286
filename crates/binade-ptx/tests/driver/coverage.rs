//! Coverage that a process leaves behind in a file, if asked.

use std::fs;

use cudarc::driver::CudaContext;

use super::{
    kernels::{SCALE, function, scale},
    process::alone,
};

#[test]
fn coverage_is_written_at_the_end_of_the_process() {
    let name = format!("coverage-{}", std::process::id());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let outside = alone!(["BINADE_PTX_COVERAGE" = folder.to_str().unwrap()], {
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let function = function(&context, SCALE, "scale");
        let x = stream.clone_htod(&[1.0_f32; 5]).unwrap();
        let mut y = stream.alloc_zeros::<f32>(5).unwrap();
        scale(&stream, &function, &x, &mut y, 5).unwrap();
    });
    if outside.is_none() {
        return;
    }
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(file).unwrap();
    fs::remove_dir_all(folder).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.iter().map(|line| line[0]).collect::<Vec<_>>(), ["scale", "scale_off_by_one"]);
    assert_eq!(lines[0][3], "-", "every line of `scale` ran");
    assert_eq!(lines[1][3].split(',').count().to_string(), lines[1][2], "none of the other");
}
