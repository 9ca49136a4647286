//! burn's own optimizer and its module as one optimizer, whose step is skipped on overflow.

use crate::{Burn, BurnTensor, Error, TensorError, gradients_params};
use binade_core::{FoundInf, HostDeviceError, NamedGrads, Optimizer, TrainError};
use binade_master_weights::MasterOptimizer;
use burn::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use std::{collections::HashSet, fmt};

/// Module together with the burn optimizer that steps it.
///
/// # Contract
///
/// * If a gradient overflowed, module and optimizer stay as they were, bit for bit: burn's optimizer is not called.
/// * Gradients are matched to parameters by path, skipped step or not; one without a parameter is an error.
/// * A parameter without a gradient stays as it is; where none has one, and the step is not skipped, the error is
///   [`TrainError::NoGradients`].
/// * The optimizer is given `f32` gradients, unscaled and clipped, and keeps its state in that type.
/// * The module's old parameters live until the step has ended, since burn's step may panic.
/// * Gradients of [`tables`](Self::tables) go to these, whose rule is Binade's: burn's optimizers take whole gradients. A set that lacks
///   a table is an error. If burn's step panics, the tables have moved already.
pub struct BurnOptimizer<M> {
    /// Module in training: compute the loss with it.
    pub module: M,
    /// burn's optimizer, with its state.
    pub optimizer: ModuleOptimizer,
    /// Learning rate of the next step, or of each parameter group: `0.01.into()`, or the value of one of burn's schedulers.
    pub learning_rate: ModuleLearningRate,
    /// Tables of [`SparseLookups`](crate::SparseLookups), stepped row by row; `None` at first. Their names must differ from the paths of the module's
    /// parameters.
    pub tables: Option<MasterOptimizer<Burn>>,
}

impl<M: Module> BurnOptimizer<M> {
    /// Creates an optimizer of `module` that steps by `optimizer`, which the config's `init` makes.
    pub fn new(
        module: M,
        optimizer: ModuleOptimizer,
        learning_rate: impl Into<ModuleLearningRate>,
    ) -> Self {
        Self { module, optimizer, learning_rate: learning_rate.into(), tables: None }
    }

    /// Adds tables whose gradients stay sparse.
    #[must_use]
    pub fn with_tables(self, tables: MasterOptimizer<Burn>) -> Self {
        Self { tables: Some(tables), ..self }
    }

    /// Steps the tables by their gradients, and returns the gradients of the module.
    fn step_tables(
        &mut self,
        grads: NamedGrads<BurnTensor>,
        found: &FoundInf,
    ) -> Result<GradientsParams, Error> {
        let names = self.tables.iter().flat_map(|tables| &tables.params);
        let names: HashSet<_> = names.map(|table| table.name.clone()).collect();
        let (rows, rest): (Vec<_>, Vec<_>) =
            grads.into_iter().partition(|grad| names.contains(&grad.name));
        if let Some(lacking) = names.iter().find(|name| rows.iter().all(|grad| grad.name != **name))
        {
            let why = "no gradients came for it: take them by `SparseLookups::backward`".to_owned();
            return Err(TensorError::Parameter { path: lacking.to_string(), why }.into());
        }
        let rest = gradients_params(&self.module, rest)?;
        if let Some(tables) = &mut self.tables
            && rows.iter().any(|grad| grad.value.is_some())
        {
            tables.step(rows, found)?;
        }
        Ok(rest)
    }
}

impl<M: Module> Optimizer<NamedGrads<BurnTensor>, FoundInf> for BurnOptimizer<M> {
    type Error = Error;

    fn step(&mut self, grads: NamedGrads<BurnTensor>, found: &FoundInf) -> Result<(), Error> {
        let (parameters, has_any) = (grads.len(), grads.iter().any(|grad| grad.value.is_some()));
        let grads = self.step_tables(grads, found)?;
        if found.is_raised() {
            return Ok(());
        }
        if !has_any && parameters > 0 {
            return Err(HostDeviceError::Train(TrainError::NoGradients { parameters }));
        }
        self.module = self.optimizer.step(self.learning_rate.clone(), self.module.clone(), grads);
        Ok(())
    }
}

impl<M: fmt::Debug> fmt::Debug for BurnOptimizer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurnOptimizer").field("module", &self.module).finish_non_exhaustive()
    }
}
