//! Meetings: every rank gives its statement, and all return the same found-inf result or the same error.

use crate::{
    Desync, Group, GroupError,
    header::{Call, Header, WORDS},
    model::{self, Entry},
};
use binade_core::{FoundInf, MergeRule};

/// Statement of one rank in a meeting.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) call: Call,
    /// Text that must be the same on all ranks.
    pub(crate) setting: String,
    pub(crate) model: Vec<Entry>,
    /// Number of this rank's sets of gradients.
    pub(crate) shards: usize,
    pub(crate) found: FoundInf,
}

impl Statement {
    /// Makes the statement of a call that needs only equal settings.
    pub(crate) fn of(call: Call, setting: String) -> Self {
        Self { call, setting, model: Vec::new(), shards: 0, found: FoundInf::default() }
    }
}

/// Outcome of a meeting, the same on all ranks.
#[derive(Debug)]
pub(crate) struct Met {
    /// Parameters, with type and shape of each gradient that any rank has.
    pub(crate) model: Vec<Entry>,
    /// Number of sets of each rank.
    pub(crate) shards: Vec<usize>,
    /// Found-inf results of all ranks, joined in the order of ranks.
    pub(crate) found: FoundInf,
    /// Found-inf result of each rank.
    pub(crate) findings: Vec<FoundInf>,
}

/// Reason why the group cannot continue.
#[derive(Clone, Debug)]
pub(crate) enum Apart {
    Group(GroupError),
    Desync(Desync),
}

impl From<GroupError> for Apart {
    fn from(error: GroupError) -> Self {
        Self::Group(error)
    }
}

/// Meets the other ranks for the call with this sequence number.
///
/// All ranks first gather headers of a fixed length. Texts follow only if their hashes differ; the headers tell all ranks the lengths of the texts.
pub(crate) fn meet(group: &dyn Group, number: u64, own: Statement) -> Result<Met, Apart> {
    let Statement { call, setting, model, shards, found } = own;
    let encoded = model::encode(&model);
    let texts = [setting.as_bytes(), &encoded];
    let own = Header::new((number, call), texts, shards, &found, &model);
    let headers = headers(group, &own)?;
    let first = headers[0].call();
    let others = ranks(&headers, |header| header.call() != first);
    if let Some(other) = others.first() {
        let told = |[number, call]: [u64; 2]| format!("{} in meeting {number}", Call::name(call));
        let values = [told(first), told(headers[*other].call())];
        return Err(desync("their call", others, values));
    }
    let others = ranks(&headers, |header| header.setting() != headers[0].setting());
    if let Some(other) = others.first() {
        let texts = gather(group, setting.as_bytes(), &headers, Header::setting)?;
        let values = [0, *other].map(|rank| String::from_utf8_lossy(&texts[rank]).into_owned());
        return Err(desync(call.setting(), others, values));
    }
    let model = joint(group, &headers, (model, &encoded))?;
    let findings: Vec<FoundInf> = headers.iter().map(|header| header.found(&model)).collect();
    let found = findings.iter().cloned().reduce(|mut found, own| {
        found.merge(&own, MergeRule::Any);
        found
    });
    let lacking = model.iter().filter(|entry| !entry.is_whole);
    let missing = lacking.map(|entry| entry.name.clone()).collect();
    let found = FoundInf { missing, ..found.unwrap_or_default() };
    Ok(Met { model, shards: headers.iter().map(Header::shards).collect(), found, findings })
}

/// Returns the union of the ranks' models.
fn joint(
    group: &dyn Group,
    headers: &[Header],
    (own, encoded): (Vec<Entry>, &[u8]),
) -> Result<Vec<Entry>, Apart> {
    if headers.iter().all(|header| header.model() == headers[0].model()) {
        return Ok(own);
    }
    let models = gather(group, encoded, headers, Header::model)?;
    let mut models = models.iter().map(|bytes| model::decode(bytes));
    let mut joint = models.next().unwrap_or_default();
    let mut differences = Vec::new();
    for (rank, model) in models.enumerate() {
        if let Err(difference) = model::join(&mut joint, &model) {
            differences.push((rank + 1, difference));
        }
    }
    match differences.first() {
        None => Ok(joint),
        Some((_, values)) => {
            let ranks = differences.iter().map(|(rank, _)| *rank).collect();
            Err(desync("the model", ranks, values.clone()))
        }
    }
}

fn desync(what: &'static str, ranks: Vec<usize>, values: [String; 2]) -> Apart {
    Apart::Desync(Desync { what, ranks, values })
}

fn ranks(headers: &[Header], differs: impl Fn(&Header) -> bool) -> Vec<usize> {
    (0..headers.len()).filter(|rank| differs(&headers[*rank])).collect()
}

fn headers(group: &dyn Group, own: &Header) -> Result<Vec<Header>, GroupError> {
    let own: Vec<u8> = own.0.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut all = vec![0; own.len() * group.ranks()];
    group.all_gather(&own, &vec![own.len(); group.ranks()], &mut all)?;
    let (words, _) = all.as_chunks::<8>();
    let (rows, _) = words.as_chunks::<WORDS>();
    Ok(rows.iter().map(|row| Header(row.map(u64::from_le_bytes))).collect())
}

/// Gathers a text of every rank. Each header has its hash and length.
fn gather(
    group: &dyn Group,
    own: &[u8],
    headers: &[Header],
    of: impl Fn(&Header) -> [u64; 2],
) -> Result<Vec<Vec<u8>>, GroupError> {
    let length = |header| usize::try_from(of(header)[1]).unwrap_or(usize::MAX);
    let lengths: Vec<usize> = headers.iter().map(length).collect();
    let mut all = vec![0; lengths.iter().sum()];
    group.all_gather(own, &lengths, &mut all)?;
    let mut rest = all.into_iter();
    Ok(lengths.iter().map(|len| rest.by_ref().take(*len).collect()).collect())
}
