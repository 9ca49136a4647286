//! Floating-point numbers in JSON by their bits: whoever prints or parses decimals, nothing is lost.

use serde_json::{Map, Number, Value};

/// The key of the bits, in hexadecimal.
const BITS: &str = "f64";
/// The key of the same number for people.
const READS: &str = "reads";

/// `value` with every floating-point number as its bits.
pub(crate) fn written(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => by_bits(&number),
        Value::Array(items) => Value::Array(items.into_iter().map(written).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, written(value))).collect())
        }
        other => other,
    }
}

/// What [`written`] was given; bits that are no number become null, which no field takes for one.
pub(crate) fn read(value: Value) -> Value {
    match value {
        Value::Object(fields) => match bits(&fields) {
            Some(bits) => Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number),
            None => {
                Value::Object(fields.into_iter().map(|(key, value)| (key, read(value))).collect())
            }
        },
        Value::Array(items) => Value::Array(items.into_iter().map(read).collect()),
        other => other,
    }
}

fn by_bits(number: &Number) -> Value {
    let bits = number.as_f64().unwrap_or(f64::NAN).to_bits();
    let fields = [
        (BITS.to_owned(), Value::String(format!("{bits:016x}"))),
        (READS.to_owned(), Value::String(number.to_string())),
    ];
    Value::Object(Map::from_iter(fields))
}

fn bits(fields: &Map<String, Value>) -> Option<u64> {
    let is_number = fields.len() == 2 && fields.contains_key(READS);
    let bits = fields.get(BITS).filter(|_| is_number)?.as_str()?;
    u64::from_str_radix(bits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(x: f64) -> f64 {
        let text = serde_json::to_string(&written(Value::from(x))).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(read(value)).unwrap()
    }

    #[test]
    fn numbers_keep_their_bits() {
        let mut random = fastrand::Rng::with_seed(1);
        let any = std::iter::repeat_with(|| f64::from_bits(random.u64(..))).take(10_000);
        let edges = [0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.1, 1.0, -1.0];
        for x in any.chain(edges).filter(|x| x.is_finite()) {
            assert_eq!(round_trip(x).to_bits(), x.to_bits(), "{x:e}");
        }
    }

    #[test]
    fn a_number_in_single_precision_keeps_its_bits_too() {
        let mut random = fastrand::Rng::with_seed(2);
        let any = std::iter::repeat_with(|| f32::from_bits(random.u32(..))).take(10_000);
        for x in any.filter(|x| x.is_finite()) {
            let text = serde_json::to_string(&written(serde_json::to_value(x).unwrap())).unwrap();
            let back: f32 =
                serde_json::from_value(read(serde_json::from_str(&text).unwrap())).unwrap();
            assert_eq!(back.to_bits(), x.to_bits(), "{x:e}");
        }
    }

    #[test]
    fn integers_and_words_stay_as_they_are() {
        let value =
            serde_json::json!({"n": u64::MAX, "word": "1.5", "none": null, "list": [1, -1]});
        assert_eq!(written(value.clone()), value);
        assert_eq!(read(value.clone()), value);
    }
}
