//! Policies as people write them: tables and overrides in TOML, types in words.

use binade_cast_policy::{OpTable, Overrides};
use binade_interchange::DTypePolicy;

pub(super) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(table) = OpTable::from_toml(text) {
        assert_eq!(OpTable::from_toml(&table.to_toml()).as_ref(), Ok(&table), "{text}");
    }
    if let Ok(layers) = Overrides::from_toml(text) {
        assert_eq!(Overrides::from_toml(&layers.to_toml()).as_ref(), Ok(&layers), "{text}");
    }
    if let Ok(policy) = text.parse::<DTypePolicy>() {
        assert_eq!(policy.to_string().parse::<DTypePolicy>(), Ok(policy), "{text}");
    }
    let _ = DTypePolicy::keras(text);
}
