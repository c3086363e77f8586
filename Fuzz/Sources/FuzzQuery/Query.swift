import Basics
import FuzzSupport
import HTTPServer

@main enum Main {
  static func main() { runFuzzer(fuzzQuery) }
}

private let service = Service()

/// The paths of the calls with parameters beside `/locations`.
private let paths = [
  "/locations/check", "/locations/suggest", "/locations/reverse", "/locations/clusters",
  "/locations/facets", "/categories", "/api", "/reverse", "/tiles/1/1/0.mvt", "/ogc/collections/places/items",
]

/// Tests that a query of any bytes, and any bytes as the body of a search, are accepted or rejected with a status below
/// 500, and that accepted values round-trip.
private func fuzzQuery(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = expanded(UnsafeBufferPointer(start: data, count: count), upTo: 64 << 10)
  if bytes.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "{") {
    service.post("/locations/search", bytes)
    return 0
  }
  let text = String(decoding: bytes, as: UTF8.self)
  var count = 0
  try? QueryParameter.forEach(in: text[...]) { parameter in
    count += 1
    precondition(PercentEncoding.decode(PercentEncoding.encode(parameter.value)[...]) == parameter.value)
  }
  precondition(count <= QueryParameter.maximumCount)
  // Each input calls one of the other paths, so that more inputs are tried.
  service.get("/locations?\(text)")
  service.get("\(paths[count % paths.count])?\(text)")
  return 0
}
