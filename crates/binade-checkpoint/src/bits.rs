//! Floating-point numbers in JSON by their bits, which no printing or parsing of decimals changes.

use serde_json::{Map, Number, Value};

/// Key of the bits, in hexadecimal.
const BITS: &str = "f64";
/// Key of the same number for people.
const READS: &str = "reads";

/// Returns `value` with every floating-point number as its bits.
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

/// Number that its field cannot hold.
pub(crate) struct NotFinite {
    /// Path of keys that leads to it.
    pub(crate) field: String,
    /// Number as the file has it.
    pub(crate) value: String,
}

/// Returns the value that [`written`] got.
///
/// JSON has no infinity and no NaN, and their bits would be lost here: the first of them is an error.
pub(crate) fn read(value: Value) -> Result<Value, NotFinite> {
    read_at("", value)
}

fn read_at(path: &str, value: Value) -> Result<Value, NotFinite> {
    match value {
        Value::Object(fields) => {
            if let Some(bits) = bits(&fields) {
                return finite(path, f64::from_bits(bits));
            }
            let fields = fields.into_iter().map(|(key, value)| {
                let value = read_at(&within(path, &key), value)?;
                Ok((key, value))
            });
            fields.collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Array(items) => {
            let items = items.into_iter().enumerate();
            let items = items.map(|(place, item)| read_at(&format!("{path}[{place}]"), item));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        other => Ok(other),
    }
}

fn finite(path: &str, number: f64) -> Result<Value, NotFinite> {
    let none = || NotFinite { field: path.to_owned(), value: number.to_string() };
    Number::from_f64(number).map(Value::Number).ok_or_else(none)
}

/// Returns the first number of `read` that is not finite in `held`, the typed value: one beyond `f32` in a field of that type.
pub(crate) fn lost(read: &Value, held: &Value) -> Option<NotFinite> {
    lost_at("", read, held)
}

fn lost_at(path: &str, read: &Value, held: &Value) -> Option<NotFinite> {
    match (read, held) {
        (Value::Object(fields), Value::Object(held)) => fields
            .iter()
            .find_map(|(key, value)| lost_at(&within(path, key), value, held.get(key)?)),
        (Value::Array(items), Value::Array(held)) => {
            let mut pairs = items.iter().zip(held).enumerate();
            pairs.find_map(|(place, (item, held))| lost_at(&format!("{path}[{place}]"), item, held))
        }
        (Value::Number(number), held) if !held.is_number() => {
            Some(NotFinite { field: path.to_owned(), value: number.to_string() })
        }
        _ => None,
    }
}

/// Returns a path as `serde_path_to_error` writes it.
fn within(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
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
        serde_json::from_value(whole(value)).unwrap()
    }

    fn whole(value: Value) -> Value {
        read(value).unwrap_or_else(|wrong| panic!("{} is {}", wrong.field, wrong.value))
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
                serde_json::from_value(whole(serde_json::from_str(&text).unwrap())).unwrap();
            assert_eq!(back.to_bits(), x.to_bits(), "{x:e}");
        }
    }

    #[test]
    fn integers_and_words_stay_as_they_are() {
        let value =
            serde_json::json!({"n": u64::MAX, "word": "1.5", "none": null, "list": [1, -1]});
        assert_eq!(written(value.clone()), value);
        assert_eq!(whole(value.clone()), value);
    }
}
