//! Clipping by groups: each is measured as a set is, and one pass multiplies them all.

use super::{Found, Scale, grad_ops::CLIP};
use crate::{
    Error, Gradients, Wgpu,
    dispatch::{
        Bound,
        structs::{self, count},
    },
    gradients::{Factors, Present, supported},
    memory::Buffer,
    shaders::{Access::Write, Shader},
};
use binade_grad_scaler::{ClipGroup, Norm, ScaleState, ScaleStore};

pub(super) const CLIP_GROUP: Shader = Shader {
    name: "clip_group",
    params: size_of::<structs::ClipOfGroup>(),
    bindings: &[(1, Write), (2, Write), (3, Write)],
    ..CLIP
};

impl Wgpu {
    /// Clips by groups. The gradients are `f32` tensors afterwards, whether or not a group was clipped: only the device knows.
    pub(super) fn clip_by_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        let places = ClipGroup::places(groups, grads.names().map(|name| &**name))?;
        grads.are_of(self)?;
        self.has_made(&verdict.bits)?;
        grads
            .present()
            .try_for_each(|grad| supported("clip gradients of", grad.tensor).map(drop))?;
        if groups.is_empty() {
            return Ok(());
        }
        // What is measured is multiplied by one factor alone, and these may be owed two.
        let values = match grads.owed {
            Some(_) => &grads.settled(self, f32::INFINITY)?,
            None => &*grads,
        };
        let verdict = verdict.own(self)?;
        let of_groups = self.factors(values, groups, &places, verdict)?;
        let factors = Factors { of_groups: &of_groups, places: &places };
        *grads = values.settled_by(self, Some(&factors), f32::INFINITY)?;
        Ok(())
    }

    /// The factor of each group; raises the verdict.
    fn factors(
        &self,
        grads: &Gradients,
        groups: &[ClipGroup],
        places: &[Option<usize>],
        verdict: &Buffer,
    ) -> Result<Buffer, Error> {
        let one = self.upload_state(ScaleState::from_exponent(0))?;
        let factors = self.buffer(size_of::<f32>() * groups.len())?;
        let mut members: Vec<Vec<Present<'_>>> = groups.iter().map(|_| Vec::new()).collect();
        for grad in grads.present() {
            let place = places.get(grad.place).copied().flatten();
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
            self.clip_group(grads, &members, &one, &params, [verdict, &factors])?;
        }
        Ok(factors)
    }

    fn clip_group(
        &self,
        grads: &Gradients,
        members: &[Present<'_>],
        one: &Scale,
        params: &structs::ClipOfGroup,
        [verdict, factors]: [&Buffer; 2],
    ) -> Result<(), Error> {
        let (_, owed) = self.look(grads, members, one)?;
        let bound = [verdict, &owed, factors].map(Bound::whole);
        self.dispatch(&CLIP_GROUP, params, bound.into(), 1)
    }
}
