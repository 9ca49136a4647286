// What `prepare` leaves to the fused steps, for each parameter. The host's twins are in `binade-wgpu/src/dispatch/structs`.

// Places of `Move.constants` that hang on the count of applied steps.
const FIRST = 5u;
const ROOT_CORRECTION = 5u;
const NEGATIVE_STEP = 7u;

struct Move {
  is_stepped: u32,
  // What the gradient is still owed.
  inverse: u32,
  clip: u32,
  // Steps applied before this one: the lower word, which names random numbers.
  step: u32,
  // `SgdConstants::to_row` or `AdamConstants::to_row`.
  constants: array<u32, 9>,
}

struct Applied {
  steps: vec2<u32>,
  // Of the weights whose update was not zero in the last step: those that stayed as they were, and those that moved. The fused
  // steps count them, where the plan asks for it; they know the two by their places, 2 and 3 of the four words.
  lost: u32,
  moved: u32,
}
