import Basics
import FuzzSupport
import HTTPServer

@main enum Main {
  static func main() { runFuzzer(fuzzQuery) }
}

private let service = Service()

/// Tests that a query of any bytes is accepted or rejected with a status below 500, and that accepted values
/// round-trip.
private func fuzzQuery(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: data, count: count), as: UTF8.self)
  if let query = try? QueryParameters(text[...]) {
    precondition(query.all.count <= QueryParameters.maximumCount)
    for parameter in query.all {
      let decoded = PercentEncoding.decode(parameter.rawValue, plusIsSpace: true)
      precondition(decoded == parameter.value, "a value differs from the decoded one")
      precondition(PercentEncoding.decode(PercentEncoding.encode(parameter.value)[...]) == parameter.value)
    }
  }
  for path in ["/locations", "/locations/check", "/categories"] { service.get("\(path)?\(text)") }
  return 0
}
