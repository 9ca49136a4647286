//! GPT: its parameters and its forward pass.

use crate::args::Args;
use binade::autocast::Region;
use binade::core::ops::AttentionConfig;
use binade::core::{DType, Handle, Named};
use binade_example_shared::first;
use binade_example_shared::program::Trains;
use binade_tape::{Tape, TapeError, Var};
use fastrand::Rng;

type Outcome<D> = Result<Var<D>, TapeError<<D as Handle>::Error>>;
type Parameters<D> = Result<Vec<Named<<D as Handle>::Tensor>>, <D as Handle>::Error>;

/// Added to mean squares, so that they divide.
const EPS: f32 = 1e-5;
/// Base of the rotations' frequencies (Su et al. 2021, arXiv 2104.09864).
const BASE: f64 = 10_000.0;
/// Parameters of a block.
const BLOCK: usize = 8;

/// Decoder of Llama's kind: root mean squares before each part, rotary positions, no biases; the table of characters is the
/// output layer's weight too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpt {
    characters: usize,
    layers: usize,
    heads: usize,
    width: usize,
}

impl Gpt {
    /// Creates a model of the sizes of `args` for as many `characters`.
    pub(crate) fn new(args: &Args, characters: usize) -> Self {
        let [layers, heads, width] = [args.layers, args.heads, args.width].map(|it| it as usize);
        Self { characters, layers, heads, width }
    }

    /// Returns names and shapes, in the order that `forward` takes them.
    fn layout(&self) -> Vec<(String, Vec<usize>)> {
        let (width, inner) = (self.width, 4 * self.width);
        let block: [(&str, &[usize]); BLOCK] = [
            ("norm0", &[width]),
            ("query", &[width, width]),
            ("key", &[width, width]),
            ("value", &[width, width]),
            ("out", &[width, width]),
            ("norm1", &[width]),
            ("up", &[inner, width]),
            ("down", &[width, inner]),
        ];
        let named =
            |layer| block.map(|(name, shape)| (format!("block{layer}.{name}"), shape.into()));
        let mut layout = vec![("embedding".into(), vec![self.characters, width])];
        layout.extend((0..self.layers).flat_map(named));
        layout.push(("norm".into(), vec![width]));
        layout
    }

    /// Returns first parameters, fixed by `seed`: as [`first::values`] has them, smaller in the table and where a block adds to its
    /// input, so that the sum of all blocks does not grow with their number (GPT-2).
    pub(crate) fn parameters<D: Trains>(&self, device: &D, seed: u64) -> Parameters<D> {
        let mut random = Rng::with_seed(seed);
        #[expect(clippy::cast_precision_loss, reason = "at most 64 layers")]
        let residual = (2.0 * self.layers as f32).sqrt().recip();
        let first = |(name, shape): (String, Vec<usize>)| {
            let factor = match name.rsplit('.').next() {
                Some("embedding") => 0.2,
                Some("out" | "down") => residual,
                _ => 1.0,
            };
            let values = first::values(&name, &shape, &mut random);
            let values: Vec<_> = values.into_iter().map(|value| factor * value).collect();
            Ok(Named::new(name, device.upload(&values, &shape, DType::F32)?))
        };
        self.layout().into_iter().map(first).collect()
    }

    /// Returns the names of the gains of normalisations, which a forward pass of one character in `f32` finds.
    pub(crate) fn norms<D: Trains>(
        &self,
        device: &D,
        params: &[Named<D::Tensor>],
    ) -> Result<Vec<String>, TapeError<D::Error>> {
        let tape = Tape::new(device.clone(), &Region::bf16().off());
        let number = device.upload_i64(&[0], &[1, 1])?;
        self.forward(&tape.parameters(params), &number, Masks::NONE, false)?;
        tape.norms()
    }

