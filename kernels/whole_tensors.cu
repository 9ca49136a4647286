// One step of LAMB, NovoGrad, LARS or LARC on a set of parameters: rules that step by norms of whole tensors, in two passes.
//
// Oracle: `cases/whole_tensors.rs`; agreement: a bound, since norms are sums of the device's own order.
//
// `whole_tensors_measure`, and then `whole_tensors`: launched as `lib/whole.cuh` and `lib/fused.cuh` say.
//
// The last constant of a row tells the rules apart. One kernel steps by all of them, because most of its text is loads and stores.
#include "lib/lamb.cuh"
#include "lib/lars.cuh"
#include "lib/novograd.cuh"

// As `rules/row.rs` writes them; LARS is 3.
constexpr float LAMB = 1.0f, NOVOGRAD = 2.0f;

struct WholeTensors {
  static constexpr uint32_t MOMENTS = WHOLE_MOMENTS;
  union {
    Lamb lamb;
    NovoGrad novograd;
    Lars lars;
  };
  float kind;

  __device__ __forceinline__ bool moves_moments() const { return kind == LAMB; }

  __device__ __forceinline__ bool reads_parameter() const { return kind != NOVOGRAD; }

  __device__ __forceinline__ void clip(float norm) {
    if (kind == LAMB) lamb.clip(norm);
  }

  __device__ __forceinline__ void measure(float gradient, float parameter, float (&moments)[MOMENTS], float (&values)[2]) const {
    if (kind == LAMB) lamb.measure(gradient, parameter, moments, values);
    else if (kind == NOVOGRAD) novograd.measure(gradient, parameter, moments, values);
    else lars.measure(gradient, parameter, moments, values);
  }

  __device__ __forceinline__ void measured(const WholeNorms& norms, float* running) {
    if (kind == LAMB) lamb.measured(norms);
    else if (kind == NOVOGRAD) novograd.measured(norms, running);
    else lars.measured(norms);
  }

  __device__ __forceinline__ bool element(float gradient, float& parameter, float (&moments)[MOMENTS]) const {
    if (kind == LAMB) return lamb.element(gradient, parameter, moments);
    if (kind == NOVOGRAD) return novograd.element(gradient, parameter, moments);
    return lars.element(gradient, parameter, moments);
  }
};

static_assert(sizeof(WholeTensors) == sizeof(Constants), "the rule's kind is the last constant");

// LAMB alone has a second moment, and keeps it in f32.
template <>
constexpr uint32_t BF16_MOMENTS<WholeTensors> = 1;

__device__ __forceinline__ bool has_moved_moments(const WholeTensors& rule) {
  return rule.moves_moments();
}

STEP_KERNEL(whole_tensors, WholeTensors)

extern "C" __global__ void __launch_bounds__(THREADS) whole_tensors_measure(
    const StepRow* rows, uint32_t row_count, uint64_t chunk_len, Constants* constants, const Found* found, const Owed* owed,
    const float* all_gradients, WholePartial* partials, uint32_t* done) {
  measure_rows<WholeTensors>(rows, row_count, chunk_len, constants, found, owed, all_gradients, partials, done);
}
// sass: whole_tensors loads 8 stores 8 slots 266
// sass: whole_tensors_measure loads 8 stores 4 slots 744
