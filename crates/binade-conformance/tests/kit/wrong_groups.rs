//! Subjects that are wrong in one way each where sets are clipped by groups.

use crate::faulty::Fault;
use crate::toy::{Elements, Plain, Toy};
use crate::toy_sets::{each, norm};
use binade_conformance::{Clip, Result, Subject, UnscaleResult};
use binade_core::NamedGrads;
use binade_grad_scaler::{ClipGroup, Norm, ScaleState, clip_factor};

/// The toy, with one thing done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Apart {
    GoesByTheNormOfAll,
    DividesByMoreThanTheNorm,
    TakesTheRestForAGroup,
    ClipsEachParameterAlone,
    TakesEveryNormForL2,
    GoesByTheFirstLimit,
    MeasuresWhatIsScaled,
    MeasuresBeforeEarlierClips,
    SumsSquaresInF32,
    PassesOverTheFifthParameter,
    CountsATinyNumberBehindTheLast,
    KeepsTheVerdict,
    NamesTheGroupForAnyOverflow,
    NamesTheLastSuchGroup,
    RecordsTheNormOfAGroup,
    TakesAnyLimit,
    TakesANameTwice,
    PassesOverUnknownNames,
}
use Apart::*;

impl Fault for Apart {
    fn clip_groups(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<UnscaleResult<Plain>> {
        let groups = self.understood(&grads, groups);
        Toy.clip_groups(grads.clone(), scale, None, &groups)?;
        let UnscaleResult { grads: unclipped, .. } = Toy.unscale(grads.clone(), scale)?;
        let UnscaleResult { grads: mut all, mut found } =
            Toy.clip_groups(grads.clone(), scale, first, &[])?;
        let already = found.overflow.take();
        for group in &groups {
            let seen = match self {
                MeasuresWhatIsScaled => &grads,
                MeasuresBeforeEarlierClips => &unclipped,
                _ => &all,
            };
            let norm = self.measure(seen, group);
            match self {
                KeepsTheVerdict => {}
                RecordsTheNormOfAGroup => found.record_norm(norm),
                NamesTheLastSuchGroup if norm > f64::from(f32::MAX) => {
                    found.overflow = None;
                    found.check_norm(&group.norm_name(), norm);
                }
                _ => {
                    found.check_norm(&group.norm_name(), norm);
                }
            }
            let more = if *self == DividesByMoreThanTheNorm { 1e-6 } else { 0.0 };
            shrink(&mut all, group, clip_factor(norm + more, group.max));
        }
        let by_group = found.overflow.take();
        found.overflow = match self {
            NamesTheGroupForAnyOverflow => by_group.or(already),
            _ => already.or(by_group),
        };
        Ok(UnscaleResult { grads: all, found })
    }
}

impl Apart {
    /// The groups that it takes these for.
    fn understood(self, grads: &NamedGrads<Plain>, groups: &[ClipGroup]) -> Vec<ClipGroup> {
        let mut groups = groups.to_vec();
        match self {
            TakesTheRestForAGroup => groups.extend(rest(grads, &groups)),
            ClipsEachParameterAlone => groups = groups.iter().flat_map(one_by_one).collect(),
            TakesAnyLimit => groups.retain(|group| group.max > 0.0),
            _ => {}
        }
        let first = groups.first().map_or(1.0, |group| group.max);
        let fit = groups.iter().all(|group| group.max > 0.0);
        let mut seen = Vec::new();
        for group in &mut groups {
            match self {
                TakesEveryNormForL2 => group.norm = Norm::L2,
                GoesByTheFirstLimit if fit => group.max = first,
                TakesANameTwice => {
                    group.parameters.retain(|name| !seen.contains(name));
                    group.parameters.dedup();
                    seen.extend(group.parameters.clone());
                }
                PassesOverUnknownNames => {
                    group.parameters.retain(|name| grads.iter().any(|grad| *grad.name == **name));
                }
                _ => {}
            }
        }
        groups
    }

    fn measure(self, grads: &NamedGrads<Plain>, group: &ClipGroup) -> f64 {
        match self {
            GoesByTheNormOfAll => norm(grads, group.norm),
            SumsSquaresInF32 if group.norm == Norm::L2 => {
                let own = members(grads, group);
                let values = own.iter().filter_map(|g| g.value.as_ref()).flat_map(Plain::read);
                f64::from(values.fold(0.0_f32, |sum, x| sum + x * x).sqrt())
            }
            PassesOverTheFifthParameter => {
                let mut own = members(grads, group);
                if own.len() > 4 {
                    own.remove(4);
                }
                norm(&own, group.norm)
            }
            CountsATinyNumberBehindTheLast if group.norm == Norm::L2 => {
                norm(&members(grads, group), Norm::L2).hypot(2.0_f64.powi(-36))
            }
            _ => norm(&members(grads, group), group.norm),
        }
    }
}

/// Parameters that no group names, by the limit of the last.
fn rest(grads: &NamedGrads<Plain>, groups: &[ClipGroup]) -> Option<ClipGroup> {
    let last = groups.last()?.clone();
    let rest = grads.iter().map(|grad| &grad.name);
    let rest = rest.filter(|name| !groups.iter().any(|group| is_of(group, name)));
    Some(ClipGroup { parameters: rest.map(ToString::to_string).collect(), ..last })
}

fn one_by_one(group: &ClipGroup) -> Vec<ClipGroup> {
    let alone = |name: &String| ClipGroup { parameters: vec![name.clone()], ..group.clone() };
    group.parameters.iter().map(alone).collect()
}

fn members(grads: &NamedGrads<Plain>, group: &ClipGroup) -> NamedGrads<Plain> {
    grads.iter().filter(|grad| is_of(group, &grad.name)).cloned().collect()
}

/// Multiplies a group's gradients.
fn shrink(grads: &mut NamedGrads<Plain>, group: &ClipGroup, factor: f32) {
    for grad in grads.iter_mut().filter(|grad| is_of(group, &grad.name)) {
        each(std::slice::from_mut(grad), |x| x * factor);
    }
}

fn is_of(group: &ClipGroup, name: &str) -> bool {
    group.parameters.iter().any(|parameter| parameter == name)
}
