//! Subjects that are wrong in one way each where sets are clipped by groups.

use super::caught::caught;
use super::faulty::Fault;
use super::toy::{Elements, Grads, Plain, Toy, Unscaled};
use super::toy_sets::{each, norm};
use crate::{Backend as _, Clip, Result, UnscaleResult};
use binade_grad_scaler::{ClipGroup, Norm, ScaleState, clip_factor};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

impl Fault for Wrong {
    fn clip_groups(
        &self,
        grads: Grads,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled> {
        let groups = self.understood(&grads, groups);
        Toy.clip_groups(grads.clone(), scale, None, &groups)?;
        let UnscaleResult { grads: unclipped, .. } = Toy.unscale(grads.clone(), scale)?;
        let UnscaleResult { grads: mut all, mut found } =
            Toy.clip_groups(grads.clone(), scale, first, &[])?;
        let already = found.overflow.take();
        for group in &groups {
            let seen = match self.0 {
                "measures_what_is_scaled" => &grads,
                "measures_before_earlier_clips" => &unclipped,
                _ => &all,
            };
            let norm = self.measure(seen, group);
            match self.0 {
                "keeps_the_verdict" => {}
                "records_the_norm_of_a_group" => found.record_norm(norm),
                "names_the_last_such_group" if norm > f64::from(f32::MAX) => {
                    found.overflow = None;
                    found.check_norm(&group.norm_name(), norm);
                }
                _ => {
                    found.check_norm(&group.norm_name(), norm);
                }
            }
            let more = if self.0 == "divides_by_more_than_the_norm" { 1e-6 } else { 0.0 };
            shrink(&mut all, group, clip_factor(norm + more, group.max));
        }
        let by_group = found.overflow.take();
        found.overflow = match self.0 {
            "names_the_group_for_any_overflow" => by_group.or(already),
            _ => already.or(by_group),
        };
        Ok(UnscaleResult { grads: all, found })
    }
}

impl Wrong {
    /// Returns the groups as this subject understands them.
    fn understood(self, grads: &Grads, groups: &[ClipGroup]) -> Vec<ClipGroup> {
        let mut groups = groups.to_vec();
        match self.0 {
            "takes_the_rest_for_a_group" => groups.extend(rest(grads, &groups)),
            "clips_each_parameter_alone" => groups = groups.iter().flat_map(one_by_one).collect(),
            "takes_any_limit" => groups.retain(|group| group.max > 0.0),
            _ => {}
        }
        let first = groups.first().map_or(1.0, |group| group.max);
        let fit = groups.iter().all(|group| group.max > 0.0);
        let mut seen = Vec::new();
        for group in &mut groups {
            match self.0 {
                "takes_every_norm_for_l2" => group.norm = Norm::L2,
                "goes_by_the_first_limit" if fit => group.max = first,
                "takes_a_name_twice" => {
                    group.parameters.retain(|name| !seen.contains(name));
                    group.parameters.dedup();
                    seen.extend(group.parameters.clone());
                }
                "passes_over_unknown_names" => {
                    group.parameters.retain(|name| grads.iter().any(|grad| *grad.name == **name));
                }
                _ => {}
            }
        }
        groups
    }

