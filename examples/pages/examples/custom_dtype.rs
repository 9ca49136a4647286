//! A custom function that needs a particular type: torch's `custom_fwd(cast_inputs=torch.float32)`.
//!
//! The policy has a rule for the function's name, as for any operation: its operands are cast before forward, and backward is given
//! the same. Inside nothing is cast. An operand's gradient is cast back to the type that the operand had outside.

use binade::core::OpClass;
use binade::prelude::*;
use binade_core::ops::{Exp, Mul};
use binade_cpu::{Cpu, Tensor};
use binade_example_pages::Result;
use binade_tape::{Tape, Var};

const MY_FLOAT32_FUNC: Op = Op::custom("my_float32_func", OpClass::Other);

/// Computes exp(x), which is beyond f16 from x = 11.1 on.
fn my_float32_func(x: &Var<Cpu>) -> Result<Var<Cpu>> {
    Ok(x.tape().custom(
        MY_FLOAT32_FUNC,
        &[x],
        |call| Ok(call.device.exp(&call.operands[0])?),
        |call, grad| {
            let slope = call.device.exp(&call.operands[0])?;
            Ok(vec![Some(call.device.mul(grad, &slope)?)])
        },
    )?)
}

/// Result of the function on an f16 operand.
#[derive(Clone, Debug, PartialEq)]
struct Pass {
    value: f32,
    value_type: DType,
    gradient: f32,
    gradient_type: DType,
}

fn run(policy: OpTable) -> Result<Pass> {
    let autocast = Tape::new(Cpu, &Region::new(DType::F16, policy)?);
    let input = autocast.variable(Tensor::new(vec![12.0_f32], &[1])?.cast(DType::F16)?);
    let output = my_float32_func(&input)?;
    let loss = output.sum()?.scaled_by(0.0625)?;
    let gradient = loss.gradient(&input)?.ok_or("no gradient")?;
    Ok(Pass {
        value: output.tensor().to_f32()[0],
        value_type: output.dtype(),
        gradient: gradient.to_f32()[0],
        gradient_type: gradient.dtype(),
    })
}

fn main() -> Result<()> {
    let lists = OpTable::torch_cuda();
    println!("as given:     {:?}", run(lists.clone())?);
    println!("cast to f32:  {:?}", run(lists.register("my_float32_func", CastRule::F32))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_function_runs_in_f32_and_its_gradient_is_of_the_operands_type() {
        let lists = OpTable::torch_cuda();
        let as_given = run(lists.clone()).unwrap();
        assert_eq!((as_given.value, as_given.value_type), (f32::INFINITY, DType::F16));
        let cast = run(lists.register("my_float32_func", CastRule::F32)).unwrap();
        assert_eq!((cast.value_type, cast.gradient_type), (DType::F32, DType::F16));
        assert!((cast.value - 12.0_f32.exp()).abs() < 0.1, "{cast:?}");
        assert!((cast.gradient - 12.0_f32.exp() / 16.0).abs() < 8.0, "{cast:?}");
    }
}
