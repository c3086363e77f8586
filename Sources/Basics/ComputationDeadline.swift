/// The time by which the computation of the current task must end.
///
/// A queue of computations sets it, so that a search with a time limit counts the time for which it has waited.
package enum ComputationDeadline {
  /// The deadline; `nil` if there is none.
  @TaskLocal package static var current: ContinuousClock.Instant?
}
