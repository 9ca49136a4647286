//! Subjects that are wrong in one way each where sets are clipped by groups.

use crate::toy::{Plain, Toy};
use crate::toy_groups::{begun, members, refuse, shrink};
use crate::toy_sets::norm;
use binade_conformance::{Arithmetic, Clip, Refusal, Subject, Unscaled};
use binade_core::{DType, NamedGrads};
use binade_grad_scaler::{ClipGroup, Norm, ScaleState, check_group_norm, clip_factor, record_norm};

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
    KeepsTheVerdict,
    NamesTheGroupForAnyOverflow,
    NamesTheLastSuchGroup,
    RecordsTheNormOfAGroup,
    TakesAnyLimit,
    TakesANameTwice,
    PassesOverUnknownNames,
}
use Apart::*;

impl Subject for Apart {
    type Tensor = Plain;

    fn name(&self) -> &'static str {
        "apart"
    }

    fn arithmetic(&self) -> Arithmetic {
        Toy.arithmetic()
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Plain, Refusal> {
        Toy.from_bits(bits, dtype, shape)
    }

    fn to_bits(&self, tensor: &Plain) -> Result<Vec<u8>, Refusal> {
        Toy.to_bits(tensor)
    }

    fn clip_groups(
        &self,
        grads: NamedGrads<Plain>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled<Plain>, Refusal> {
        let groups = self.understood(&grads, groups);
        refuse(&grads, &groups)?;
        let Unscaled { grads: unclipped, .. } = Toy.unscale(grads.clone(), scale)?;
        let Unscaled { grads: mut all, mut found } = begun(grads.clone(), scale, first)?;
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
                RecordsTheNormOfAGroup => record_norm(&mut found, norm),
                NamesTheLastSuchGroup if norm > f64::from(f32::MAX) => {
                    found.overflow = None;
                    check_group_norm(&mut found, group, norm);
                }
                _ => check_group_norm(&mut found, group, norm),
            }
            let more = if *self == DividesByMoreThanTheNorm { 1e-6 } else { 0.0 };
            shrink(&mut all, group, clip_factor(norm + more, group.max));
        }
        let by_group = found.overflow.take();
        found.overflow = match self {
            NamesTheGroupForAnyOverflow => by_group.or(already),
            _ => already.or(by_group),
        };
        Ok(Unscaled { grads: all, found })
    }
}

impl Apart {
    /// The groups that it takes these for.
    fn understood(self, grads: &NamedGrads<Plain>, groups: &[ClipGroup]) -> Vec<ClipGroup> {
        let mut groups = groups.to_vec();
        let is_wrong = |max: f32| max.is_nan() || max <= 0.0;
        match self {
            TakesTheRestForAGroup => {
                let named = |name: &str| {
                    groups.iter().flat_map(|group| &group.parameters).any(|it| it == name)
                };
                let names = grads.iter().map(|grad| grad.name.to_string());
                let rest: Vec<String> = names.filter(|name| !named(name)).collect();
                if let Some(last) = groups.last().cloned() {
                    groups.push(ClipGroup { parameters: rest, ..last });
                }
            }
            ClipsEachParameterAlone => {
                let alone = |group: &ClipGroup| {
                    let group = group.clone();
                    let names = group.parameters.clone().into_iter();
                    names.map(move |name| ClipGroup { parameters: vec![name], ..group.clone() })
                };
                groups = groups.iter().flat_map(alone).collect();
            }
            TakesEveryNormForL2 => groups.iter_mut().for_each(|group| group.norm = Norm::L2),
            GoesByTheFirstLimit if groups.iter().all(|group| !is_wrong(group.max)) => {
                let max = groups.first().map_or(1.0, |group| group.max);
                groups.iter_mut().for_each(|group| group.max = max);
            }
            TakesAnyLimit => groups.retain(|group| !is_wrong(group.max)),
            TakesANameTwice => {
                let mut seen = Vec::new();
                for group in &mut groups {
                    group.parameters.retain(|name| {
                        let is_new = !seen.contains(name);
                        seen.push(name.clone());
                        is_new
                    });
                }
            }
            PassesOverUnknownNames => {
                let known = |name: &String| grads.iter().any(|grad| *grad.name == **name);
                groups.iter_mut().for_each(|group| group.parameters.retain(known));
            }
            _ => {}
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
            _ => norm(&members(grads, group), group.norm),
        }
    }
}
