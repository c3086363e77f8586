import Basics
import HTTPServer
import NIOHTTP1
import Testing

@Suite struct QueryParameterTests {
  private func parameters(of query: String?) throws(Problem) -> [QueryParameter] {
    var parameters: [QueryParameter] = []
    try QueryParameter.forEach(in: query?[...]) { parameters.append($0) }
    return parameters
  }

  @Test(
    arguments: [
      ("lat=37.3&long=-121.9", ["lat=37.3", "long=-121.9"]),
      ("a=1&a=2", ["a=1", "a=2"]),
      ("", []),
      ("&&a=1&&", ["a=1"]),
      ("flag", ["flag="]),
      ("flag=&=x", ["flag=", "=x"]),
      ("a=b=c", ["a=b=c"]),
      ("q=caf%C3%A9+bar", ["q=café bar"]),
      ("a%26b=%3D", ["a&b=="]),
      ("a=1?b=2", ["a=1?b=2"]),
      ("a=x%2Cy,z", ["a=x,y,z"]),
    ] as [(String, [String])]
  )
  func namesAndValuesAreDecodedInOrder(query: String, expected: [String]) throws {
    let parameters = try parameters(of: query)

    #expect(parameters.map { "\($0.name)=\($0.value)" } == expected)
  }

  @Test(
    arguments: [
      ("lat=37.3&&l%6Fng=%2D1+", ["lat=37.3", "l%6Fng=%2D1+"]), ("flag", ["flag="]), ("=x=y&é", ["=x=y", "é="]),
      ("", []),
    ] as [(String, [String])])
  func encodedParametersAreThoseThatWereSent(query: String, expected: [String]) throws {
    var pairs: [String] = []

    try QueryParameter.forEach(encodedIn: query[...]) { pair throws(Problem) in
      pairs.append(String(decoding: pair.name, as: UTF8.self) + "=" + String(decoding: pair.value, as: UTF8.self))
    }

    #expect(pairs == expected)
  }

  @Test func absentQueryHasNoParameters() throws {
    #expect(try parameters(of: nil).isEmpty)
  }

  @Test(arguments: [("category=a%2Cb", true), ("category=c+d,e", false), ("cat%65gory=a", false)])
  func escapesInTheValueAreNoted(query: String, expected: Bool) throws {
    #expect(try parameters(of: query).map(\.hasEscapes) == [expected])
  }

  @Test(arguments: [
    ("a=1&lat=%zz", "lat"), ("lat=%", "lat"), ("lat=%f", "lat"), ("lat=%ff", "lat"), ("lat=%C3%28", "lat"),
    ("%ff=1", "%ff"),
  ])
  func undecodableQueryValueIsNamed(query: String, name: String) throws {
    let problem = #expect(throws: Problem.self) { try parameters(of: query) }

    #expect(problem?.status == .badRequest)
    #expect(problem?.code == "invalid-parameter")
    #expect(problem?.errors.map(\.location) == [.parameter(name)])
  }

  @Test func numberOfQueryParametersIsLimited() throws {
    let most = try parameters(of: Array(repeating: "a=1", count: 100).joined(separator: "&"))
    let problem = #expect(throws: Problem.self) {
      try parameters(of: Array(repeating: "a=1", count: 101).joined(separator: "&"))
    }

    #expect(most.count == 100)
    #expect(problem?.code == "invalid-parameter")
  }
}
