// What `prepare` leaves to the fused steps, for each parameter. The host's twins are in `binade-wgpu/src/dispatch/structs`.

struct Move {
  is_stepped: u32,
  // What the gradient is still owed.
  inverse: u32,
  clip: u32,
  // Steps applied before this one: the lower word, which names random numbers.
  step: u32,
  // `StepConstants::to_row`.
  constants: array<u32, 16>,
}

struct Applied {
  steps: vec2<u32>,
  // Of the weights whose update was not zero in the last step: those that stayed as they were, and those that moved. The fused
  // steps count them, where the plan asks for it; they know the two by their places, 2 and 3 of the four words.
  lost: u32,
  moved: u32,
}
