//! Policies as people write them: tables and overrides in TOML, types in words.

use binade_cast_policy::{OpTable, Overrides};
use binade_interchange::DTypePolicy;

pub(super) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(table) = toml::from_str::<OpTable>(text) {
        assert_eq!(
            toml::from_str(&toml::to_string(&table).expect("it is TOML")),
            Ok(table),
            "{text}"
        );
    }
    if let Ok(layers) = toml::from_str::<Overrides<OpTable>>(text) {
        assert_eq!(
            toml::from_str(&toml::to_string(&layers).expect("it is TOML")),
            Ok(layers),
            "{text}"
        );
    }
    if let Ok(policy) = text.parse::<DTypePolicy>() {
        assert_eq!(policy.to_string().parse::<DTypePolicy>(), Ok(policy), "{text}");
    }
    let _ = DTypePolicy::keras(text);
}
