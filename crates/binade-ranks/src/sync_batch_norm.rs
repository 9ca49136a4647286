//! Batch normalisation with the joint statistics of all ranks' batches.

use crate::{
    Group, Ranks, RanksError,
    device::Failed,
    header::{Call, hash},
    meeting::Statement,
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_core::ops::{
    BatchNorm, BatchNormConfig, Download, NormGrads, OpInvocation, RunningStats, Shaped,
    SyncBatchNorm, SyncBatchNormOutput, SyncedBatch, Upload,
};

/// Ranks meet twice in a pass: they compare the call, and gather a few numbers for each channel. These are joined in `f64` in the order of ranks. A
/// rank with an empty batch takes part.
///
/// Each call normalises one batch of all ranks. If a rank has several shards, its k-th call meets the k-th calls of the other ranks. The statistics
/// are then those of all k-th shards, and depend on the number of ranks. A checkpointed segment that a tape recomputes in backward meets again there.
///
/// An infinite or NaN value or gradient of one rank reaches all ranks through the statistics. All ranks then overflow, and the report names the first
/// of them.
impl<D, G: Group> SyncBatchNorm for Ranks<D, G>
where
    D: BatchNorm + Autocast + Shaped + Upload + Download,
{
    fn sync_batch_norm(
        &self,
        input: &D::Tensor,
        weight: &D::Tensor,
        bias: &D::Tensor,
        running: &RunningStats<D::Tensor>,
        config: BatchNormConfig,
    ) -> Result<SyncBatchNormOutput<D::Tensor>, Self::Error> {
        let operands = [input, weight, bias, &running.mean, &running.var];
        let (own, old) = self.own_part(|device| {
            fits(device, &OpInvocation::BatchNormInference { eps: config.eps }, &operands)?;
            let old = [device.download(&running.mean)?, device.download(&running.var)?];
            Ok((Moments::of(device, input)?, old))
        })?;
        let (dtype, channels) = (self.device().dtype(input), own.means.len());
        let setting = format!(
            "{channels} channels of {dtype}, {config:?}, running statistics of hash {:016x}",
            hash(&bytes(&old.concat()))
        );
        self.meet(Statement::of(Call::SyncBatchNorm, setting))?;
        let all = self.gathered(&own.to_bytes())?;
        let batch = Joined::of(all.iter().map(|bytes| Moments::from_bytes(bytes)), channels);
        let together = [usize::try_from(batch.samples).unwrap_or(usize::MAX), channels];
        let call = OpInvocation::BatchNormStats;
        call.check(&[(dtype, &together)]).map_err(RanksError::Operands)?;
        self.own_part(|device| {
            let upload = |values: &[f32]| device.upload(values, &[channels], DType::F32);
            let stats = RunningStats { mean: upload(&batch.means())?, var: upload(&batch.vars())? };
            let output = device.batch_norm_inference(input, weight, bias, &stats, config.eps)?;
            let [mean, var] = batch.moved(&old, config.momentum);
            let running = RunningStats { mean: upload(&mean)?, var: upload(&var)? };
            let batch = SyncedBatch { stats, samples: batch.samples };
            Ok(SyncBatchNormOutput { output, running, batch })
        })
    }

    fn sync_batch_norm_backward(
        &self,
        grad: &D::Tensor,
        input: &D::Tensor,
        weight: &D::Tensor,
        batch: &SyncedBatch<D::Tensor>,
        eps: f32,
    ) -> Result<NormGrads<D::Tensor>, Self::Error> {
        let SyncedBatch { stats, samples } = batch;
        let own = self.own_part(|device| {
            let sums = device.batch_norm_grad_sums(grad, input, stats, eps)?;
            Ok(device.download(&sums)?)
        })?;
        let channels = own.len() / 2;
        let setting = format!("{channels} channels of {samples} values, eps {eps:?}");
        self.meet(Statement::of(Call::SyncBatchNormBackward, setting))?;
        let mut sums = vec![0.0_f64; own.len()];
        for rank in self.gathered(&bytes(&own))? {
            sums.iter_mut().zip(floats(&rank)).for_each(|(sum, own)| *sum += f64::from(own));
        }
        let means: Vec<f32> = sums.iter().map(|sum| round(sum / count(*samples))).collect();
        self.own_part(|device| {
            let means = device.upload(&means, &[2, channels], DType::F32)?;
            let input = device.batch_norm_input_grad(grad, input, weight, stats, &means, eps)?;
            let (of_weight, of_bias) = own.split_at(channels);
            // `unscale` averages them with all other gradients.
            let dtype = device.dtype(weight);
            let vector = |values: &[f32]| device.upload(values, &[channels], dtype);
            Ok(NormGrads { input, weight: vector(of_weight)?, bias: vector(of_bias)? })
        })
    }
}

impl<D: binade_core::Handle, G: Group> Ranks<D, G> {
    /// Gathers the bytes of every rank. All ranks give the same number of bytes.
    fn gathered(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, Failed<D>> {
        let ranks = self.group().ranks();
        let mut all = vec![0; own.len() * ranks];
        self.kept(self.group().all_gather(own, &vec![own.len(); ranks], &mut all))?;
        Ok(all.chunks(own.len().max(1)).map(<[u8]>::to_vec).collect())
    }
}

/// Returns an error if the operands' shapes or types do not fit the call.
fn fits<D: Autocast + Shaped>(
    device: &D,
    call: &OpInvocation,
    operands: &[&D::Tensor],
) -> Result<(), Failed<D>> {
    let shapes: Vec<_> = operands.iter().map(|operand| device.shape(operand)).collect();
    let dtypes = operands.iter().map(|operand| device.dtype(operand));
    let specs: Vec<_> = dtypes.zip(shapes.iter().map(Vec::as_slice)).collect();
    call.check(&specs).map(drop).map_err(RanksError::Operands)
}

/// Statistics of one rank's batch: means and unbiased variances by channel.
struct Moments {
    samples: u64,
    means: Vec<f32>,
    vars: Vec<f32>,
}

impl Moments {
    /// Computes the statistics of an `input` `[N, C, ..]`. The variance of fewer than two values is 0.
    fn of<D>(device: &D, input: &D::Tensor) -> Result<Self, D::Error>
    where
        D: BatchNorm + Shaped + Download,
    {
        let shape = device.shape(input);
        let extents = |is_channel| {
            let extents =
                shape.iter().enumerate().filter(move |(axis, _)| (*axis == 1) == is_channel);
            extents.map(|(_, extent)| extent).product::<usize>()
        };
        let (samples, channels) = (extents(false), extents(true));
        let (means, vars) = match samples {
            0 => (vec![0.0; channels], vec![0.0; channels]),
            1 => (device.download(input)?, vec![0.0; channels]),
            _ => {
                let stats = device.batch_norm_stats(input)?;
                (device.download(&stats.mean)?, device.download(&stats.var)?)
            }
        };
        Ok(Self { samples: samples as u64, means, vars })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let numbers = [bytes(&self.means), bytes(&self.vars)].concat();
        [&self.samples.to_le_bytes()[..], &numbers].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let (samples, numbers) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (means, vars) = numbers.split_at(numbers.len() / 2);
        let [means, vars] = [means, vars].map(|bytes| floats(bytes).collect());
        Self { samples: u64::from_le_bytes(*samples), means, vars }
    }
}

/// Statistics of all ranks' batches together: the mean and the sum of squared deviations of each channel.
struct Joined {
    samples: u64,
    by_channel: Vec<[f64; 2]>,
}

impl Joined {
    /// Joins batches in their order (Chan et al. 1979, "Updating Formulae and a Pairwise Algorithm for Computing Sample
    /// Variances").
    fn of(all: impl Iterator<Item = Moments>, channels: usize) -> Self {
        let mut joined = Self { samples: 0, by_channel: vec![[0.0; 2]; channels] };
        for Moments { samples, means, vars } in all.filter(|batch| batch.samples > 0) {
            let (before, more) = (count(joined.samples), count(samples));
            joined.samples += samples;
            let total = count(joined.samples);
            for ([mean, squares], (of_mean, of_var)) in
                joined.by_channel.iter_mut().zip(means.iter().zip(&vars))
            {
                let off = f64::from(*of_mean) - *mean;
                *mean += off * (more / total);
                *squares += f64::from(*of_var) * (more - 1.0) + off * off * (before * more / total);
            }
        }
        joined
    }

    fn means(&self) -> Vec<f32> {
        self.by_channel.iter().map(|[mean, _]| round(*mean)).collect()
    }

    /// Returns the biased variances.
    fn vars(&self) -> Vec<f32> {
        self.by_channel.iter().map(|[_, squares]| round(squares / count(self.samples))).collect()
    }

    /// Returns the running means and variances, updated by the batch's mean and unbiased variance.
    fn moved(&self, old: &[Vec<f32>; 2], momentum: f32) -> [Vec<f32>; 2] {
        let (momentum, divisors) = (f64::from(momentum), [1.0, count(self.samples) - 1.0]);
        [0, 1].map(|which| {
            let both = old[which].iter().zip(&self.by_channel);
            let moved = both.map(|(old, of)| {
                let kept = (1.0 - momentum) * f64::from(*old);
                round(kept + momentum * (of[which] / divisors[which]))
            });
            moved.collect()
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
fn count(values: u64) -> f64 {
    values as f64
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn round(value: f64) -> f32 {
    value as f32
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}
