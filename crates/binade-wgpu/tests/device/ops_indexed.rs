//! Indices that point nowhere: told once, by whatever is read next.

use crate::support::{Result, kind, noise, own, vector};
use binade_core::{DType, ErrorKind};
use binade_grad_scaler::{LossScale, ScaleState, ScaleStore};
use binade_ops::{CrossEntropy, Download, Embedding, Upload};
use binade_wgpu::Error;

crate::tests![
    a_label_that_is_no_class_is_told_when_something_is_read,
    an_index_that_points_nowhere_is_told_once_and_its_row_is_nan,
    a_step_tells_of_an_index_unless_a_download_has_since,
    a_table_that_nobody_looked_up_has_a_gradient_of_zeros,
];

fn a_label_that_is_no_class_is_told_when_something_is_read() -> Result {
    let wgpu = own();
    let logits = wgpu.upload(&noise(2, 12), &[4, 3], DType::F16)?;
    for bad in [3, -1, i64::MAX, 1 << 32] {
        let labels = wgpu.upload_i64(&[0, 1, bad, 2], &[4])?;
        let loss = wgpu.cross_entropy(&logits, &labels)?;
        let error = wgpu.download(&loss).unwrap_err();
        let want = Error::Index { op: "cross_entropy", index: bad, position: 2, limit: 3 };
        assert_eq!(error, want);
        assert_eq!(kind::<(), _>(Err(error)), ErrorKind::InvalidArgument);
        assert!(wgpu.download(&loss)?[0].is_nan());
        let grad = wgpu.upload(&[1.0], &[], DType::F32)?;
        let grads = wgpu.cross_entropy_backward(&grad, &logits, &labels)?;
        assert_eq!(wgpu.download(&grads).unwrap_err(), want);
        let grads = wgpu.download(&grads)?;
        assert!(grads[6..9].iter().all(|x| x.is_nan()), "{grads:?}");
        assert!(grads[..6].iter().chain(&grads[9..]).all(|x| x.is_finite()), "{grads:?}");
    }
    Ok(())
}

fn an_index_that_points_nowhere_is_told_once_and_its_row_is_nan() -> Result {
    let wgpu = own();
    let table = wgpu.upload(&noise(5, 15), &[5, 3], DType::BF16)?;
    let indices = wgpu.upload_i64(&[4, -3, 0], &[3])?;
    let rows = wgpu.embedding(&table, &indices)?;
    let want = Error::Index { op: "embedding", index: -3, position: 1, limit: 5 };
    assert_eq!(wgpu.download(&rows).unwrap_err(), want);
    let got = wgpu.download(&rows)?;
    assert!(got[3..6].iter().all(|x| x.is_nan()), "{got:?}");
    assert!(got[..3].iter().chain(&got[6..]).all(|x| x.is_finite()), "{got:?}");
    let grads = wgpu.embedding_backward(&rows, &indices, 5)?;
    assert_eq!(wgpu.download(&grads).unwrap_err(), want);
    assert!(wgpu.download(&grads)?.iter().all(|x| x.is_finite()));
    Ok(())
}

fn a_step_tells_of_an_index_unless_a_download_has_since() -> Result {
    let wgpu = own();
    let table = wgpu.upload(&noise(5, 15), &[5, 3], DType::F16)?;
    let indices = wgpu.upload_i64(&[7], &[1])?;
    let want = Error::Index { op: "embedding", index: 7, position: 0, limit: 5 };
    for is_downloaded in [false, true] {
        let mut scale = wgpu.upload_state(ScaleState::from_exponent(0))?;
        let rows = wgpu.embedding(&table, &indices)?;
        wgpu.update(&mut scale, &[], &[], &LossScale::torch())?;
        if is_downloaded {
            assert_eq!(wgpu.download(&rows).unwrap_err(), want);
            wgpu.read(&[], &scale)?;
        } else {
            assert_eq!(wgpu.read(&[], &scale).unwrap_err(), want);
        }
        assert!(wgpu.download(&rows)?.iter().all(|x| x.is_nan()));
    }
    Ok(())
}

/// Among indices that end their buffer, too.
fn a_table_that_nobody_looked_up_has_a_gradient_of_zeros() -> Result {
    let wgpu = own();
    let indices = wgpu.upload_i64(&[0; 32], &[32])?.slice(32, 0)?;
    let grad = vector(&wgpu, &[1.0; 64], DType::F32).slice(64, 0)?.reshape(&[0, 3])?;
    let gradient = wgpu.embedding_backward(&grad, &indices, 2)?;
    assert_eq!(wgpu.download(&gradient)?, [0.0; 6]);
    Ok(())
}
