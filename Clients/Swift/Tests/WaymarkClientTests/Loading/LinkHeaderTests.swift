import Testing

@testable import WaymarkClient

@Suite struct LinkHeaderTests {
  @Test(
    arguments: [
      (#"</a?b=c>; rel="next""#, "/a?b=c"),
      (#"</a>; rel=next"#, "/a"),
      (#"</a>; REL="NEXT""#, "/a"),
      (#"</p>; rel="prev", </a>; rel="next""#, "/a"),
      (#"</p>; title="a, <b>; rel=next"; rel="prev", </a>;rel="last next""#, "/a"),
      (#"</a,b;c>; rel="next""#, "/a,b;c"),
      (#"</a>; rel="next", </b>; rel="next""#, "/a"),
      (#"</a>; rel="nextish""#, nil), (#"</a>"#, nil), ("", nil), ("<", nil), (#"</a; rel="next""#, nil),
      (#"rel="next""#, nil), (#"</a>; rel="prev"; rel="next""#, nil),
    ] as [(String, String?)])
  func theNextPageIsFound(header: String, target: String?) {
    #expect(LinkHeader.target(of: "next", in: header) == target)
  }
}
