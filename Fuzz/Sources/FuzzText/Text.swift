import FuzzSupport
import Geo
@testable import MemoryStore
import Points
import SearchWords
import Synchronization

@main enum Main {
  static func main() { runFuzzer(fuzzText) }
}

private let store = NamedPlaces()

/// Tests that any bytes are normalized to words within the text, that normalizing is idempotent, and that a search for
/// them returns matches in order whose highlighted ranges are within the names.
private func fuzzText(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  var normalized = NormalizedText()
  normalized.fill(with: bytes)
  for word in normalized.words {
    precondition(word.start < word.end && Int(word.end) <= normalized.bytes.count)
    precondition(word.sourceStart < word.sourceEnd && Int(word.sourceEnd) <= count)
  }
  let text = String(decoding: bytes, as: UTF8.self)
  let once = NormalizedText(text).text
  precondition(NormalizedText(once).text == once, "normalizing again changes the text")
  let short = String(String.UnicodeScalarView(text.unicodeScalars.prefix(TextQuery.maximumLength)))
  for completes in [false, true] {
    let query = TextQuery(text: short, completesLastWord: completes, limit: 3, includesMatchedNames: true)
    let page = store.matches(of: query)
    precondition(page.matches.count <= 3)
    precondition(zip(page.matches, page.matches.dropFirst()).allSatisfy { $0.score >= $1.score })
    for match in page.matches {
      guard let name = match.name else { continue }
      precondition(name.ranges.allSatisfy { $0.upperBound <= name.text.unicodeScalars.count })
    }
  }
  return 0
}

/// Some places with names of several scripts.
private struct NamedPlaces {
  private let store = MemoryStore()

  private static let names = [
    "Winchester Mystery House", "St. Paul’s Cathedral", "Café Łódź", "東京国立博物館", "ガーデンカフェ", "서울 한빛", "مسجد الحسن",
    "בית קפה", "दिल्ली पार्क", "กรุงเทพ", "Музей", "Φαρμακείο", "a", "Bar 2000",
  ]

  init() {
    let rows = Self.names.enumerated().compactMap { index, name in
      (try? Coordinate(latitude: Double(index), longitude: Double(index)))
        .flatMap { try? PointDraft(name: name, category: "museum", coordinate: $0) }
        .map { ImportRow(number: index + 1, id: nil, draft: $0) }
    }
    precondition(rows.count == Self.names.count)
    let isDone = Mutex(false)
    Task.immediate { [store] in
      let stream = AsyncStream<[ImportRow]> { continuation in
        continuation.yield(rows)
        continuation.finish()
      }
      _ = try? await store.importRows(stream, mode: .partial, dryRun: false)
      isDone.withLock { $0 = true }
    }
    while !isDone.withLock({ $0 }) {}
  }

  func matches(of query: TextQuery) -> TextPage {
    let page = Mutex<TextPage?>(nil)
    Task.immediate { [store] in
      let found = try? await store.snapshot(isRequired: true)?.page(matching: query)
      page.withLock { $0 = found }
    }
    guard let page = page.withLock({ $0 }) else { fatalError("no result at once") }
    return page
  }
}
