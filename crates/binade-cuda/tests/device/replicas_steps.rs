//! Steps of replicas against a step of one device with the average, and against the CPU.

use crate::support::{
    Device, Grads, Result, Set, all_replicas, apart, cuda, noise, replicas, set, vector, waits,
};
use binade_core::ops::Download;
use binade_core::{DType, Named};
use binade_cuda::{Cuda, Replicas, Tensor};
use binade_grad_scaler::{ClipGroup, LossScale, Norm, Scaler, Step, StepOutcome};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Snapshot, UpdateRule};

crate::tests![
    replicas_step_as_one_device_does_with_the_average,
    an_overflow_on_any_device_skips_all_and_backs_off_once,
    a_step_waits_for_nothing_and_its_outcome_once_a_device,
    windows_of_replicas_are_the_cpus,
    a_run_is_saved_from_one_device_and_loaded_to_all,
    parameters_join_on_all_devices,
    a_parameter_without_a_gradient_stays_on_all_devices,
    parameters_are_updated_where_they_are,
];

const NAMES: [&str; 3] = ["a", "b", "c"];
const LENGTHS: [usize; 3] = [3000, 5, 66];

/// Returns the gradients of step `number` on the device at `place`, in values exact in f16.
fn backward(number: u64, place: u64) -> Set {
    let values = |at: usize| {
        let seed = 1000 * number + 10 * place + at as u64;
        let cuda = cuda();
        let narrow = vector(&cuda, &noise(seed, LENGTHS[at]), DType::F16);
        Some(cuda.download(&narrow).unwrap())
    };
    (0..3).map(|at| (NAMES[at], values(at))).collect()
}

/// Returns the average over two devices. One rounding to f32 equals that of the sum in f64.
fn average(number: u64) -> Set {
    let each = [0, 1].map(|place| backward(number, place));
    let one = |at: usize| {
        let of = |index: usize| {
            let values =
                each.iter().filter_map(|set| set[at].1.as_ref()).map(|values| values[index]);
            values.sum::<f32>() / 2.0
        };
        (NAMES[at], Some((0..LENGTHS[at]).map(of).collect()))
    };
    (0..3).map(one).collect()
}

struct Run<D: Device> {
    device: D,
    scaler: Scaler<D>,
    optimizer: MasterOptimizer<D>,
    loss: D::Tensor,
}

impl<D: Device> Run<D> {
    fn new(device: &D, rule: UpdateRule) -> Result<Self> {
        let one = |(name, len): (&&str, usize)| {
            Named::new(*name, vector(device, &noise(len as u64, len), DType::F16))
        };
        let params = NAMES.iter().zip(LENGTHS).map(one).collect();
        let scale = LossScale::dynamic().with_growth_interval(3)?;
        Ok(Self {
            device: device.clone(),
            scaler: Scaler::new(device.clone(), scale).map_err(|error| error.to_string())?,
            optimizer: MasterOptimizer::new(device.clone(), params, OptimizerConfig::new(rule)?)
                .map_err(|error| error.to_string())?,
            loss: vector(device, &[1.0], DType::F32),
        })
    }

    /// Runs one step with these gradients, clipped by all and by groups.
    fn step(&mut self, grads: Grads<D>) -> Result<StepOutcome<D>, D::Error> {
        let group = [ClipGroup::new(["a", "c"], Norm::Infinity, 0.01)];
        let grads = self.scaler.scale(&self.loss)?.backward(|_| Ok(grads))?.unscale()?;
        let step = grads.clip_norm(0.5)?.clip_groups(&group)?.step(&mut self.optimizer)?;
        self.scaler.update(step)
    }

    fn params(&self) -> Vec<Vec<u8>> {
        self.optimizer.params.iter().map(|param| self.device.bits(&param.value)).collect()
    }
}

impl Run<Replicas> {
    /// Returns masters, moments and counts of each device as text.
    fn kept(&self) -> Result<Vec<String>> {
        let of = |(place, cuda): (usize, &Cuda)| {
            let masters = &self.optimizer.masters().0[place];
            let one = |name: &&str| Ok(format!("{name}: {:?}", masters.read(cuda, name)?));
            NAMES.iter().map(one).collect::<Result<String>>()
        };
        self.device.devices().iter().enumerate().map(of).collect()
    }

    /// Returns that text, and asserts that it is equal on every device.
    fn kept_alike(&self) -> Result<String> {
        let mut kept = self.kept()?.into_iter();
        let first = kept.next().ok_or("no device")?;
        for other in kept {
            assert_eq!(other, first, "devices differ");
        }
        Ok(first)
    }
}

fn rules() -> [UpdateRule; 2] {
    [UpdateRule::sgd(0.1), UpdateRule::adamw(1e-2)]
}

