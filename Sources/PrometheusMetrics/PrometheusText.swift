/// Prometheus' text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
enum PrometheusText {
  /// The text of readings, in their order.
  static func text(of readings: [MetricReading]) -> String {
    var text = ""
    for reading in readings { append(reading, to: &text) }
    return text
  }

  private static func append(_ reading: MetricReading, to text: inout String) {
    if let help = reading.help { text += "# HELP \(reading.name) \(escaped(help, quotes: false))\n" }
    text += "# TYPE \(reading.name) \(reading.kind.rawValue)\n"
    for series in reading.series {
      switch series.value {
      case .number(let number):
        appendLine(reading.name, series.labels, number, to: &text)
      case .histogram(let bounds, let counts, let sum):
        var total: UInt64 = 0
        // The count is that of the last bucket by construction, whatever is recorded meanwhile.
        for (bound, count) in zip(bounds + [.infinity], counts) {
          total += count
          let label = MetricLabel(name: "le", value: Self.number(bound))
          appendLine(reading.name + "_bucket", series.labels + [label], Double(total), to: &text)
        }
        appendLine(reading.name + "_sum", series.labels, sum, to: &text)
        appendLine(reading.name + "_count", series.labels, Double(total), to: &text)
      }
    }
  }

  private static func appendLine(_ name: String, _ labels: [MetricLabel], _ value: Double, to text: inout String) {
    text += name
    if !labels.isEmpty {
      let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
      text += "{\(pairs.joined(separator: ","))}"
    }
    text += " \(number(value))\n"
  }

  /// A number as Go's `ParseFloat` reads it.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return Int64(exactly: value).map { String($0) } ?? value.description
  }

  /// Text with a backslash before backslashes, ends of lines and, in a label's value, quotation marks.
  static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
