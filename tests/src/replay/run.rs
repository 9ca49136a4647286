//! A `GradScaler` run, event by event.

use super::bits::{floats, same_bits, same_num};
use super::dtype;
use super::error::{ReplayError, Stop, Wrong, same};
use super::optimizer::Optimizer;
use super::outputs;
use super::read;
use super::trace::{After, Call, Dict, Event, Looked, New, Raised, Took, Trace};
use binade_core::DType;
use binade_interchange::protocol::{NewScale, ProtocolError, ProtocolScaler, StateDict, Verdict};
use serde_json::Value;

/// Gradients of one optimizer's parameters, where they have any.
type Grads = Vec<Option<Vec<f32>>>;

pub(super) fn replay(recording: &Value) -> Result<(), ReplayError> {
    let trace: Trace = read(recording)?;
    if trace.events.is_empty() {
        return Err(Wrong::Recording("it has no events".into()).at("start"));
    }
    let mut run = Run::new(&trace).map_err(|wrong| wrong.at("start"))?;
    for (i, event) in trace.events.iter().enumerate() {
        let name = recording["events"][i]["op"].as_str().unwrap_or_default();
        run.event(event).map_err(|wrong| wrong.at(format!("event {i} ({name})")))?;
    }
    Ok(())
}

struct Run {
    scaler: ProtocolScaler,
    saved: Vec<StateDict>,
    /// Each with its gradients.
    optimizers: Vec<(Optimizer, Grads)>,
}