fn replicas_step_as_one_device_does_with_the_average() -> Result {
    let replicas = replicas();
    for rule in rules() {
        let (mut all, mut one) = (Run::new(&replicas, rule)?, Run::new(&cuda(), rule)?);
        let mut said = Vec::new();
        for number in 0..20 {
            let each = [0, 1].map(|place| backward(number, place));
            let outcome = all.step(apart(&replicas, &each, DType::F16))?;
            let alone = one.step(set(&cuda(), &average(number), DType::F32))?;
            let (got, want) = (outcome.resolve()?, alone.resolve()?);
            let [got, want] = [got, want].map(|step| {
                let part = &step.report().steps[0].parts[0].finding;
                format!("{:?} {:?} {:?}", step.report().scale, part.norm, part.overflow)
            });
            assert_eq!(got, want, "{rule:?} {number}");
            said.push(got);
        }
        assert!(said.iter().any(|said| said.contains("Some(")), "a norm is told");
        assert_eq!(all.params(), one.params(), "{rule:?}");
        let kept = NAMES
            .iter()
            .map(|name| Ok(format!("{name}: {:?}", one.optimizer.masters().read(&cuda(), name)?)));
        assert_eq!(all.kept_alike()?, kept.collect::<Result<String>>()?);
    }
    Ok(())
}

fn an_overflow_on_any_device_skips_all_and_backs_off_once() -> Result {
    for replicas in all_replicas() {
        let devices = replicas.devices().len();
        for bad in [vec![0], vec![1], vec![0, 1]] {
            let mut run = Run::new(&replicas, UpdateRule::adamw(1e-2))?;
            let part = |place: usize, bad: &[usize]| {
                let mut grads = backward(5, place as u64);
                if let (true, (_, Some(values))) = (bad.contains(&place), &mut grads[1]) {
                    values[3] = f32::INFINITY;
                }
                grads
            };
            let each =
                |bad: &[usize]| (0..devices).map(|place| part(place, bad)).collect::<Vec<_>>();
            drop(run.step(apart(&replicas, &each(&[]), DType::F16))?.resolve()?);
            let (params, kept) = (run.params(), run.kept_alike()?);
            let outcome = run.step(apart(&replicas, &each(&bad), DType::F16))?;
            let Step::Skipped(report) = outcome.resolve()? else { panic!("{bad:?} was applied") };
            let text = report.to_string();
            assert!(text.contains("b[3] is +inf"), "{text}");
            let finding = &report.steps[0].parts[0].finding;
            assert_eq!((finding.infinities, finding.nans), (bad.len() as u64, 0));
            let state = run.scaler.state()?;
            assert_eq!((state.exponent, state.overflows, state.skipped), (15, 1, 1));
            assert_eq!((run.params(), run.kept_alike()?), (params, kept), "{bad:?}");
            drop(run.step(apart(&replicas, &each(&[]), DType::F16))?.resolve()?);
            assert!(run.kept_alike()?.contains("applied: 2"));
        }
    }
    Ok(())
}

fn a_step_waits_for_nothing_and_its_outcome_once_a_device() -> Result {
    let replicas = replicas();
    let mut run = Run::new(&replicas, UpdateRule::adamw(1e-2))?;
    let each = [0, 1].map(|place| backward(0, place));
    let grads = apart(&replicas, &each, DType::F16);
    let before = waits(&replicas);
    let first = run.step(grads.clone())?;
    let second = run.step(grads)?;
    assert_eq!(waits(&replicas), before);
    drop(first.resolve()?);
    assert_eq!(waits(&replicas) - before, 2);
    let mut second = second;
    let step = loop {
        match second.try_resolve()? {
            Ok(step) => break step,
            Err(later) => second = later,
        }
    };
    assert!(matches!(step, Step::Applied(_)));
    assert_eq!(waits(&replicas) - before, 4);
    Ok(())
}

fn windows_of_replicas_are_the_cpus() -> Result {
    use crate::windows::train;
    use binade_grad_scaler::BadMicroBatch;
    // Every device has the same gradients, whose average they are. Counts alone are multiplied by the number of devices.
    for bad in [BadMicroBatch::Drop, BadMicroBatch::SkipWindow] {
        let (want, _) = train(&binade_cpu::Cpu, UpdateRule::adamw(1e-2), bad)?;
        for replicas in all_replicas() {
            let (got, _) = train(&replicas, UpdateRule::adamw(1e-2), bad)?;
            assert_eq!(got, want, "{bad:?}");
        }
    }
    Ok(())
}

