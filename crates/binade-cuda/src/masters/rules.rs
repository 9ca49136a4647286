//! Hyper-parameters on the device: one row for each rule that differs, or for each parameter where captured steps read them.

use crate::{
    CaptureError, Cuda, Error,
    kernels::PREPARE,
    launch::structs::{CORRECTION, RuleBits},
    memory::Buffer,
};
use binade_gpu::{RuleNumbers, Rules};
use binade_master_weights::{HostMasters, OptimizerConfig, UpdateRule};
use std::sync::Arc;

/// Rows of the longest table of corrections: 32 MiB, enough for betas up to 0.99999.
const MOST: u64 = 1 << 21;

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct CudaRules {
    pub(super) in_force: Rules<Buffer>,
    /// Table of masters whose step has been run for a capture.
    fixed: Option<RuleTable>,
}

/// Rules at one address, a row for each parameter by its number: a captured step reads them, and `set_config` writes to them between
/// replays. Whatever configuration comes, each parameter finds its rule where it was.
#[derive(Debug, Default)]
struct RuleTable {
    /// Device memory of the rows; `None` before the first step.
    buffer: Option<Arc<Buffer>>,
    bytes: Vec<u8>,
    /// The corrections that the rows have addresses in.
    corrections: Option<Arc<Buffer>>,
    /// True if steps count lost updates: a captured step has the address of the counts, or none.
    counted: bool,
    /// The kernel of each parameter's rule, and true if the rule clips by all gradients: a captured step has these launches.
    forms: Vec<(&'static str, bool)>,
    /// Gone with the steps that were captured for it.
    stands: Arc<()>,
}

impl CudaRules {
    /// Returns the number of `rule` for the parameter `slot`, a new one if it has none.
    pub(super) fn number(&mut self, rule: &UpdateRule, slot: u32) -> u32 {
        if self.fixed.is_some() { slot } else { self.in_force.number(rule) }
    }

    /// Returns the table of rules for the `attempts`-th attempted step.
    pub(super) fn table(&mut self, cuda: &Cuda, attempts: u64) -> Result<Arc<Buffer>, Error> {
        if let Some(fixed) = self.fixed.as_ref().and_then(|fixed| fixed.buffer.clone()) {
            return Ok(fixed);
        }
        self.in_force.need(attempts);
        let (rows, _) = self.rows(cuda, &self.in_force.listed.clone())?;
        cuda.table(&rows)
    }

    /// Gives rules one address for good, from the first run of a capture on.
    pub(super) fn fix(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        let recorder = &cuda.inner.pool.state;
        let is_new = recorder.running().is_some() && self.fixed.is_none();
        if is_new {
            self.fixed = Some(RuleTable::default());
        }
        if let Err(error) = self.write_fixed(cuda, kept) {
            // A configuration that cannot be captured still steps as ever.
            self.fixed = self.fixed.take().filter(|_| !is_new);
            return Err(error);
        }
        if let Some(fixed) = &self.fixed {
            recorder.replayed(|replay| replay.alive.push(Arc::downgrade(&fixed.stands)));
        }
        Ok(())
    }

    /// Puts the rules in force where captured steps read them, if there are such.
    pub(super) fn write_fixed(&mut self, cuda: &Cuda, kept: &HostMasters) -> Result<(), Error> {
        if self.fixed.is_none() {
            return Ok(());
        }
        let rules: Vec<_> = (0..).map_while(|id| kept.rule(id)).copied().collect();
        self.in_force.retain(&rules);
        let (rows, corrections) = self.whole_rows(cuda, &rules)?;
        let counted = kept.lost_updates().is_some();
        let form = |rule: &UpdateRule| (rule.kernel(), rule.needs_all_gradients());
        let forms = rules.iter().map(form).collect();
        let Some(fixed) = &mut self.fixed else { return Ok(()) };
        fixed.write(cuda, bytemuck::cast_slice(&rows), counted, forms)?;
        fixed.corrections = corrections;
        Ok(())
    }

    /// Refuses, before any change, a configuration that captured steps cannot receive, or that does not let parameters join.
    pub(super) fn admits(
        &mut self,
        cuda: &Cuda,
        kept: &HostMasters,
        config: &OptimizerConfig,
        joining: &[&str],
    ) -> Result<(), Error> {
        if self.fixed.is_none() {
            return Ok(());
        }
        let names = (0..).map_while(|id| kept.name(id)).map(|name| &**name);
        let names = names.chain(joining.iter().copied());
        let rules: Vec<_> = names.map(|name| *config.rule_for(name)).collect();
        let (rows, _) = self.whole_rows(cuda, &rules)?;
        let known = rows.get(..rows.len() - joining.len()).unwrap_or_default();
        let bytes: &[u8] = bytemuck::cast_slice(known);
        if self.fixed.as_ref().is_none_or(|fixed| fixed.bytes == bytes) {
            return Ok(());
        }
        let why = CaptureError::Upload { bytes: bytes.len() };
        cuda.inner.pool.state.refuse("set_config", why)
    }

    /// Returns a row for each of `rules` whose corrections are whole, for steps whose count the host does not know when it replays
    /// them.
    fn whole_rows(
        &mut self,
        cuda: &Cuda,
        rules: &[UpdateRule],
    ) -> Result<(Vec<RuleBits>, Option<Arc<Buffer>>), Error> {
        for correction in rules.iter().filter_map(UpdateRule::correction) {
            if !self.in_force.need_whole(correction, MOST) {
                let why = CaptureError::Correction { of: format!("{correction:?}"), most: MOST };
                return Err(why.of(PREPARE));
            }
        }
        self.rows(cuda, rules)
    }

    /// Returns a row for each of `rules`, and the corrections that they have addresses in.
    fn rows(
        &mut self,
        cuda: &Cuda,
        rules: &[UpdateRule],
    ) -> Result<(Vec<RuleBits>, Option<Arc<Buffer>>), Error> {
        let is_corrected = rules.iter().any(|rule| rule.correction().is_some());
        let upload = |rows: &[u8]| cuda.lasting_of(rows);
        let corrections =
            is_corrected.then(|| self.in_force.corrections(upload).cloned()).transpose()?;
        let row = |rule: &UpdateRule| {
            let RuleNumbers { negative_lr, corrections: [first, count], constants, has_divisors } =
                self.in_force.numbers_of(rule);
            let at = corrections.as_ref().filter(|_| count > 0);
            RuleBits {
                negative_lr,
                corrections: at.map_or(0, |rows| rows.address() + (CORRECTION * first) as u64),
                correction_count: count as u64,
                constants,
                has_divisors,
                pad: 0,
            }
        };
        Ok((rules.iter().map(row).collect(), corrections))
    }
}

impl RuleTable {
    fn write(
        &mut self,
        cuda: &Cuda,
        bytes: &[u8],
        counted: bool,
        forms: Vec<(&'static str, bool)>,
    ) -> Result<(), Error> {
        if self.counted != counted || self.forms != forms {
            (self.counted, self.forms, self.stands) = (counted, forms, Arc::default());
        }
        if self.bytes == bytes {
            return Ok(());
        }
        match &self.buffer {
            Some(buffer) if buffer.bytes() == bytes.len() => cuda.put(bytes, buffer, 0)?,
            _ => self.buffer = Some(Arc::new(cuda.lasting_of(bytes)?)),
        }
        cuda.inner.counters.tables.add(1);
        cuda.inner.counters.table_bytes.add(bytes.len());
        bytes.clone_into(&mut self.bytes);
        Ok(())
    }
}
