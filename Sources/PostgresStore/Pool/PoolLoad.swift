/// What a pool's connections do at a moment.
public struct PoolLoad: Hashable, Sendable {
  /// How many connections are being made.
  public internal(set) var connecting = 0
  /// How many have nothing to do.
  public internal(set) var idle = 0
  /// How many are asked something, or told to stop.
  public internal(set) var busy = 0
  /// How many there may be.
  public internal(set) var limit = 0
  /// How many calls wait for one.
  public internal(set) var waiting = 0
}