impl Run {
    fn new(trace: &Trace) -> Result<Self, Wrong> {
        let optimizers = trace.optimizers.iter().map(|spec| {
            let optimizer = Optimizer::new(&spec.kind, &spec.hyper, &spec.params)?;
            Ok((optimizer, vec![None; spec.params.len()]))
        });
        Ok(Self {
            scaler: ProtocolScaler::new(trace.config.read())
                .map_err(|error| Wrong::Recording(error.to_string()))?,
            saved: Vec::new(),
            optimizers: optimizers.collect::<Result<_, _>>()?,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Wrong> {
        match (self.call(&event.call), &event.err) {
            (Ok(()), None) => {}
            (Err(Stop::Wrong(wrong)), _) => return Err(wrong),
            (Err(Stop::Refused(error)), raised) => same_error(&error, raised.as_ref())?,
            (Ok(()) | Err(Stop::Unrecorded), Some(raised)) => {
                return Err(Wrong::Result(format!("it returned, and had raised {}", raised.msg)));
            }
            (Err(Stop::Unrecorded), None) => {
                return Err(Wrong::Recording("neither a result nor an error was recorded".into()));
            }
        }
        event.after.as_ref().map_or(Ok(()), |after| same_after(&self.scaler, after))
    }

    /// Makes the call, and compares what came out with what was recorded.
    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        match call {
            Call::Scale { dtype, r#in, out_dtype, out } => {
                let was = out_dtype.as_deref().zip(out.as_deref());
                outputs::compare(&mut self.scaler, (dtype, r#in), was)?;
            }
            Call::SetGrads { grads } => self.set_grads(grads)?,
            Call::Unscale { opt, looked } => self.unscale(*opt, looked.as_ref())?,
            Call::Step { opt, looked, took } => self.step(*opt, looked.as_ref(), took.as_ref())?,
            Call::Update { new_scale } => self.update(new_scale.as_ref())?,
            Call::StateDict { slot, dict } => self.save(*slot, recorded(dict.as_ref())?)?,
            Call::Load { slot, fresh } => self.load(*slot, fresh.as_ref())?,
            Call::Get => {}
        }
        Ok(())
    }

    fn set_grads(&mut self, grads: &[super::trace::Grads]) -> Result<(), Wrong> {
        if grads.len() != self.optimizers.len() {
            return Err(Wrong::Recording(format!(
                "it has gradients of {} optimizers",
                grads.len()
            )));
        }
        for ((_, mine), given) in self.optimizers.iter_mut().zip(grads) {
            *mine = given.iter().map(|grad| grad.as_deref().map(floats)).collect();
        }
        Ok(())
    }

    fn unscale(&mut self, opt: usize, looked: Option<&Looked>) -> Result<(), Stop> {
        let (_, grads) = optimizer(&mut self.optimizers, opt)?;
        let found = self.scaler.unscale(id(opt), &mut lent(grads))?;
        let looked = recorded(looked)?;
        same("the flag", &found, &looked.found_inf.iter().any(|&bits| bits != 0))?;
        Ok(same_look(self.scaler.found(id(opt)), grads, looked)?)
    }

    fn step(
        &mut self,
        opt: usize,
        looked: Option<&Looked>,
        took: Option<&Took>,
    ) -> Result<(), Stop> {
        let (optimizer, grads) = optimizer(&mut self.optimizers, opt)?;
        let stepped = self.scaler.step(id(opt), &mut lent(grads))? == Verdict::Apply;
        if stepped {
            optimizer.step(grads)?;
        }
        same_look(self.scaler.found(id(opt)), grads, recorded(looked)?)?;
        let took = recorded(took)?;
        same("stepped", &stepped, &took.stepped)?;
        optimizer.same_params(&took.params)?;
        Ok(optimizer.same_states(&took.state)?)
    }

    fn update(&mut self, new: Option<&New>) -> Result<(), ProtocolError> {
        match new {
            None => self.scaler.update(),
            Some(New::Float { value }) => self.scaler.set_scale(NewScale::Float(value.0)),
            Some(New::Tensor { bits }) => {
                self.scaler.set_scale(NewScale::Tensor(f32::from_bits(*bits)))
            }
            Some(New::Int { value }) => self.scaler.set_scale(NewScale::Int(*value)),
        }
    }

    fn save(&mut self, slot: usize, dict: &Dict) -> Result<(), Wrong> {
        let state = self.scaler.state_dict();
        same("the slot", &self.saved.len(), &slot)?;
        self.saved.push(state);
        let was = dict.read();
        same_num("scale", state.scale, was.scale)?;
        same_num("growth_factor", state.growth_factor, was.growth_factor)?;
        same_num("backoff_factor", state.backoff_factor, was.backoff_factor)?;
        same("growth_interval", &state.growth_interval, &was.growth_interval)?;
        same("_growth_tracker", &state.growth_tracker, &was.growth_tracker)
    }

    fn load(&mut self, slot: usize, fresh: Option<&Dict>) -> Result<(), Stop> {
        let nothing = || Wrong::Recording(format!("nothing was saved in slot {slot}"));
        let state = *self.saved.get(slot).ok_or_else(nothing)?;
        if let Some(config) = fresh {
            self.scaler = ProtocolScaler::new(config.read())?;
        }
        Ok(self.scaler.load_state_dict(&state)?)
    }
}

fn recorded<T>(what: Option<T>) -> Result<T, Stop> {
    what.ok_or(Stop::Unrecorded)
}

fn id(opt: usize) -> u64 {
    opt as u64
}

fn optimizer(all: &mut [(Optimizer, Grads)], opt: usize) -> Result<&mut (Optimizer, Grads), Wrong> {
    all.get_mut(opt).ok_or_else(|| Wrong::Recording(format!("there is no optimizer {opt}")))
}

fn lent(grads: &mut Grads) -> Vec<Option<&mut [f32]>> {
    grads.iter_mut().map(Option::as_deref_mut).collect()
}

/// Flags and gradients, after they were looked at.
fn same_look(found: Option<f32>, grads: &Grads, recorded: &Looked) -> Result<(), Wrong> {
    same_bits("found_inf", found.as_slice(), &recorded.found_inf)?;
    dtype::same_grads(grads, &recorded.grads, DType::F32)
}

/// The class has to be torch's, and the message to begin with torch's.
fn same_error(error: &ProtocolError, raised: Option<&Raised>) -> Result<(), Wrong> {
    let Some(raised) = raised else {
        return Err(Wrong::Result(format!("it was refused, and had not been: {error}")));
    };
    same("the error's class", &error.exception(), &raised.class.as_str())?;
    if error.to_string().starts_with(&raised.msg) {
        return Ok(());
    }
    Err(Wrong::Result(format!("the error is `{error}`, and was `{}`", raised.msg)))
}

fn same_after(scaler: &ProtocolScaler, after: &After) -> Result<(), Wrong> {
    same_bits("scale", scaler.current().as_slice(), after.scale.as_slice())?;
    same_num("get_scale", scaler.get_scale(), after.get_scale.0)?;
    same("the growth tracker", &scaler.state_dict().growth_tracker, &after.tracker)
}
