import Basics
package import HTTPServer
import NIOHTTP1
package import PointFormats

extension PointFormat {
  /// The suffix that distinguishes the entity tags of this format from those of the others, which share the address.
  package var etagSuffix: String { self == .json ? "" : ".\(rawValue)" }

  /// Returns the format that the request's `f` parameter names, or else the one of those offered that its `Accept`
  /// header prefers (RFC 9110, section 12.5.1); the first one offered where neither says anything.
  ///
  /// - Throws: `Problem` 400 for an unknown `f`, 406 when nothing offered is acceptable.
  package static func chosen(
    by parameter: String?, accept headers: RequestFields, from offered: [PointFormat] = responses
  ) throws(Problem) -> PointFormat {
    if let parameter {
      guard let format = PointFormat(rawValue: parameter), offered.contains(format) else {
        let names = offered.map(\.rawValue).joined(separator: ", ")
        throw .invalidParameter("f", "must be one of \(names), got '\(parameter.prefix(50))'")
      }
      return format
    }
    guard !headers.acceptsAnything else { return offered[0] }
    return try MediaRange.preferred(offered, mediaType: \.mediaType, accept: headers[canonicalForm: "accept"])
  }
}

extension RequestFields {
  /// A Boolean value that indicates whether every `Accept` header is `*/*`, as most clients send it. Splits none.
  fileprivate var acceptsAnything: Bool {
    allValues(of: "accept") { $0.isEqual(toLowercase: "*/*") }
  }
}

/// One of the media ranges of an `Accept` header (RFC 9110, section 12.5.1).
package struct MediaRange {
  let type: Substring
  let subtype: Substring
  /// The weight in thousandths.
  let quality: Int

  /// The number of ranges that are read at most.
  static let maximumCount = 50

  /// Returns the offer that an `Accept` header prefers; the first one where there is no header.
  ///
  /// - Throws: `Problem` 406 when nothing offered is acceptable.
  package static func preferred<Offer>(
    _ offered: [Offer], mediaType: (Offer) -> String, accept: [Substring]
  ) throws(Problem) -> Offer {
    guard !accept.isEmpty, accept.count > 1 || accept[0] != "*/*" else { return offered[0] }
    let ranges = list(of: accept)
    var best: (offer: Offer, quality: Int)?
    for offer in offered {
      let quality = quality(of: mediaType(offer).prefix { $0 != ";" }, in: ranges)
      if quality > best?.quality ?? 0 { best = (offer, quality) }
    }
    guard let best else {
      let types = offered.map { String(mediaType($0).prefix { $0 != ";" }) }
      throw .notAcceptable("the available media types are " + types.joined(separator: ", "))
    }
    return best.offer
  }

  private static func list(of headerValues: [Substring]) -> [MediaRange] {
    var ranges: [MediaRange] = []
    for value in headerValues {
      for element in value.split(separator: ",") where ranges.count < maximumCount {
        if let range = MediaRange(element) { ranges.append(range) }
      }
    }
    return ranges
  }

  private init?(_ element: Substring) {
    let parts = element.split(separator: ";", omittingEmptySubsequences: false)
    let names = parts[0].trimmingBlanks.split(separator: "/", omittingEmptySubsequences: false)
    guard names.count == 2, !names[0].isEmpty, !names[1].isEmpty else { return nil }
    type = Substring(names[0].lowercased())
    subtype = Substring(names[1].lowercased())
    quality = Self.quality(of: parts.dropFirst())
  }

  /// Returns the weight that is among the parameters of an element, in thousandths (RFC 9110, section 12.4.2); 1000
  /// where there is none, or it is not from 0 to 1.
  static func quality(of parameters: some Sequence<Substring>) -> Int {
    for parameter in parameters {
      let pair = parameter.trimmingBlanks
      guard pair.lowercased().hasPrefix("q=") else { continue }
      guard let weight = Double(pair.dropFirst(2)), (0...1).contains(weight) else { return 1000 }
      return Int((weight * 1000).rounded())
    }
    return 1000
  }

  /// Returns the weight of a media type: that of the most specific range that covers it; 0 where none does.
  private static func quality(of mediaType: Substring, in ranges: [MediaRange]) -> Int {
    let names = mediaType.split(separator: "/")
    var best = (specificity: -1, quality: 0)
    for range in ranges {
      let specificity: Int
      if range.type == names[0], range.subtype == names[1] {
        specificity = 2
      } else if range.type == names[0], range.subtype == "*" {
        specificity = 1
      } else if range.type == "*", range.subtype == "*" {
        specificity = 0
      } else {
        continue
      }
      if specificity > best.specificity { best = (specificity, range.quality) }
    }
    return best.quality
  }
}

extension Problem {
  /// Status 406, which depends on the fields that it names in `Vary`.
  static func notAcceptable(_ detail: String) -> Problem {
    Problem(
      .notAcceptable, code: "not-acceptable", detail: detail, headers: ["vary": "accept, accept-encoding"])
  }
}
