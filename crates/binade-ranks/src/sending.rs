//! Backward that sends gradients while it runs.

use crate::{
    Group, GroupError, RankDevice, RankGrads, Ranks, RanksError,
    average::Shard,
    buckets::{Layout, Packing},
    device::Failed,
    gradients::Sets,
    model::{Entry, travels},
    overlap::{Exchanger, Pending},
};
use binade_core::{FoundInf, Handle, MergeRule, Named, NamedGrads, TensorSpec};
use std::sync::{Arc, mpsc::Sender};

/// Callback that receives each gradient of one shard as soon as it is complete.
pub type Tell<'t, D> =
    dyn FnMut(Named<Option<<D as Handle>::Tensor>>) -> Result<(), Failed<D>> + 't;

/// Sets of a rank's shards, whose average is being computed.
pub(crate) struct Sent<D: Handle> {
    pub(crate) sets: Vec<NamedGrads<D::Tensor>>,
    /// Found-inf result of all shards before unscaling.
    pub(crate) found: FoundInf,
    pub(crate) pending: Pending,
    pub(crate) bucket_bytes: usize,
}

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Makes `device` this process's or thread's rank of a group, and lets [`backward`](Self::backward) send gradients while it runs.
    ///
    /// `groups` are two groups of the same ranks: [`threads`](crate::threads) called twice, or a duplicated MPI communicator. The first is used as in
    /// [`new`](Self::new). The second belongs to a background thread that exchanges gradients in buckets of `bucket_bytes` bytes. 25 MB (`25 << 20`)
    /// suits models of some hundred MB; for smaller models, use a tenth of the gradients' size. The last bucket completes when backward ends, so its
    /// exchange does not overlap. Averages and found-inf results have the same bits as without overlap.
    ///
    /// # Errors
    ///
    /// Returns an error if the groups differ in rank or in number of ranks, or if no thread can be started.
    pub fn overlapping(
        device: D,
        groups: [G; 2],
        bucket_bytes: usize,
    ) -> Result<Self, RanksError<D::Error>> {
        let failed = |why| RanksError::Group(GroupError::Failed { call: "overlapping", why });
        let [told, other] = groups.each_ref().map(|it| (it.rank(), it.ranks()));
        if told != other {
            let [(rank, ranks), (second, seconds)] = [told, other];
            return Err(failed(format!(
                "this is rank {rank} of {ranks} in the first group and {second} of {seconds} in the other; give two groups of the \
                 same ranks"
            )));
        }
        let [first, second] = groups;
        let exchanger = Exchanger::start(second, bucket_bytes);
        Ok(Self::made(device, first, Some(exchanger.map_err(|error| failed(error.to_string()))?)))
    }

    /// Runs backward on each of this rank's `losses`, one for each of its shards, and returns their gradients. A device made by
    /// [`overlapping`](Self::overlapping) sends them during backward; otherwise `unscale` sends them.
    ///
    /// `run` differentiates one loss, and passes the gradient of each of `params` to the callback as soon as it is complete, in any order. A gradient
    /// that is not passed, or passed as `None`, is missing. The callback waits for the device and downloads the gradient.
    ///
    /// # Errors
    ///
    /// Returns the error of `run`, which the other ranks get in their `unscale`. Also returns an error if a gradient belongs to no parameter, has
    /// another type or shape than its parameter, or is passed twice, and if the device fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade::prelude::*;
    /// use binade_cpu::{Cpu, Tensor};
    /// use binade_ranks::{Group, Ranks, Shards, threads};
    /// use binade_tape::Tape;
    /// use std::{thread, time::Duration};
    ///
    /// type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
    ///
    /// fn rank<G: Group>(groups: [G; 2]) -> Outcome<f32> {
    ///     let own = groups[0].rank() as f32;
    ///     let device = Ranks::overlapping(Cpu, groups, 25 << 20)?;
    ///     let weight = Named::new("weight", Tensor::new(vec![1.0_f32], &[1, 1])?);
    ///     let level = OptLevel::O1.with(DType::BF16);
    ///     let mut amp = initialize(device.clone(), Model::new(vec![weight]), UpdateRule::sgd(0.5), level)?;
    ///
    ///     let tape = Tape::new(device.clone(), &amp.region);
    ///     let weights = tape.parameters(&amp.optimizer.params);
    ///     let x = tape.constant(Tensor::new(vec![2.0 * own], &[1, 1])?);
    ///     let loss = x.linear(&weights[0], None)?.sum()?;
    ///     let params = &amp.optimizer.params;
    ///     let grads = amp.scaler.scale(&Shards(vec![loss]))?.backward(|losses| {
    ///         device.backward(params, &losses.0, |loss, tell| loss.backward_each(|gradient| Ok(tell(gradient)?)))
    ///     })?;
    ///     let step = grads.unscale()?.step(&mut amp.optimizer)?;
    ///     assert!(amp.scaler.update(step)?.resolve()?.is_applied());
    ///     Ok(amp.optimizer.params[0].value.to_f32()[0])
    /// }
    ///
    /// let patience = Duration::from_secs(10);
    /// let groups = threads(2, patience).into_iter().zip(threads(2, patience));
    /// let running = groups.map(|(first, second)| thread::spawn(move || rank([first, second])));
    /// for rank in running.collect::<Vec<_>>() {
    ///     // The average of the gradients 0 and 2 is 1.
    ///     assert_eq!(rank.join().unwrap().unwrap(), 0.5);
    /// }
    /// ```
    pub fn backward<L, E, F>(
        &self,
        params: &D::Params,
        losses: &[L],
        run: F,
    ) -> Result<RankGrads<D>, E>
    where
        E: From<RanksError<D::Error>>,
        F: FnMut(&L, &mut Tell<'_, D>) -> Result<(), E>,
    {
        let done = self.run_backward(params, losses, run);
        if done.is_err() {
            self.tell_failure();
        }
        done
    }

    fn run_backward<L, E, F>(
        &self,
        params: &D::Params,
        losses: &[L],
        mut run: F,
    ) -> Result<RankGrads<D>, E>
    where
        E: From<RanksError<D::Error>>,
        F: FnMut(&L, &mut Tell<'_, D>) -> Result<(), E>,
    {
        // A single rank sends nothing.
        let exchanger = self.exchanger().filter(|_| self.group().ranks() > 1);
        let model = self.alone(|device| Ok(model_of(device, params)))?;
        let bucket_bytes = exchanger.map_or(0, |it| it.bucket_bytes);
        let layout = Arc::new(Layout::new(model, bucket_bytes));
        let way = exchanger
            .map(|exchanger| exchanger.begin(layout.clone(), losses.len(), self.is_sliced()));
        let (buckets, pending) = way.unzip();
        let (mut sets, mut found) = (Vec::new(), FoundInf::default());
        for loss in losses {
            let packing = buckets.as_ref().map(|to| (Packing::new(layout.clone()), to));
            let mut shard = Telling::new(self.device(), &layout, packing);
            run(loss, &mut |gradient| shard.tell(gradient))?;
            let (set, own) = shard.end();
            found.merge(&own, MergeRule::Any);
            sets.push(set);
        }
        Ok(RankGrads(match pending {
            Some(pending) => Sets::Sent(Sent { sets, found, pending, bucket_bytes }),
            None => Sets::Shards(sets),
        }))
    }
}

fn model_of<D: RankDevice>(device: &D, params: &D::Params) -> Vec<Entry> {
    let entry = |param: &Named<D::Tensor>| {
        let dtype = device.dtype(&param.value);
        let spec = travels(dtype).then(|| TensorSpec::new(dtype, device.shape(&param.value)));
        Entry { name: param.name.clone(), is_whole: spec.is_some(), spec }
    };
    params.iter().map(entry).collect()
}

/// Gradients of one shard, collected as backward reports them, and packed into buckets if the device overlaps.
struct Telling<'a, D: RankDevice> {
    device: &'a D,
    layout: &'a Layout,
    set: NamedGrads<D::Tensor>,
    is_told: Vec<bool>,
    packing: Option<(Packing, &'a Sender<Shard>)>,
}

impl<'a, D: RankDevice> Telling<'a, D> {
    fn new(
        device: &'a D,
        layout: &'a Layout,
        packing: Option<(Packing, &'a Sender<Shard>)>,
    ) -> Self {
        let missing = |entry: &Entry| Named { name: entry.name.clone(), value: None };
        let set: NamedGrads<D::Tensor> = layout.model.iter().map(missing).collect();
        Self { device, layout, is_told: vec![false; set.len()], set, packing }
    }

    fn tell(&mut self, gradient: Named<Option<D::Tensor>>) -> Result<(), Failed<D>> {
        let Self { device, layout, .. } = *self;
        let Named { name, value } = gradient;
        let misfit = |why: String| RanksError::Gradient { name: name.clone(), why };
        let unknown = || misfit("is of no parameter that backward was given".into());
        let place = layout.place(&name).ok_or_else(unknown)?;
        if self.is_told[place] {
            return Err(misfit("is told twice".into()));
        }
        self.is_told[place] = true;
        if let Some(tensor) = &value {
            let own = TensorSpec::new(device.dtype(tensor), device.shape(tensor));
            let entry = &layout.model[place];
            if entry.spec.as_ref() != Some(&own) {
                return Err(misfit(format!("is {own}, of the parameter {}", entry.text())));
            }
        }
        if let Some((packing, _)) = &mut self.packing {
            let values = value.as_ref().map(|tensor| device.download(tensor)).transpose()?;
            packing.tell(place, values.as_deref());
        }
        self.set[place].value = value;
        self.send();
        Ok(())
    }

    /// Sends the complete buckets.
    fn send(&mut self) {
        if let Some((packing, to)) = &mut self.packing {
            while let Some(bucket) = packing.take() {
                // If the thread has stopped, waiting for it returns the reason.
                drop(to.send(bucket));
            }
        }
    }

    /// Returns the set, and the found-inf result of the packed gradients. Gradients that were not reported are missing.
    fn end(mut self) -> (NamedGrads<D::Tensor>, FoundInf) {
        if let Some((packing, _)) = &mut self.packing {
            let untold = (0..self.is_told.len()).filter(|place| !self.is_told[*place]);
            untold.for_each(|place| packing.tell(place, None));
        }
        self.send();
        let found = self.packing.map_or_else(FoundInf::default, |(packing, _)| packing.found());
        (self.set, found)
    }
}
