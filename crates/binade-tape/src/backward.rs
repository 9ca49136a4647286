//! Losses on a tape: their scaling by a scaler, and their gradients, computed from the record.

use crate::{
    Device, TapeError, Var,
    error::Failed,
    ops::{Outcome, Saves, linear_map::map},
    record::{Grads, Node, Origin, Registered, Value},
    sparse::SparseTables,
};
use binade_core::ops::Add;
use binade_core::{DType, Handle, Named, Op, OpClass};
use binade_grad_scaler::{Loss, ScaleStore};
use std::{borrow::Cow, mem, sync::Arc};

const SCALE: Op = Op::custom("scale", OpClass::Pointwise);
const UNSCALE: Op = Op::custom("unscale", OpClass::Pointwise);

impl<D> Loss<D> for Var<D>
where
    D: Device + ScaleStore<Scale: Send + Sync + 'static>,
    D::Tensor: Loss<D, Error = D::Error>,
{
    type Error = Failed<D>;

    /// Records `x·S`. Since d(x·S)/dx = S, backward scales the gradient by the same scale, even if the scaler has moved since.
    fn scaled(&self, device: &D, scale: &D::Scale) -> Outcome<D> {
        recorded(self, SCALE, device, scale, Loss::scaled)
    }

    fn unscaled(&self, device: &D, scale: &D::Scale) -> Outcome<D> {
        recorded(self, UNSCALE, device, scale, Loss::unscaled)
    }
}

/// Records `change`, a product with a number; that map is its own transpose.
fn recorded<D, F>(var: &Var<D>, op: Op, device: &D, scale: &D::Scale, change: F) -> Outcome<D>
where
    D: Device + ScaleStore<Scale: Send + Sync + 'static>,
    F: Fn(&D::Tensor, &D, &D::Scale) -> Result<D::Tensor, D::Error> + Send + Sync + 'static,
{
    let [x] = var.seen(op, [var])?;
    let output = change(&x.tensor, device, scale)?;
    let scale = scale.clone();
    let change = map(move |device: &D, x: &D::Tensor| change(x, device, &scale));
    Ok(var.push_linear(op, &[&x], &Saves::Nothing, output, [change.clone(), change]))
}

impl<D: Device> Var<D> {
    /// Returns the gradients of this scalar with respect to every parameter of the tape, in order of registration and in the
    /// element type of each. A gradient is `None` if no path leads to the parameter.
    ///
    /// The tape does not change: another loss may be differentiated after this one.
    ///
    /// # Errors
    ///
    /// If it is not a scalar, or no parameter led to it; if two parameters have one name; if the device fails.
    pub fn backward<G>(&self) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        self.named_gradients(self.tape().record().parameters()?)
    }

    /// Passes the gradient of this scalar with respect to each parameter of the tape to `tell`, once, as soon as it is complete, while backward still
    /// computes the gradients of earlier layers. The values are those of [`backward`](Self::backward).
    ///
    /// The gradient of a parameter with several uses is complete after the first use in forward order, the last in backward. Parameters without a
    /// gradient come last, as `None`, in order of registration. The tape keeps no gradient that it has told.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward), and an error of `tell`, which ends backward.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_autocast::Region;
    /// use binade_core::{DType, Named, ops::Upload};
    /// use binade_cpu::Cpu;
    /// use binade_tape::Tape;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tape = Tape::new(Cpu, &Region::bf16());
    /// let x = tape.constant(Cpu.upload(&[1.0, -2.0], &[1, 2], DType::F32)?);
    /// let weight = |name| Ok(Named::new(name, Cpu.upload(&[0.5; 4], &[2, 2], DType::F32)?));
    /// let weights = ["0", "1"].map(weight).into_iter().collect::<Result<Vec<_>, binade_cpu::Error>>()?;
    /// let p = tape.parameters(&weights);
    /// let loss = x.linear(&p[0], None)?.gelu()?.linear(&p[1], None)?.sum()?;
    /// let mut names = Vec::new();
    /// loss.backward_each(|gradient| {
    ///     names.push(gradient.name.to_string());
    ///     Ok(())
    /// })?;
    /// assert_eq!(names, ["1", "0"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backward_each(
        &self,
        mut tell: impl FnMut(Named<Option<D::Tensor>>) -> Result<(), Failed<D>>,
    ) -> Result<(), Failed<D>> {
        let parameters = self.tape().record().parameters()?;
        let nodes: Vec<usize> = parameters.iter().map(|(_, node)| *node).collect();
        let mut untold: Vec<Option<Arc<str>>> =
            parameters.into_iter().map(|(name, _)| Some(name)).collect();
        differentiate_scalar(self.value(), &nodes, &mut |place, gradient| {
            let name = untold.get_mut(place).and_then(Option::take);
            name.map_or(Ok(()), |name| tell(Named { name, value: Some(gradient) }))
        })?;
        untold.into_iter().flatten().try_for_each(|name| tell(Named { name, value: None }))
    }

    /// Returns the gradients with respect to only these parameters, in this order, such as those of one of several optimizers.
    /// [`backward`](Self::backward) returns the gradients of all.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward), and an error if one of `towards` is not a parameter of this tape.
    pub fn backward_to<'v, G>(
        &self,
        towards: impl IntoIterator<Item = &'v Self>,
    ) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        let known = self.tape().record().parameters()?;
        let find = |(position, var): (usize, &Self)| {
            let here = Arc::ptr_eq(self.tape().record(), var.tape().record());
            let same = |(_, node): &&Registered| here && Some(*node) == var.value().node;
            known.iter().find(same).cloned().ok_or(TapeError::NotParameter { position })
        };
        self.named_gradients(towards.into_iter().enumerate().map(find).collect::<Result<_, _>>()?)
    }

    fn named_gradients<G>(&self, parameters: Vec<Registered>) -> Result<G, Failed<D>>
    where
        G: From<Vec<Named<Option<D::Tensor>>>>,
    {
        let nodes: Vec<usize> = parameters.iter().map(|(_, node)| *node).collect();
        let run = |tell: &mut Tell<'_, D>| differentiate_scalar(self.value(), &nodes, tell);
        let grads = collect::<D>(nodes.len(), run)?;
        let names = parameters.into_iter().map(|(name, _)| name);
        Ok(names.zip(grads).map(|(name, value)| Named { name, value }).collect::<Vec<_>>().into())
    }

    /// Returns the gradient of this scalar with respect to any one value of the tape, in its element type; `None` if no path
    /// leads there.
    ///
    /// # Errors
    ///
    /// The errors of [`backward`](Self::backward), except for names.
    pub fn gradient(&self, towards: &Self) -> Result<Option<D::Tensor>, Failed<D>> {
        if !Arc::ptr_eq(self.tape().record(), towards.tape().record()) {
            return Err(TapeError::TwoTapes { op: "gradient" });
        }
        let Some(node) = towards.value().node else { return Ok(None) };
        let run = |tell: &mut Tell<'_, D>| differentiate_scalar(self.value(), &[node], tell);
        Ok(collect::<D>(1, run)?.pop().flatten())
    }
}

