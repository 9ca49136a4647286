//! Policies made of lists of names.

use crate::preset::{self, Preset};
use crate::{CastPolicy, CastRule, Category, OpCall, PolicyError};
use binade_core::Op;
use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr, sync::LazyLock};

/// Policy that looks an operation up by name, ignoring overload suffixes (`softmax` finds `softmax.int`).
///
/// Registered rules win over the preset's lists. An operation on neither runs in the types it is given, or, after
/// [`strict`](Self::strict), is refused. The type is the region's: one table serves bf16 and f16.
#[derive(Clone)]
pub struct OpTable {
    pub(crate) preset: &'static Preset,
    pub(crate) registered: BTreeMap<Box<str>, CastRule>,
    pub(crate) strict: bool,
    /// Rule of each operation of [`Op::ALL`], which this table answers without comparing names.
    known: Box<[CastRule]>,
}

/// Rule of `binary_cross_entropy`, the one operation that any preset bans.
static BANNED: LazyLock<CastRule> = LazyLock::new(|| {
    CastRule::Banned(
        "16 bits round a sigmoid to exactly 0 or 1, whose logarithms are infinite; use \
         `binary_cross_entropy_with_logits`, which takes the logits, or run this with autocast off on f32 operands"
            .into(),
    )
});

impl OpTable {
    /// Ids of all presets, by which a saved table or a command line names them; a table is parsed from one.
    pub const IDS: [&'static str; 4] = preset::IDS;

    /// Returns torch 2.15's table for CUDA, the widest of the lists.
    pub fn torch_cuda() -> Self {
        Self::of(&preset::TORCH_CUDA)
    }

    /// Returns torch 2.15's table for CPU: exponentials, softmax, norms and sums are on no list there.
    pub fn torch_cpu() -> Self {
        Self::of(&preset::TORCH_CPU)
    }

    /// Returns the table of operations that Apex's O1 patched: its functional, torch and tensor lists in one.
    pub fn apex_o1() -> Self {
        Self::of(&preset::APEX_O1)
    }

    /// Returns a table without lists: an operation that is not registered is unlisted.
    pub fn empty() -> Self {
        Self::of(&preset::EMPTY)
    }

    pub(crate) fn of(preset: &'static Preset) -> Self {
        // The rule is made with the table, so that an answer does not allocate.
        LazyLock::force(&BANNED);
        let table =
            Self { preset, registered: BTreeMap::new(), strict: false, known: Box::default() };
        table.with_known_rules()
    }

    fn with_known_rules(self) -> Self {
        let known = Op::ALL.iter().map(|op| self.look_up(op.name())).collect();
        Self { known, ..self }
    }

    /// Returns the rule of an operation by its name.
    fn look_up(&self, name: &str) -> CastRule {
        if let Some(rule) = self.registered.get(name) {
            return rule.clone();
        }
        let unlisted = if self.strict { CastRule::Unlisted } else { CastRule::Untouched };
        self.find(name).map_or(unlisted, |(category, _)| self.of_category(category))
    }

    /// Registers the rule of the operation `name`, on a list or not. The latest one counts.
    #[must_use]
    pub fn register(mut self, name: impl Into<Box<str>>, rule: CastRule) -> Self {
        self.registered.insert(name.into(), rule);
        self.with_known_rules()
    }

    /// Refuses operations that are on no list and were not registered.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }.with_known_rules()
    }

    /// Returns the names on a list, exactly as the framework has them, sorted by byte.
    pub fn listed(&self, category: Category) -> impl Iterator<Item = &'static str> + use<> {
        let lists = self.preset.lists.iter().filter(move |(c, _)| *c == category);
        lists.flat_map(|(_, names)| names.iter().copied())
    }

    /// Returns the preset's list that has `operation`, and its name there; registered rules are not looked at.
    pub fn find(&self, operation: &str) -> Option<(Category, &'static str)> {
        self.preset.find(operation)
    }

    fn of_category(&self, category: Category) -> CastRule {
        match category {
            Category::Lower => CastRule::Lower,
            Category::F32 => CastRule::F32,
            Category::F32Output | Category::F32Append => CastRule::F32Output,
            Category::Promote if self.preset.strict_promotion => CastRule::PromoteStrict,
            Category::Promote | Category::BuiltinPromote => CastRule::Promote,
            Category::Banned => BANNED.clone(),
        }
    }
}

/// Reads a preset by its id.
impl FromStr for OpTable {
    type Err = PolicyError;

    fn from_str(id: &str) -> Result<Self, PolicyError> {
        let found = preset::ALL.into_iter().find(|preset| preset.id == id);
        found.map(Self::of).ok_or_else(|| PolicyError::Preset { id: id.into() })
    }
}

impl CastPolicy for OpTable {
    fn rule(&self, call: &OpCall<'_>) -> CastRule {
        match call.op.index() {
            Some(index) => self.known[index].clone(),
            None => self.look_up(call.op.name()),
        }
    }

    fn reason(&self, call: &OpCall<'_>) -> Cow<'static, str> {
        let (name, title) = (call.op.name(), self.preset.title);
        if self.registered.contains_key(name) {
            return Cow::Owned(format!("`{name}` was registered so"));
        }
        Cow::Owned(match self.find(name) {
            Some((category, listed)) => format!("{title} has `{listed}` on its {category} list"),
            None => format!("{title} has `{name}` on no list"),
        })
    }
}

impl fmt::Debug for OpTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpTable")
            .field("preset", &self.preset.id)
            .field("registered", &self.registered)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

impl PartialEq for OpTable {
    fn eq(&self, other: &Self) -> bool {
        (self.preset.id, self.strict, &self.registered)
            == (other.preset.id, other.strict, &other.registered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_operation_has_the_rule_of_its_name() {
        let mine = |table: OpTable| {
            table.register("linear", CastRule::F32).register("mine", CastRule::Lower)
        };
        for preset in preset::ALL {
            let table = OpTable::of(preset);
            for table in [table.clone(), mine(table.clone()), mine(table.strict())] {
                for op in Op::ALL {
                    assert_eq!(
                        table.rule(&(*op).into()),
                        table.look_up(op.name()),
                        "{table:?} {op:?}"
                    );
                }
            }
        }
    }
}
