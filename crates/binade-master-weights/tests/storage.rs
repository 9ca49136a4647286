//! Types in which parameters are stored, and the masters of each.

use crate::common::{
    ALL, Host, LOW, Optimizer, all_rules, config, optimizer, params, round, stores_and_types,
    values,
};
use binade_core::{DType, Error as _, ErrorKind, HostDevice, Named};
use binade_master_weights::{Memory, UpdateRule};

const SET: [(&str, &[f32]); 2] = [("linear.weight", &[1.0, 2.0, 3.0]), ("norm.weight", &[1.0])];

#[test]
fn masters_keep_the_bits_that_lowering_a_parameter_loses() {
    let exact = values(100, 9);
    for dtype in LOW {
        let config = config(UpdateRule::sgd(0.1)).with_storage(dtype);
        let optimizer = optimizer(params(DType::F32, [("w", &exact[..])]), config);
        let master = optimizer.masters().get("w").unwrap().master.copy();
        assert_eq!(master, Some(&exact));
        let rounded: Vec<f32> = exact.iter().map(|x| round(dtype, *x)).collect();
        assert_eq!(optimizer.params[0].value.data, rounded);
        assert_ne!(rounded, exact, "{dtype} loses something");
    }
}

#[test]
fn a_type_that_the_tensor_cannot_have_is_the_tensors_own_error() {
    let config = config(UpdateRule::sgd(0.1)).with_storage(DType::E4M3);
    let error = Optimizer::new(HostDevice::new(), params(DType::F32, SET), config).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::Unsupported, "no elements of type e4m3".into())
    );
}

#[test]
fn memory_says_before_what_masters_and_moments_take_after() {
    for rule in all_rules() {
        for (store, dtype) in stores_and_types() {
            for now in ALL {
                let config =
                    config(rule).with_store(store).with_storage(dtype).keep(["norm.weight"]);
                let known = SET.map(|(name, data)| (name, now, data.len() as u64));
                let memory = Memory::of(&config, known);
                let optimizer = optimizer(params(now, SET), config);
                assert_eq!(optimizer.masters().bytes(), (memory.masters, memory.optimizer));
                let bytes = |x: &Host| (x.data.len() * x.dtype.bytes()) as u64;
                let stored = optimizer.params.iter().map(|param| bytes(&param.value)).sum();
                assert_eq!((memory.parameters, memory.gradients), (stored, stored));
            }
        }
    }
}

#[test]
fn memory_of_adamw_on_f16_is_sixteen_bytes_a_parameter() {
    let config = config(UpdateRule::adamw(1e-3)).with_storage(DType::F16);
    let memory = Memory::of(&config, [("w", DType::F32, 1000)]);
    assert_eq!(
        memory,
        Memory { parameters: 2000, masters: 4000, gradients: 2000, optimizer: 8000 }
    );
    assert_eq!(memory.total(), 16000);
    let memory = Memory::of(&config, [("mask", DType::F64, 1000)]);
    assert_eq!(memory, Memory { parameters: 8000, ..Memory::default() }, "it is not trained");
}

#[test]
fn a_parameter_of_a_type_that_is_not_trained_is_refused_by_name() {
    for dtype in [DType::F64, DType::I64, DType::E5M2] {
        let strange = Named::new("w", Host { dtype, data: vec![1.0] });
        let error = Optimizer::new(HostDevice::new(), vec![strange], config(UpdateRule::sgd(0.1)));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with("`w`: parameters are trained in bf16"), "{error}");
    }
}
