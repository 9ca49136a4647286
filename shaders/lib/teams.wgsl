// Sums and largest elements over teams of neighbouring invocations of a group of 256. All of the group must come; each gets its
// team's. Halves are joined until one is left, so that the order is always the same.

var<workgroup> lanes: array<f32, 256>;

// `team` is a power of two, the same for all.
fn sum_of_team(value: f32, thread: u32, team: u32) -> f32 {
  lanes[thread] = value;
  workgroupBarrier();
  for (var distance = team / 2u; distance > 0u; distance /= 2u) {
    if ((thread & (team - 1u)) < distance) {
      lanes[thread] += lanes[thread + distance];
    }
    workgroupBarrier();
  }
  let sum = lanes[thread & ~(team - 1u)];
  // Before somebody writes what is joined next.
  workgroupBarrier();
  return sum;
}

// Passes over NaN, or gives it: who asks finds it in what comes of the elements.
fn largest_of_team(value: f32, thread: u32, team: u32) -> f32 {
  lanes[thread] = value;
  workgroupBarrier();
  for (var distance = team / 2u; distance > 0u; distance /= 2u) {
    if ((thread & (team - 1u)) < distance) {
      lanes[thread] = max(lanes[thread], lanes[thread + distance]);
    }
    workgroupBarrier();
  }
  let largest = lanes[thread & ~(team - 1u)];
  workgroupBarrier();
  return largest;
}
