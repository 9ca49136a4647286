//! What takes indices and random words: cross-entropy, embedding, dropout.

use crate::support::{
    Result, TYPES, assert_near, assert_same, both, kind, mixed, narrow, noise, own, vector, wgpu,
    wide, with_mass,
};
use binade_core::{DType, ErrorKind};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, ScaleState, ScaleStore};
use binade_ops::{CrossEntropy, Download, Dropout, Embedding, Upload};
use binade_wgpu::Error;

crate::tests![
    losses_and_gradients_are_near_the_cpus,
    a_label_that_is_no_class_is_told_when_something_is_read,
    rows_of_a_table_are_copied_bit_for_bit,
    gradients_of_a_table_are_the_cpus_bit_for_bit,
    an_index_that_points_nowhere_is_told_once_and_its_row_is_nan,
    a_step_tells_of_an_index_unless_a_download_has_since,
    dropout_drops_what_the_cpu_drops,
    a_table_that_nobody_looked_up_has_a_gradient_of_zeros,
    operands_that_do_not_fit_are_refused,
];

/// As labels and indices have it.
fn index(of: usize) -> i64 {
    i64::try_from(of).unwrap()
}

fn losses_and_gradients_are_near_the_cpus() -> Result {
    for wgpu in [wgpu(), narrow()] {
        let (grad, on_cpu) = both(&wgpu, &[-1.5], &[], DType::F32);
        for dtype in TYPES {
            for (rows, classes) in [(1, 1), (5, 10), (64, 3), (300, 7), (3, 700)] {
                let logits: Vec<f32> = noise(1, rows * classes).iter().map(|x| 10.0 * x).collect();
                let (x, p) = both(&wgpu, &logits, &[rows, classes], dtype);
                let labels: Vec<i64> = (0..rows).map(|i| index(i * 7 % classes)).collect();
                let (l, m) =
                    (wgpu.upload_i64(&labels, &[rows])?, Cpu.upload_i64(&labels, &[rows])?);
                let what = format!("{rows} x {classes}");
                let got = wgpu.cross_entropy(&x, &l)?;
                let want = Cpu.cross_entropy(&wide(&p), &m)?;
                let want = with_mass(&want, |_, loss| 40.0 * loss.abs() + 80.0);
                assert_near(&wgpu.download(&got)?, &want, DType::F32, &what);
                let got = wgpu.cross_entropy_backward(&grad, &x, &l)?;
                assert_eq!((got.dtype(), got.shape()), (dtype, x.shape()));
                let want = Cpu.cross_entropy_backward(&on_cpu, &wide(&p), &m)?;
                let share = 1.5 / f64::from(u32::try_from(rows)?);
                let want = with_mass(&want, |_, value| 150.0 * share + 4.0 * value.abs());
                assert_near(&wgpu.download(&got)?, &want, dtype, &what);
            }
        }
    }
    let wgpu = wgpu();
    let none = wgpu.upload(&[], &[0, 3], DType::F16)?;
    let loss = wgpu.cross_entropy(&none, &wgpu.upload_i64(&[], &[0])?)?;
    assert!(wgpu.download(&loss)?[0].is_nan());
    Ok(())
}

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

fn rows_of_a_table_are_copied_bit_for_bit() -> Result {
    for wgpu in [wgpu(), narrow()] {
        for dtype in TYPES {
            for (rows, width) in [(1, 1), (5, 3), (9, 80)] {
                let (table, on_cpu) = both(&wgpu, &mixed(3, rows * width), &[rows, width], dtype);
                let indices: Vec<i64> = (0..42).map(|i| index(i * i % rows)).collect();
                let (i, j) =
                    (wgpu.upload_i64(&indices, &[6, 7])?, Cpu.upload_i64(&indices, &[6, 7])?);
                let got = wgpu.embedding(&table, &i)?;
                assert_eq!(got.shape(), [6, 7, width]);
                assert_eq!(wgpu.to_bits(&got)?, Cpu.embedding(&on_cpu, &j)?.to_bits());
            }
        }
    }
    Ok(())
}

fn gradients_of_a_table_are_the_cpus_bit_for_bit() -> Result {
    let wgpu = wgpu();
    for dtype in TYPES {
        for (rows, width, count) in [(1, 1, 3), (5, 3, 200), (9, 40, 17), (4, 5, 0)] {
            let (g, h) = both(&wgpu, &mixed(4, count * width), &[count, width], dtype);
            let indices: Vec<i64> = (0..count).map(|i| index(i * i % rows)).collect();
            let (i, j) =
                (wgpu.upload_i64(&indices, &[count])?, Cpu.upload_i64(&indices, &[count])?);
            let got = wgpu.to_bits(&wgpu.embedding_backward(&g, &i, rows)?)?;
            let want = Cpu.embedding_backward(&h, &j, rows)?.to_bits();
            assert_same(&got, &want, dtype, &format!("{rows} x {width}, {count}"));
        }
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

fn dropout_drops_what_the_cpu_drops() -> Result {
    for wgpu in [wgpu(), narrow()] {
        for dtype in TYPES {
            for p in [0.0, 0.1, 0.5, 0.999, 1.0] {
                for key in [[7, 3], [-1, i64::MIN], [1 << 40, 5 << 33]] {
                    let (x, q) = both(&wgpu, &mixed(6, 4003), &[4003], dtype);
                    let (k, l) = (wgpu.upload_i64(&key, &[2])?, Cpu.upload_i64(&key, &[2])?);
                    let got = wgpu.to_bits(&wgpu.dropout(&x, &k, p)?)?;
                    let want = Cpu.dropout(&q, &l, p)?.to_bits();
                    assert_same(&got, &want, dtype, &format!("p = {p}"));
                    let got = wgpu.to_bits(&wgpu.dropout_backward(&x, &k, p)?)?;
                    assert_same(&got, &want, dtype, &format!("backward, p = {p}"));
                }
            }
        }
    }
    Ok(())
}

fn operands_that_do_not_fit_are_refused() -> Result {
    let wgpu = wgpu();
    let x = wgpu.upload(&[0.0; 6], &[2, 3], DType::F32)?;
    let labels = wgpu.upload_i64(&[0, 1], &[2])?;
    assert_eq!(kind(wgpu.cross_entropy(&x, &labels.slice(0, 1)?)), ErrorKind::Mismatch);
    assert_eq!(
        kind(wgpu.cross_entropy(&x, &vector(&wgpu, &[0.0; 2], DType::F32))),
        ErrorKind::Mismatch
    );
    assert_eq!(kind(wgpu.embedding(&labels, &labels)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.embedding_backward(&x, &labels.slice(0, 1)?, 3)), ErrorKind::Mismatch);
    assert_eq!(kind(wgpu.dropout(&x, &labels, 1.5)), ErrorKind::InvalidArgument);
    assert_eq!(kind(wgpu.dropout(&x, &labels.slice(0, 1)?, 0.5)), ErrorKind::Mismatch);
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
