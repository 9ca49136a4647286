//! A causal transformer of burn's own layers. Nothing in this file knows of Binade.
#![forbid(unsafe_code)]

use burn::module::Module;
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

/// Tokens.
pub const VOCABULARY: usize = 8;
/// Tokens of a sequence.
pub const LENGTH: usize = 8;
const ROWS: usize = 8;
const WIDTH: usize = 16;

/// The model.
#[derive(Module, Debug)]
pub struct Transformer {
    tokens: Embedding,
    places: Embedding,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Transformer {
    /// Weights drawn from the device's generator.
    pub fn new(device: &Device) -> Self {
        let encoder = TransformerEncoderConfig::new(WIDTH, 2 * WIDTH, 2, 1).with_dropout(0.0);
        Self {
            tokens: EmbeddingConfig::new(VOCABULARY, WIDTH).init(device),
            places: EmbeddingConfig::new(LENGTH, WIDTH).init(device),
            encoder: encoder.with_norm_first(true).init(device),
            head: LinearConfig::new(WIDTH, VOCABULARY).init(device),
        }
    }

    /// A row of logits for each token, in whatever type the parameters are seen in.
    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<2> {
        let device = tokens.device();
        let places = Tensor::<1, Int>::arange(0..LENGTH as i64, &device).unsqueeze::<2>();
        let x = self.tokens.forward(tokens) + self.places.forward(places);
        let mask = generate_autoregressive_mask(ROWS, LENGTH, &device);
        let x = self.encoder.forward(TransformerEncoderInput::new(x).mask_attn(mask));
        self.head.forward(x).reshape([ROWS * LENGTH, VOCABULARY])
    }
}

/// The mean cross entropy, in `f32`.
pub fn loss(logits: &Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let logits = logits.clone().cast(FloatDType::F32);
    CrossEntropyLossConfig::new().init(&logits.device()).forward(logits, targets)
}

/// The share of tokens that are guessed right.
pub fn right(logits: &Tensor<2>, targets: Tensor<1, Int>) -> f32 {
    let guessed = logits.clone().argmax(1).reshape([ROWS * LENGTH]);
    guessed.equal(targets).int().sum().into_scalar::<i64>() as f32 / (ROWS * LENGTH) as f32
}

/// Sequences that count upwards by their own stride, and what comes next.
pub fn batch(device: &Device) -> (Tensor<2, Int>, Tensor<1, Int>) {
    let token = |row: usize, place: usize| ((row + place * (1 + row % 3)) % VOCABULARY) as i64;
    let rows = |from: usize| -> Vec<i64> {
        (0..ROWS)
            .flat_map(|row| (from..from + LENGTH).map(move |place| token(row, place)))
            .collect()
    };
    let inputs = Tensor::from_data(TensorData::new(rows(0), [ROWS, LENGTH]), device);
    (inputs, Tensor::from_data(TensorData::new(rows(1), [ROWS * LENGTH]), device))
}
