extension JSONValue {
  /// Appends the value as JSON without white space. Numbers are written as they were read.
  public func append(to json: inout [UInt8]) {
    switch self {
    case .null: json.append(contentsOf: "null".utf8)
    case .bool(let value): json.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let text): json.append(contentsOf: text.utf8)
    case .string(let text): JSONString.append(text, to: &json)
    case .array(let elements):
      json.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        element.append(to: &json)
      }
      json.append(UInt8(ascii: "]"))
    case .object(let members):
      json.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        JSONString.append(member.name, to: &json)
        json.append(UInt8(ascii: ":"))
        member.value.append(to: &json)
      }
      json.append(UInt8(ascii: "}"))
    }
  }
}
