//! A GPT as candle's users write one. Nothing in this file knows of Binade.
#![forbid(unsafe_code)]

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{Embedding, Linear, Module, VarBuilder, embedding, linear_no_bias};

/// Tokens.
pub const VOCABULARY: usize = 8;
/// Tokens of a sequence.
pub const LENGTH: usize = 8;
const WIDTH: usize = 16;

/// Which layer normalisation a model has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Norm {
    /// `candle_nn::LayerNorm`, as it comes.
    Usual,
    /// `candle_nn::ops::layer_norm_slow`.
    Slow,
}

struct Normalised {
    weight: Tensor,
    bias: Tensor,
    norm: Norm,
}

impl Normalised {
    fn new(norm: Norm, vb: &VarBuilder) -> Result<Self> {
        let weight = vb.get_with_hints(WIDTH, "weight", candle_nn::Init::Const(1.0))?;
        let bias = vb.get_with_hints(WIDTH, "bias", candle_nn::Init::Const(0.0))?;
        Ok(Self { weight, bias, norm })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (&self.weight, &self.bias);
        match self.norm {
            Norm::Usual => candle_nn::LayerNorm::new(weight.clone(), bias.clone(), 1e-5).forward(x),
            Norm::Slow => candle_nn::ops::layer_norm_slow(x, weight, bias, 1e-5),
        }
    }
}

struct Block {
    norms: [Normalised; 2],
    attention: [Linear; 4],
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(norm: Norm, vb: &VarBuilder) -> Result<Self> {
        let linear = |name: &str| linear_no_bias(WIDTH, WIDTH, vb.pp("att").pp(name));
        let norms = [Normalised::new(norm, &vb.pp("ln1"))?, Normalised::new(norm, &vb.pp("ln2"))?];
        Ok(Self {
            norms,
            attention: [linear("q")?, linear("k")?, linear("v")?, linear("o")?],
            up: linear_no_bias(WIDTH, 4 * WIDTH, vb.pp("up"))?,
            down: linear_no_bias(4 * WIDTH, WIDTH, vb.pp("down"))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attend(&self.norms[0].forward(x)?)?)?;
        let hidden = self.up.forward(&self.norms[1].forward(&x)?)?.gelu_erf()?;
        &x + self.down.forward(&hidden)?
    }

    fn attend(&self, x: &Tensor) -> Result<Tensor> {
        let [q, k, v, o] = &self.attention;
        let scores = q.forward(x)?.matmul(&k.forward(x)?.t()?)? / (WIDTH as f64).sqrt();
        let mask = causal(x)?;
        let shares = candle_nn::ops::softmax(&scores?.broadcast_add(&mask)?, D::Minus1)?;
        o.forward(&shares.matmul(&v.forward(x)?)?)
    }
}

fn causal(x: &Tensor) -> Result<Tensor> {
    let hidden = |i, j| if j > i { -1e4_f32 } else { 0.0 };
    let mask = (0..LENGTH).flat_map(|i| (0..LENGTH).map(move |j| hidden(i, j)));
    Tensor::from_iter(mask, x.device())?.reshape((LENGTH, LENGTH))?.to_dtype(x.dtype())
}

/// The model.
pub struct Gpt {
    tokens: Embedding,
    places: Embedding,
    block: Block,
    norm: Normalised,
    head: Linear,
}

impl Gpt {
    /// A model over the variables of `vb`.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn new(norm: Norm, vb: &VarBuilder) -> Result<Self> {
        Ok(Self {
            tokens: embedding(VOCABULARY, WIDTH, vb.pp("tokens"))?,
            places: embedding(LENGTH, WIDTH, vb.pp("places"))?,
            block: Block::new(norm, &vb.pp("block0"))?,
            norm: Normalised::new(norm, &vb.pp("ln"))?,
            head: linear_no_bias(WIDTH, VOCABULARY, vb.pp("head"))?,
        })
    }

    /// The mean cross entropy of the next tokens, in `f32`, and the share that is guessed right.
    ///
    /// # Errors
    ///
    /// candle's.
    pub fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<(Tensor, f32)> {
        let places = Tensor::arange(0, LENGTH as u32, inputs.device())?;
        let x = self.tokens.forward(inputs)?.broadcast_add(&self.places.forward(&places)?)?;
        let x = self.norm.forward(&self.block.forward(&x)?)?;
        let logits = self.head.forward(&x)?.flatten_to(1)?.to_dtype(DType::F32)?;
        let targets = targets.flatten_all()?;
        let right = logits.argmax(D::Minus1)?.eq(&targets)?.to_dtype(DType::F32)?;
        let loss = candle_nn::loss::cross_entropy(&logits, &targets)?;
        Ok((loss, right.mean_all()?.to_scalar()?))
    }
}

/// Sequences that count upwards by their own stride, and what comes next.
///
/// # Errors
///
/// candle's.
pub fn batch() -> Result<(Tensor, Tensor)> {
    let token = |row: usize, place: usize| ((row + place * (1 + row % 3)) % VOCABULARY) as u32;
    let rows = |from: usize| {
        (0..16).flat_map(move |row| (from..from + LENGTH).map(move |place| token(row, place)))
    };
    let tensor = |from| Tensor::from_iter(rows(from), &Device::Cpu)?.reshape((16, LENGTH));
    Ok((tensor(0)?, tensor(1)?))
}
