extension Duration {
  /// Reads a duration of ISO 8601 in weeks, or in days, hours, minutes and seconds, such as `PT24H` or `P1DT12H`; `nil`
  /// where it is none.
  ///
  /// Years and months are not taken: they are not of one length. A number has five digits at most.
  init?(iso8601 text: String) {
    guard
      let match = text.wholeMatch(
        of: /P(?:([0-9]{1,5})W|(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})S)?)?)/)
    else { return nil }
    let parts: [(Substring?, Int64)] = [
      (match.1, 7 * 86_400), (match.2, 86_400), (match.3, 3600), (match.4, 60), (match.5, 1),
    ]
    guard parts.contains(where: { $0.0 != nil }), text.last != "T" else { return nil }
    self = .seconds(parts.reduce(Int64(0)) { sum, part in sum + (part.0.flatMap { Int64($0) } ?? 0) * part.1 })
  }
}
