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
