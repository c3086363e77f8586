/// Prometheus' text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
package enum PrometheusText {
  /// Returns the text of readings, in their order.
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
        // The count is that of the last bucket, so that they agree whatever is recorded meanwhile.
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

  /// Returns a number as Go's `ParseFloat` parses it.
  package static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return Int64(exactly: value).map { String($0) } ?? value.description
  }

  /// Returns text with a backslash before backslashes, ends of lines and, in a label's value, quotation marks.
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

/// The values of the series of a metric.
struct MetricReading: Hashable, Sendable {
  let name: String
  let help: String?
  let kind: MetricKind
  let series: [MetricSeries]
}

/// The labels and the value of a series.
package struct MetricSeries: Hashable, Sendable {
  package let labels: [MetricLabel]
  package let value: MetricValue
}

/// The type of a metric, by Prometheus' word for it.
enum MetricKind: String, Sendable {
  case counter
  case gauge
  case histogram
}

/// A label of a series.
package struct MetricLabel: Hashable, Sendable, Comparable {
  package let name: String
  package let value: String

  package static func < (left: MetricLabel, right: MetricLabel) -> Bool {
    (left.name, left.value) < (right.name, right.value)
  }
}

/// The value of a series.
package enum MetricValue: Hashable, Sendable {
  case number(Double)
  /// The number of observations in each bucket but no lower one, the bucket beyond all bounds last, and their sum.
  case histogram(bounds: [Double], counts: [UInt64], sum: Double)
}

/// The names that Prometheus allows.
enum MetricName {
  /// Returns the name of a metric: letters, digits, `_` and `:`, no digit first; anything else becomes `_`.
  static func metric(_ text: String) -> String { name(text, alsoAllowing: UInt8(ascii: ":")) }

  /// Returns the name of a label: letters, digits and `_`, no digit first; anything else becomes `_`.
  static func label(_ text: String) -> String { name(text, alsoAllowing: UInt8(ascii: "_")) }

  private static func name(_ text: String, alsoAllowing extra: UInt8) -> String {
    var bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), extra:
        byte
      default: UInt8(ascii: "_")
      }
    }
    if bytes.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) ?? true {
      bytes.insert(UInt8(ascii: "_"), at: 0)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