fn a_run_is_saved_from_one_device_and_loaded_to_all() -> Result {
    let replicas = replicas();
    let rule = UpdateRule::adamw(1e-2);
    let grads = |number| {
        let each = [0, 1].map(|place| backward(number, place));
        apart(&replicas, &each, DType::F16)
    };
    let mut run = Run::new(&replicas, rule)?;
    for number in 0..3 {
        run.step(grads(number))?.ignore();
    }
    let saved = replicas.save(&run.optimizer.params, run.optimizer.masters())?;
    let alone = cuda();
    let mut on_one = Run::new(&alone, rule)?;
    let mut other = Run::new(&replicas, rule)?;
    other.optimizer.load(&saved)?;
    on_one.optimizer.load(&saved)?;
    assert_eq!((other.params(), other.kept_alike()?), (run.params(), run.kept_alike()?));
    assert_eq!(on_one.params(), run.params(), "one device goes on where several stopped");
    let state = run.scaler.state()?;
    other.scaler.set_state(state)?;
    for run in [&mut run, &mut other] {
        drop(run.step(grads(7))?.resolve()?);
    }
    assert_eq!((other.params(), other.kept_alike()?), (run.params(), run.kept_alike()?));
    let exported = replicas.export_f32(&run.optimizer.params, run.optimizer.masters())?;
    // The export equals that of one device that goes on with the average.
    on_one.scaler.set_state(state)?;
    drop(on_one.step(set(&alone, &average(7), DType::F32))?.resolve()?);
    let alone = alone.export_f32(&on_one.optimizer.params, on_one.optimizer.masters())?;
    let bits = |values: &Vec<f32>| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for (place, (got, want)) in exported.iter().zip(&alone).enumerate() {
        assert_eq!((&*got.name, got.value.len()), (NAMES[place], LENGTHS[place]));
        assert!(bits(&got.value) == bits(&want.value), "{}", got.name);
    }
    assert_eq!((exported.len(), alone.len()), (NAMES.len(), NAMES.len()));

    // A load that does not fit changes nothing, and the replicas go on.
    let (params, kept) = (run.params(), run.kept_alike()?);
    assert!(run.optimizer.load(&saved[..2]).is_err());
    assert_eq!((run.params(), run.kept_alike()?), (params, kept));
    Ok(())
}

fn parameters_join_on_all_devices() -> Result {
    fn joined<D: Device>(run: &mut Run<D>, grads: [Grads<D>; 2]) -> Result {
        let more = vec![Named::new("d", vector(&run.device, &noise(9, 40), DType::F16))];
        let [first, second] = grads;
        let said = |error: D::Error| error.to_string();
        run.step(first).map_err(said)?.ignore();
        let config = run.optimizer.config().clone();
        run.optimizer.join(more, config).map_err(said)?;
        run.step(second).map_err(said)?.ignore();
        Ok(())
    }
    fn with_more(mut grads: Set) -> Set {
        grads.push(("d", Some(vec![0.25; 40])));
        grads
    }
    let replicas = replicas();
    let rule = UpdateRule::adamw(1e-2);
    let (mut all, mut one) = (Run::new(&replicas, rule)?, Run::new(&cuda(), rule)?);
    let [first, second] = [0, 1].map(|number| [0, 1].map(|place| backward(number, place)));
    let second = second.map(with_more);
    let [first, second] = [first, second].map(|each| apart(&replicas, &each, DType::F16));
    joined(&mut all, [first, second])?;
    let (first, second) = (average(0), with_more(average(1)));
    joined(&mut one, [first, second].map(|grads| set(&cuda(), &grads, DType::F32)))?;
    assert_eq!(all.params(), one.params());
    assert_eq!(all.params().len(), 4);
    Ok(())
}

fn a_parameter_without_a_gradient_stays_on_all_devices() -> Result {
    let replicas = replicas();
    let mut run = Run::new(&replicas, UpdateRule::adamw(1e-2))?;
    let before = run.params();
    let lacking = |places: [bool; 2]| {
        let part = |place: usize| {
            let mut grads = backward(1, place as u64);
            // One gradient that neither has, and one that only one has.
            grads[1].1 = None;
            grads[2].1 = grads[2].1.take().filter(|_| places[place]);
            grads
        };
        apart(&replicas, &[0, 1].map(part), DType::F16)
    };
    for places in [[true, false], [false, true]] {
        let step = run.step(lacking(places))?.resolve()?;
        let missing = &step.report().steps[0].parts[0].finding.missing;
        assert_eq!(missing.len(), 2, "{missing:?}");
    }
    let after = run.params();
    let moved: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a != b).collect();
    assert_eq!(moved, [true, false, true]);
    run.kept_alike()?;
    Ok(())
}

fn parameters_are_updated_where_they_are() -> Result {
    let replicas = replicas();
    let mut run = Run::new(&replicas, UpdateRule::sgd(0.1))?;
    let addresses = |run: &Run<Replicas>| -> Vec<u64> {
        let params = run.optimizer.params.iter();
        params
            .flat_map(|param| param.value.0.iter().map(Tensor::address).collect::<Vec<_>>())
            .collect()
    };
    let (before, each) = (addresses(&run), [0, 1].map(|place| backward(0, place)));
    run.step(apart(&replicas, &each, DType::F16))?.ignore();
    assert_eq!(addresses(&run), before);
    Ok(())
}
