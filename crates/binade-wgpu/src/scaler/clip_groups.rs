//! Clipping by groups: each is measured as a set is, and one pass multiplies them all.

use super::{Scale, clip::CLIP};
use crate::{
    Error, Gradients, Wgpu,
    dispatch::{
        Bound,
        structs::{self, count},
    },
    memory::Buffer,
    shaders::{Access::Write, Shader},
};
use binade_gpu::{Driver, Factors, Present};
use binade_grad_scaler::{ClipGroup, Norm, ScaleState, ScaleStore};

pub(super) const CLIP_GROUP: Shader = Shader {
    name: "clip_group",
    params: size_of::<structs::ClipOfGroup>(),
    bindings: &[(1, Write), (2, Write), (3, Write)],
    ..CLIP
};

impl Wgpu {
    /// Measures each group as a set is measured, and multiplies all in one pass.
    pub(crate) fn run_clip_groups(
        &self,
        grads: &Gradients,
        groups: &[ClipGroup],
        factors: &Factors<'_, Self>,
        verdict: &Buffer,
    ) -> Result<Gradients, Error> {
        // A value is measured times one factor alone, and these may be owed two.
        let values = match grads.owed {
            Some(_) => &grads.settled(self, f32::INFINITY)?,
            None => grads,
        };
        self.measure_groups(values, groups, factors, verdict)?;
        values.settled_by(self, Some(factors), f32::INFINITY)
    }

    /// Writes the factor of each group; raises the verdict.
    fn measure_groups(
        &self,
        grads: &Gradients,
        groups: &[ClipGroup],
        factors: &Factors<'_, Self>,
        verdict: &Buffer,
    ) -> Result<(), Error> {
        let one = self.upload_state(ScaleState::from_exponent(0))?;
        let mut members: Vec<Vec<Present<'_, Wgpu>>> = groups.iter().map(|_| Vec::new()).collect();
        for grad in grads.present() {
            let place = factors.places.get(grad.place).copied().flatten();
            if let Some(group) = place.and_then(|place| members.get_mut(place)) {
                group.push(grad);
            }
        }
        for (place, (group, members)) in groups.iter().zip(members).enumerate() {
            let params = structs::ClipOfGroup {
                norm: u32::from(group.norm == Norm::Infinity),
                most: group.max,
                name: self.names().number(&group.norm_name()),
                place: count(place),
            };
            self.clip_group(grads, &members, &one, &params, [verdict, factors.of_groups])?;
        }
        Ok(())
    }

    fn clip_group(
        &self,
        grads: &Gradients,
        members: &[Present<'_, Wgpu>],
        one: &Scale,
        params: &structs::ClipOfGroup,
        [verdict, factors]: [&Buffer; 2],
    ) -> Result<(), Error> {
        let (_, owed) = self.look(grads, members, one)?;
        let bound = [verdict, &owed, factors].map(Bound::whole);
        self.dispatch(&CLIP_GROUP, params, bound.into(), 1)
    }
}
