// The constants of each parameter's next step, indexed by the count of steps that were applied to it, and that count's
// next value, unless the step is skipped. Where lost updates are counted, the parameter's counts begin at 0.
//
// Oracle: `StepConstants::at`; agreement: bits. What needs a power is a table of the host's; one f64 division is left.
//
// `prepare`: a thread for each parameter that has a gradient. `counts` is 0 where nothing is counted.
//
// Beyond its last row a table does not change any more, so that the last row stands for all that follow.
#include "lib/lost.cuh"
#include "lib/state.cuh"

// What depends on the count t of applied steps, this one included.
struct Correction {
  double bias;  // 1 - beta1^t
  float root;   // sqrt(1 - beta2^t); for `Correction::Divisors`, 1 - beta2^t
  uint32_t pad;
};

struct Rule {
  double negative_lr;
  const Correction* corrections;
  uint64_t correction_count;
  // All that does not depend on the count; what does comes first.
  Constants constants;
  // 1 for `Correction::Divisors`: the second constant is then the bias itself, and the third is 1 in the first step.
  uint32_t has_divisors, pad;
};

struct Move {
  // 0 where the gradient is there for certain; otherwise it is only if this is not 0.
  const uint32_t* present;
  uint32_t slot, rule;
};

static_assert(sizeof(Correction) == 16 && sizeof(Rule) == 96 && sizeof(Move) == 16, "as `structs.rs`");

extern "C" __global__ void prepare(
    const Move* moves, uint32_t count, const Rule* rules, const Found* found, uint64_t* applied, Constants* constants,
    LostCount* counts) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || is_raised(found)) return;
  Move move = moves[i];
  if (move.present != nullptr && *move.present == 0) return;
  const Rule& rule = rules[move.rule];
  uint64_t t = applied[move.slot];
  Constants next = rule.constants;
  if (rule.correction_count == 0) {
    next.row[0] = t == 0 ? 1.0f : 0.0f;
  } else {
    const Correction& correction = rule.corrections[t < rule.correction_count ? t : rule.correction_count - 1];
    next.row[0] = correction.root;
    double second = rule.has_divisors ? correction.bias : __ddiv_rn(rule.negative_lr, correction.bias);
    next.row[1] = __double2float_rn(second);
    if (rule.has_divisors) next.row[2] = t == 0 ? 1.0f : 0.0f;
  }
  constants[move.slot] = next;
  applied[move.slot] = t + 1;
  if (counts != nullptr) counts[move.slot] = {0, 0};
}