/// Callback that takes a complete gradient and its place among the requested ones.
pub(crate) type Tell<'t, D> = dyn FnMut(usize, <D as Handle>::Tensor) -> Result<(), Failed<D>> + 't;

/// Returns the `count` gradients that `run` passes to its callback; `None` for one that it does not.
pub(crate) fn collect<D: Device>(
    count: usize,
    run: impl FnOnce(&mut Tell<'_, D>) -> Result<(), Failed<D>>,
) -> Result<Grads<D>, Failed<D>> {
    let mut grads: Grads<D> = (0..count).map(|_| None).collect();
    run(&mut |place, gradient| {
        grads[place] = Some(gradient);
        Ok(())
    })?;
    Ok(grads)
}

/// Returns the handle that creates tensors on the device of `tensor`.
pub(crate) fn beside<'d, D: Device>(device: &'d D, tensor: &D::Tensor) -> Cow<'d, D> {
    device.beside(tensor).map_or(Cow::Borrowed(device), Cow::Owned)
}

/// Tells the gradients of a scalar, as [`differentiate_each`] does from a gradient of 1.
fn differentiate_scalar<D: Device>(
    loss: &Value<D>,
    wanted: &[usize],
    tell: &mut Tell<'_, D>,
) -> Result<(), Failed<D>> {
    differentiate_each(loss, one(loss)?, wanted, &mut SparseTables::none(), tell)
}

/// Returns the gradient of a scalar with respect to itself.
///
/// # Errors
///
/// [`TapeError::NotScalar`] if it is none; if the device fails.
pub(crate) fn one<D: Device>(loss: &Value<D>) -> Result<D::Tensor, Failed<D>> {
    let device = &loss.record.device;
    let shape = device.shape(&loss.tensor);
    if !shape.is_empty() {
        return Err(TapeError::NotScalar { shape });
    }
    Ok(beside(device, &loss.tensor).fill(1.0, &[], loss.dtype())?)
}

/// Returns the gradients with respect to each node of `wanted`, in its element type, from the gradient of `value`; `None` if no path
/// leads there.
///
/// The record is left as it was.
pub(crate) fn differentiate<D: Device>(
    value: &Value<D>,
    grad: D::Tensor,
    wanted: &[usize],
) -> Result<Grads<D>, Failed<D>> {
    let mut none = SparseTables::none();
    collect::<D>(wanted.len(), |tell| differentiate_each(value, grad, wanted, &mut none, tell))
}

/// Passes the gradient with respect to each reachable node of `wanted` to the callback, as soon as it is complete. `sparse` keeps the look-ups of its
/// tables instead.
pub(crate) fn differentiate_each<D: Device>(
    value: &Value<D>,
    grad: D::Tensor,
    wanted: &[usize],
    sparse: &mut SparseTables<D>,
    tell: &mut Tell<'_, D>,
) -> Result<(), Failed<D>> {
    let device = &value.record.device;
    let last = value.node.ok_or(TapeError::Detached)?;
    let nodes = value.record.nodes(last);
    let totals = nodes.iter().map(|_| None).collect();
    let due = due(&nodes, wanted);
    let mut pass = Pass { device, nodes, totals, wanted, due, sparse };
    pass.arrive(last, grad)?;
    pass.run(tell)
}