    /// Returns the logits of the character behind each of `numbers`, i64 [windows, length]: [windows · length, characters].
    ///
    /// Where `recomputes`, backward computes each block again, and keeps its input alone.
    pub(crate) fn forward<D: Trains>(
        &self,
        p: &[Var<D>],
        numbers: &D::Tensor,
        mut masks: Masks,
        recomputes: bool,
    ) -> Outcome<D> {
        let (table, (blocks, last)) = (&p[0], p[1..].as_chunks::<BLOCK>());
        let mut x = masks.apply(&table.embedding(numbers)?)?;
        let [windows, length] = [x.shape()[0], x.shape()[1]];
        let turns = self.turns(table.tape().device(), length)?;
        for (layer, block) in blocks.iter().enumerate() {
            let inputs: Vec<_> = [&x].into_iter().chain(block).collect();
            let (net, turns, of_block) = (*self, turns.clone(), masks);
            let f = move |of: &[Var<D>]| net.block(layer, of, &turns, of_block);
            x = if recomputes {
                x.tape().recompute(&inputs, f)?
            } else {
                f(&inputs.into_iter().cloned().collect::<Vec<_>>())?
            };
            masks.key[1] += 2;
        }
        let logits = x.at("head").rms_norm(&last[0], EPS)?.linear(table, None)?;
        logits.reshape(&[windows * length, self.characters])
    }

    /// Returns the result of a block on its input, the first of `of`; the others are its parameters. It uses two masks.
    fn block<D: Trains>(
        &self,
        layer: usize,
        of: &[Var<D>],
        turns: &[D::Tensor; 2],
        mut masks: Masks,
    ) -> Outcome<D> {
        let [x, norm0, query, key, value, out, norm1, up, down] = of else {
            unreachable!("an input and the parameters of a block");
        };
        let part = x.at(&format!("block{layer}.attention")).rms_norm(norm0, EPS)?;
        let part = self.attention(&part, [query, key, value], turns)?.linear(out, None)?;
        let x = x.add(&masks.apply(&part)?)?;
        let part = x.at(&format!("block{layer}.perceptron")).rms_norm(norm1, EPS)?;
        let part = part.linear(up, None)?.gelu()?.linear(down, None)?;
        x.add(&masks.apply(&part)?)
    }

    /// Returns the attention of each character to itself and those before it. Queries and keys are turned by their place, so that
    /// their products depend on distances alone.
    fn attention<D: Trains>(
        &self,
        x: &Var<D>,
        [query, key, value]: [&Var<D>; 3],
        [cos, sin]: &[D::Tensor; 2],
    ) -> Outcome<D> {
        let shape = x.shape();
        let split = [shape[0], shape[1], self.heads, self.width / self.heads];
        let heads = |weight| x.linear(weight, None)?.reshape(&split)?.permute(&[0, 2, 1, 3]);
        let turned = |weight| heads(weight)?.rotary_embedding(cos, sin);
        let config = AttentionConfig { causal: true, ..AttentionConfig::default() };
        let (query, key, value) = (turned(query)?, turned(key)?, heads(value)?);
        let y = query.scaled_dot_product_attention(&key, &value, None, config)?;
        y.permute(&[0, 2, 1, 3])?.reshape(&shape)
    }

    /// Returns cosines and sines of the angles by which pairs of features turn, f32 [length, pairs].
    fn turns<D: Trains>(&self, device: &D, length: usize) -> Result<[D::Tensor; 2], D::Error> {
        let pairs = self.width / self.heads / 2;
        #[expect(clippy::cast_precision_loss, reason = "a few thousand places and pairs")]
        let angle =
            |it: usize| (it / pairs) as f64 * BASE.powf(-((it % pairs) as f64) / pairs as f64);
        #[expect(clippy::cast_possible_truncation, reason = "rounded once")]
        let table = |of: fn(f64) -> f64| {
            let values: Vec<f32> = (0..length * pairs).map(|it| of(angle(it)) as f32).collect();
            device.upload(&values, &[length, pairs], DType::F32)
        };
        Ok([table(f64::cos)?, table(f64::sin)?])
    }
}

/// Masks of dropout: each use takes a key of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Masks {
    p: f32,
    key: [i64; 2],
}

impl Masks {
    /// Masks of a forward pass without dropout.
    pub(crate) const NONE: Self = Self { p: 0.0, key: [0; 2] };

    /// Returns the masks of a micro-batch, by its number: a resumed run draws those of an uninterrupted one.
    pub(crate) fn of(p: f32, seed: u32, micro_batch: u32) -> Self {
        // A forward pass uses two in a layer, far below 2^16.
        Self { p, key: [seed.into(), i64::from(micro_batch) << 16] }
    }

    fn apply<D: Trains>(&mut self, x: &Var<D>) -> Outcome<D> {
        if self.p == 0.0 {
            return Ok(x.clone());
        }
        let key = x.tape().device().upload_i64(&self.key, &[2])?;
        self.key[1] += 1;
        x.dropout(&key, self.p)
    }
}