    fn measure(self, grads: &Grads, group: &ClipGroup) -> f64 {
        match self.0 {
            "goes_by_the_norm_of_all" => norm(grads, group.norm),
            "sums_squares_in_f32" if group.norm == Norm::L2 => {
                let own = members(grads, group);
                let values = own.iter().filter_map(|g| g.value.as_ref()).flat_map(Plain::read);
                f64::from(values.fold(0.0_f32, |sum, x| sum + x * x).sqrt())
            }
            "passes_over_the_fifth_parameter" => {
                let mut own = members(grads, group);
                if own.len() > 4 {
                    own.remove(4);
                }
                norm(&own, group.norm)
            }
            "counts_a_tiny_number_behind_the_last" if group.norm == Norm::L2 => {
                norm(&members(grads, group), Norm::L2).hypot(2.0_f64.powi(-36))
            }
            _ => norm(&members(grads, group), group.norm),
        }
    }
}

/// Returns a group of the parameters that no group names, with the limit of the last group.
fn rest(grads: &Grads, groups: &[ClipGroup]) -> Option<ClipGroup> {
    let last = groups.last()?.clone();
    let rest = grads.iter().map(|grad| &grad.name);
    let rest = rest.filter(|name| !groups.iter().any(|group| is_of(group, name)));
    Some(ClipGroup { parameters: rest.map(ToString::to_string).collect(), ..last })
}

fn one_by_one(group: &ClipGroup) -> Vec<ClipGroup> {
    let alone = |name: &String| ClipGroup { parameters: vec![name.clone()], ..group.clone() };
    group.parameters.iter().map(alone).collect()
}

fn members(grads: &Grads, group: &ClipGroup) -> Grads {
    grads.iter().filter(|grad| is_of(group, &grad.name)).cloned().collect()
}

/// Multiplies a group's gradients.
fn shrink(grads: &mut Grads, group: &ClipGroup, factor: f32) {
    for grad in grads.iter_mut().filter(|grad| is_of(group, &grad.name)) {
        each(std::slice::from_mut(grad), |x| x * factor);
    }
}

fn is_of(group: &ClipGroup, name: &str) -> bool {
    group.parameters.iter().any(|parameter| parameter == name)
}

caught! {
    fn goes_by_the_norm_of_all() by "clip_groups/f16/each_group_goes_by_its_own_norm";
    fn divides_by_more_than_the_norm() by "clip_groups/bf16/a_group_within_its_limit_keeps_every_bit";
    fn takes_the_rest_for_a_group() by "clip_groups/f32/a_parameter_of_no_group_keeps_every_bit";
    fn clips_each_parameter_alone() by "clip_groups/f16/parameters_of_a_group_share_one_factor_whatever_their_order";
    fn takes_every_norm_for_l2() by "clip_groups/f16/each_group_has_a_norm_and_a_limit_of_its_own";
    fn goes_by_the_first_limit() by "clip_groups/f16/each_group_has_a_norm_and_a_limit_of_its_own";
    fn measures_what_is_scaled() by "clip_groups/f32/the_limit_is_of_unscaled_gradients_whatever_the_scale";
    fn measures_before_earlier_clips() by_only "clip_groups/f16/groups_go_by_what_earlier_clips_have_left";
    fn sums_squares_in_f32() by "clip_groups/f32/norms_are_summed_so_that_elements_of_1e25_do_not_overflow";
    fn passes_over_the_fifth_parameter() by_only "clip_groups/bf16/the_largest_element_is_found_in_whichever_parameter_it_is";
    fn counts_a_tiny_number_behind_the_last() by "clip_groups/f32/nothing_behind_the_last_element_counts";
    fn keeps_the_verdict() by_only "clip_groups/f16/a_groups_norm_beyond_f32_raises_the_verdict_by_the_first_such_groups_name";
    fn names_the_last_such_group() by_only
        "clip_groups/f16/a_groups_norm_beyond_f32_raises_the_verdict_by_the_first_such_groups_name";
    fn names_the_group_for_any_overflow() by_only "clip_groups/bf16/what_was_raised_stays_as_it_was_told_in_whatever_group";
    fn records_the_norm_of_a_group() by "clip_groups/f32/the_norm_of_all_is_still_told_and_no_groups";
    fn takes_any_limit() by_only "clip_groups/f16/a_limit_that_is_no_positive_number_is_an_invalid_argument";
    fn takes_a_name_twice() by_only "clip_groups/bf16/a_parameter_that_is_named_twice_is_a_mismatch";
    fn passes_over_unknown_names() by_only "clip_groups/f32/a_name_that_no_gradient_has_is_a_mismatch";
}
