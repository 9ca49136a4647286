//! Masters, of the same bits on every rank.

use super::{CudaRank, RankGradients, communicator::Move, device::hash, meeting::Call};
use crate::{Error, Found, Masters, Tensor};
use binade_core::Named;
use binade_gpu::Driver;
use binade_master_weights::{
    LoadError, MasterWeights, OptimizerConfig, ParameterSpec, SavedParameter, Snapshot,
};

type Params = Vec<Named<Tensor>>;

impl MasterWeights for CudaRank {
    type Masters = Masters;

    fn masters(&self, params: &mut Params, config: &OptimizerConfig) -> Result<Masters, Error> {
        self.begin_alike(Call::Masters, params, config)?;
        self.alone(|cuda| cuda.masters(params, config))
    }

    fn set_config(&self, masters: &mut Masters, config: &OptimizerConfig) -> Result<(), Error> {
        self.alone(|cuda| cuda.set_config(masters, config))
    }

    fn step(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        grads: RankGradients,
        found: &Found,
    ) -> Result<(), Error> {
        let average = grads.into_average()?;
        self.alone(|cuda| cuda.step(params, masters, average, found))
    }

    fn join(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        mut more: Params,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        self.begin_alike(Call::Join, &mut more, config)?;
        self.alone(|cuda| cuda.join(params, masters, more, config))
    }
}

impl CudaRank {
    /// Replaces the parameters by those of rank 0. This happens before they are lowered, so that masters are equal too.
    fn begin_alike(
        &self,
        call: Call,
        params: &mut Params,
        config: &OptimizerConfig,
    ) -> Result<(), Error> {
        self.communicator().check()?;
        let cuda = self.cuda();
        let values = params.iter().map(|param| param.value.buffer());
        values.into_iter().try_for_each(|buffer| cuda.check_owner(buffer))?;
        let spec = |param: &Named<Tensor>| {
            format!("{} {} {:?}", param.name, param.value.dtype(), param.value.shape())
        };
        let model = hash(&params.iter().map(spec).collect::<Vec<_>>());
        self.agree(call, hash(&format!("{config:?}")), model)?;
        if self.communicator().ranks() == 1 {
            return Ok(());
        }
        let mut moves = Vec::new();
        for param in params {
            // Only rank 0 keeps memory that others read.
            if self.communicator().rank() > 0 {
                cuda.own_parameter(&mut param.value)?;
            }
            let (at, bytes) = (param.value.address(), param.value.bytes());
            if bytes > 0 {
                moves.push(Move::Broadcast { at, bytes });
            }
        }
        self.kept(self.communicator().run("broadcast", &moves))
    }
}

/// Saves and exports this rank's masters, which equal those of every rank. Every rank must load, and gets an error if one loads a different state.
impl Snapshot for CudaRank {
    fn specs(&self, params: &Params, masters: &Masters) -> Result<Vec<ParameterSpec>, Error> {
        self.alone(|cuda| cuda.specs(params, masters))
    }

    fn save(&self, params: &Params, masters: &Masters) -> Result<Vec<SavedParameter>, Error> {
        self.alone(|cuda| cuda.save(params, masters))
    }

    fn load(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        self.communicator().check().map_err(LoadError::Device)?;
        let loaded = self.cuda().load(params, masters, saved);
        let call = if loaded.is_ok() { Call::Load } else { Call::Failed };
        let bytes = |saved: &SavedParameter| {
            hash(&(
                saved.value.bytes(),
                saved.kept.iter().map(|(_, raw)| raw.bytes()).collect::<Vec<_>>(),
            ))
        };
        let setting = hash(&saved.iter().map(bytes).collect::<Vec<_>>());
        let agreed = self.agree(call, setting, 0);
        loaded?;
        agreed.map_err(LoadError::Device)
    }

    fn export_f32(
        &self,
        params: &Params,
        masters: &Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        self.alone(|cuda| cuda.export_f32(params, masters))
    }
}