/// Returns the places of `wanted` whose gradient is complete once each node has passed its own on: the first that uses them of those to which a path
/// leads. The places of the last node, which no node uses, follow at the end.
fn due<D: Device>(nodes: &[Arc<Node<D>>], wanted: &[usize]) -> Vec<Vec<usize>> {
    let mut first_use = vec![None; nodes.len()];
    if let Some(last) = first_use.last_mut() {
        *last = Some(nodes.len());
    }
    for (index, node) in nodes.iter().enumerate().rev() {
        if first_use[index].is_some() {
            node.origin.operands().for_each(|operand| first_use[operand] = Some(index));
        }
    }
    let mut due = vec![Vec::new(); nodes.len() + 1];
    for (place, node) in wanted.iter().enumerate() {
        if let Some(Some(first)) = first_use.get(*node) {
            due[*first].push(place);
        }
    }
    due
}

/// One backward pass through the record.
struct Pass<'a, D: Device> {
    device: &'a D,
    nodes: Vec<Arc<Node<D>>>,
    /// Gradients that have arrived at each node and have not been passed on yet: a single one as it came, or the sum of several,
    /// in `f32` and not yet rounded.
    totals: Vec<Option<D::Tensor>>,
    wanted: &'a [usize],
    /// Places of `wanted` by the node after which their gradient is complete.
    due: Vec<Vec<usize>>,
    sparse: &'a mut SparseTables<D>,
}

impl<D: Device> Pass<'_, D> {
    /// Visits nodes from the last to the first. A node comes after its operands, so that its total is complete once all later ones have passed theirs
    /// on. The total of a parameter is complete long before its turn, since parameters come first.
    fn run(mut self, tell: &mut Tell<'_, D>) -> Result<(), Failed<D>> {
        self.tell_due(self.nodes.len(), tell)?;
        for index in (0..self.nodes.len()).rev() {
            if let Some(total) = self.totals[index].take() {
                let node = self.nodes[index].clone();
                self.pass_on(&node, total)?;
            }
            self.tell_due(index, tell)?;
        }
        Ok(())
    }

    /// Tells the gradients that are complete after the node at `index`. A leaf passes nothing on, so its total is not kept.
    fn tell_due(&mut self, index: usize, tell: &mut Tell<'_, D>) -> Result<(), Failed<D>> {
        let due = mem::take(&mut self.due[index]);
        for place in &due {
            let node = self.wanted[*place];
            if let Some(total) = &self.totals[node] {
                tell(*place, cast(self.device, total, self.nodes[node].dtype)?.into_owned())?;
            }
        }
        for node in due.into_iter().map(|place| self.wanted[place]) {
            if matches!(self.nodes[node].origin, Origin::Leaf) {
                self.totals[node] = None;
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, node: &Node<D>, total: D::Tensor) -> Result<(), Failed<D>> {
        match &node.origin {
            Origin::Leaf => Ok(()),
            Origin::Cast(source) => {
                let grad = cast(self.device, &total, self.nodes[*source].dtype)?.into_owned();
                self.arrive(*source, grad)
            }
            Origin::Lookup(lookup) => {
                let grad = cast(self.device, &total, node.dtype)?.into_owned();
                match self.sparse.keep(lookup, grad) {
                    None => Ok(()),
                    Some(grad) => self.arrive(lookup.table, lookup.whole(self.device, &grad)?),
                }
            }
            Origin::Op { op, parents, rule, .. } => {
                let grads = rule(self.device, &*cast(self.device, &total, node.dtype)?)?;
                let (found, expected) = (grads.len(), parents.len());
                if found != expected {
                    return Err(TapeError::GradientCount { op: op.name(), found, expected });
                }
                drop(total);
                for (node, grad) in parents.iter().zip(grads) {
                    if let (Some(node), Some(grad)) = (*node, grad) {
                        self.arrive(node, grad)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn arrive(&mut self, node: usize, grad: D::Tensor) -> Result<(), Failed<D>> {
        let device = self.device;
        let total = match self.totals[node].take() {
            None => grad,
            Some(sum) => Add::add(
                device,
                &*cast(device, &sum, DType::F32)?,
                &*cast(device, &grad, DType::F32)?,
            )?,
        };
        self.totals[node] = Some(total);
        Ok(())
    }
}

fn cast<'t, D: Device>(
    device: &D,
    tensor: &'t D::Tensor,
    to: DType,
) -> Result<Cow<'t, D::Tensor>, D::Error> {
    Ok(if device.dtype(tensor) == to {
        Cow::Borrowed(tensor)
    } else {
        Cow::Owned(device.cast(tensor, to)?)
    })
}
