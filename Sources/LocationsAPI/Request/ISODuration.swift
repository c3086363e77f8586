extension Duration {
  /// Reads a duration of ISO 8601 in weeks, or in days, hours, minutes and seconds, such as `PT24H` or `P1DT12H`; `nil`
  /// where it is none.
  ///
  /// Years and months are not taken: they are not of one length.
  init?(iso8601 text: some StringProtocol) {
    guard
      let match = text.wholeMatch(
        of: /P(?:(\d{1,6})W|(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?)/)
    else { return nil }
    let parts: [(Substring?, Int64)] = [
      (match.1, 7 * 86_400), (match.2, 86_400), (match.3, 3600), (match.4, 60), (match.5, 1),
    ]
    guard parts.contains(where: { $0.0 != nil }), text.last != "T" else { return nil }
    self = .seconds(parts.reduce(Int64(0)) { sum, part in sum + (part.0.flatMap { Int64($0) } ?? 0) * part.1 })
  }
}
