//! Benchmarks that compute: matrix products, and training steps of an MLP.

use super::{
    Bench, Result,
    clock::Clock,
    data,
    products::{self, Form, TF32, product},
    row::What,
    work::{Turns, Work as _},
};
use crate::mlp::Mlp;
use crate::training::{SETTINGS, Training};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cuda::{F32Products, Products, ProductsBackend, Tensor};

/// Low types that Tensor Cores multiply.
const LOW: [DType; 2] = [DType::BF16, DType::F16];

impl Bench {
    /// Measures products of all sizes and, at a layer's size, in all forms of a layer.
    pub(super) fn products(&mut self, clock: &Clock) -> Result<()> {
        if !self.measures("matmul") {
            return Ok(());
        }
        let dry_run = self.options.dry_run;
        let sizes = if dry_run { &products::TINY[..] } else { &products::SIZES[..] };
        let layer = self.size(products::LAYER, products::TINY[1]);
        sizes.iter().try_for_each(|size| self.products_of(clock, *size, *size == layer))?;
        self.products_of_f32(clock, layer)
    }

    /// Measures products of one size, in all forms if it is a layer's.
    fn products_of(&mut self, clock: &Clock, size: usize, of_layer: bool) -> Result<()> {
        let (elements, turns) = (size * size, products::turns(size));
        let forms = if of_layer { &Form::ALL[..] } else { &Form::ALL[..1] };
        let operands = forms.iter().map(|form| form.operands()).max().unwrap_or_default();
        // Memory holds the wide source, the operands, and as many outputs.
        if !self.fits(&format!("matmul {size}^3"), elements * (4 + 2 * 2 * operands * turns))? {
            return Ok(());
        }
        let wide = data::noise(&self.cuda, elements)?.reshape(&[size, size])?;
        for dtype in LOW {
            if !self.multiplies(&format!("matmul {size}^3 bf16"), dtype)? {
                continue;
            }
            let first = self.cuda.cast(&wide, dtype)?;
            let all = data::copies(&self.cuda, first, operands * turns)?;
            let sets: Vec<Vec<Tensor>> = all.chunks(operands).map(<[_]>::to_vec).collect();
            for form in forms {
                self.product(clock, *form, (dtype, size), &sets)?;
            }
        }
        Ok(())
    }

    /// Measures a plain f32 product in full precision and, if library and GPU have it, by TF32.
    fn products_of_f32(&mut self, clock: &Clock, size: usize) -> Result<()> {
        let (form, turns, elements) = (Form::Plain, products::turns(size), size * size);
        let name = format!("matmul {size}^3 f32");
        let operands = form.operands() * turns;
        // Memory holds as many outputs as operands.
        if !self.fits(&name, elements * 4 * 2 * operands)? {
            return Ok(());
        }
        let first = data::noise(&self.cuda, elements)?.reshape(&[size, size])?;
        let all = data::copies(&self.cuda, first, operands)?;
        let sets: Vec<Vec<Tensor>> = all.chunks(form.operands()).map(<[_]>::to_vec).collect();
        self.product(clock, form, (DType::F32, size), &sets)?;
        let ProductsBackend::Library { .. } = self.cuda.products()? else { return Ok(()) };
        match self.cuda.clone().with_f32_products(F32Products::Tf32) {
            Ok(tf32) => {
                let mut work = product(&tf32, form, (DType::F32, size, TF32), sets);
                let timed = self.time(clock, &mut work);
                // The setting belongs to all clones.
                let _ = self.cuda.clone().with_f32_products(F32Products::Full)?;
                timed
            }
            Err(error) => {
                self.skip(&format!("{name}{TF32}"), error.to_string());
                Ok(())
            }
        }
    }

    /// Measures one product, by the library if there is one, by the fastest of its algorithms, and then by Binade's own kernels.
    fn product(
        &mut self,
        clock: &Clock,
        form: Form,
        (dtype, size): (DType, usize),
        sets: &[Vec<Tensor>],
    ) -> Result<()> {
        let cuda = self.cuda.clone();
        let by = |by| product(&cuda, form, (dtype, size, by), sets.to_vec());
        self.time(clock, &mut by(""))?;
        if let ProductsBackend::Library { .. } = cuda.products()? {
            for (products, name) in [(Products::Fastest, " fastest"), (Products::Own, " own")] {
                // The setting belongs to all clones.
                let _ = cuda.clone().with_products(products);
                let timed = self.time(clock, &mut by(name));
                let _ = cuda.clone().with_products(Products::Library);
                timed?;
            }
        }
        Ok(())
    }

    /// Measures a training step at each level and type, and the same step captured.
    pub(super) fn training(&mut self, clock: &Clock) -> Result<()> {
        if !self.measures("mlp") {
            return Ok(());
        }
        let mlp = if self.options.dry_run { Mlp::TINY } else { Mlp::FULL };
        let values = data::values(mlp.batch * mlp.widths[0]);
        for setting in SETTINGS {
            if !self.fits("an MLP's training step", mlp.bytes())? {
                return Ok(());
            }
            let (level, dtype) = setting;
            if !self.multiplies(&format!("an MLP's training step at {level} in bf16"), dtype)? {
                continue;
            }
            let mut training = Training::new(&self.cuda, mlp, setting, &values)?;
            self.time(clock, &mut training)?;
            // A graph of the same step, after the two warm-ups that a capture takes: a round is one replay.
            let what = training.what();
            let what = What { name: format!("{}, captured", what.name), ..what };
            let mut step = || training.run(()).map(drop);
            let ((), capture) = self.cuda.capture().warm_up(&mut step)?;
            let ((), capture) = capture.warm_up(&mut step)?;
            let captured = capture.capture(&mut step)?;
            self.time(clock, &mut Turns::new(what, vec![()], |()| Ok(captured.replay()?)))?;
        }
        self.cuda.trim();
        self.never_waited("mlp")
    }
}
