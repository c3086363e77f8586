import FuzzSupport
import HTTPServer

@main enum Main {
  static func main() { runFuzzer(fuzzQuery) }
}

private let service = Service()

/// A query of any bytes is read or refused with a status below 500, and what is read can be read again.
private func fuzzQuery(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: data, count: count), as: UTF8.self)
  if let query = try? QueryParameters(text[...]) {
    precondition(query.all.count <= QueryParameters.maximumCount)
    for parameter in query.all {
      let decoded = PercentEncoding.decode(parameter.rawValue, plusIsSpace: true)
      precondition(decoded == parameter.value, "a value is not what was sent")
      precondition(PercentEncoding.decode(PercentEncoding.encode(parameter.value)[...]) == parameter.value)
    }
  }
  for path in ["/locations", "/locations/check", "/categories"] { service.get("\(path)?\(text)") }
  return 0
}
