// Planes of images: the pixels of one channel, `params.pixel` elements apart.
//!asks params

// Where an index is among the pixels of planes of `count` pixels: its pixel, and where its plane begins among planes of `to` pixels.
fn place_of(i: u32, count: u32, to: u32) -> vec2<u32> {
  let channel = i % params.pixel;
  let at = i / params.pixel;
  return vec2(at % count, at / count * to * params.pixel + channel);
}
