//! Values as Python writes them.

/// `repr` of a float: the shortest decimal that reads back.
pub(super) fn repr(x: f64) -> String {
    let shortest = format!("{x:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    match exponent.parse::<i32>() {
        _ if x.is_nan() => "nan".into(),
        _ if x.is_infinite() => shortest,
        Ok(-4..16) => format!("{x:?}"),
        Ok(exponent) if exponent < 0 => format!("{digits}e-{:02}", -exponent),
        Ok(exponent) => format!("{digits}e+{exponent:02}"),
        Err(_) => shortest,
    }
}

/// Writes a list as Python does.
pub(super) fn list(values: &[f32]) -> String {
    let values: Vec<_> = values.iter().map(|&x| repr(x.into())).collect();
    format!("[{}]", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (x, written) in [
            (65536.0, "65536.0"),
            (-2.0, "-2.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.000_015, "1.5e-05"),
            (1e16, "1e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (9.999_946_101_114_76e-41, "9.99994610111476e-41"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-0.0, "-0.0"),
        ] {
            assert_eq!(repr(x), written);
        }
        assert_eq!(list(&[1.0, f32::NAN]), "[1.0, nan]");
    }
}
