/// Numbers that are the same in every run (G. Marsaglia, "Xorshift RNGs", 2003).
struct Xorshift: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
