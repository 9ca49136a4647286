//! Words of serialised values (feature `serde`).
#![cfg(feature = "serde")]

use binade_core::{
    DType::{self, BF16, Bool, E4M3, E5M2, F16, F32, F64, I32, I64, U8},
    FoundInf,
    cast::OnOverflow,
    stochastic::Key,
};

#[test]
fn a_type_is_written_by_its_name() {
    for dtype in [BF16, F16, F32, F64, E4M3, E5M2, I64, I32, U8, Bool] {
        let written = serde_json::to_string(&dtype).unwrap();
        assert_eq!(written, format!("\"{dtype}\""));
        assert_eq!(serde_json::from_str::<DType>(&written).unwrap(), dtype);
    }
}

#[test]
fn an_overflow_rule_is_written_in_words() {
    for (rule, expected) in
        [(OnOverflow::Saturate, "\"saturate\""), (OnOverflow::NonFinite, "\"non_finite\"")]
    {
        assert_eq!(serde_json::to_string(&rule).unwrap(), expected);
        assert_eq!(serde_json::from_str::<OnOverflow>(expected).unwrap(), rule);
    }
}

#[test]
fn a_key_comes_back() {
    let key = Key { seed: u64::MAX, parameter: 3, step: 4 };
    let written = serde_json::to_string(&key).unwrap();
    assert_eq!(serde_json::from_str::<Key>(&written).unwrap(), key);
}

#[test]
fn a_finding_of_what_is_no_number_comes_back() {
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let mut finding = FoundInf { norm: Some(bad), ..FoundInf::default() };
        finding.check(&"a.weight".into(), 2, bad, bad);
        finding.missing.push("c.bias".into());
        let written = serde_json::to_string(&finding).unwrap();
        let back: FoundInf = serde_json::from_str(&written).unwrap();
        assert_eq!(format!("{back:?}"), format!("{finding:?}"));
        let (was, is) = (finding.overflow.unwrap(), back.overflow.unwrap());
        assert_eq!(is.what(), was.what(), "{written}");
        assert_eq!(is.unscaled.total_cmp(&was.unscaled), std::cmp::Ordering::Equal);
        assert_eq!(back.norm.unwrap().total_cmp(&bad), std::cmp::Ordering::Equal);
    }
}
