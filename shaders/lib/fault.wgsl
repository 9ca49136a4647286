// An index or label that points nowhere, left for the host, which reports it with a download or a step's report: one of them,
// of however many, whichever the driver runs first. The host's twin is `faults.rs`.

struct Fault {
  // 1 once there is one.
  is_taken: atomic<u32>,
  op: u32,
  index_low: u32,
  index_high: u32,
  position: u32,
  limit: u32,
}

@group(0) @binding(7) var<storage, read_write> fault: Fault;

// As `faults.rs` numbers those that take indices.
const EMBEDDING = 0u;
const CROSS_ENTROPY = 1u;

fn leave_fault(op: u32, index: vec2<u32>, position: u32, limit: u32) {
  if (atomicMax(&fault.is_taken, 1u) == 0u) {
    fault.op = op;
    fault.index_low = index.x;
    fault.index_high = index.y;
    fault.position = position;
    fault.limit = limit;
  }
}

// Of an i64: whether it is of 0..limit.
fn is_below(index: vec2<u32>, limit: u32) -> bool {
  return index.y == 0u && index.x < limit;
}
