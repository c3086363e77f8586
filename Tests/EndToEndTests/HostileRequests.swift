import Foundation

/// Requests that the OpenAPI document of a server describes, each with an invalid value.
struct HostileRequests {
  struct Request: CustomStringConvertible {
    let method: String
    let target: String
    var headers: [String: String] = [:]
    var body: String?

    var description: String { "\(method) \(target) \((body ?? "").prefix(200))" }
  }

  private let api: [String: Any]

  init(_ api: [String: Any]) throws { self.api = api }

  private static let nul = "%00"
  private static let id = "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c"

  /// A request for each parameter and each text of a body, in which that has a NUL character.
  var withNUL: [Request] {
    var requests: [Request] = []
    let paths = api["paths"] as? [String: [String: Any]] ?? [:]
    for (path, item) in paths.sorted(by: { $0.key < $1.key }) {
      for (method, value) in item.sorted(by: { $0.key < $1.key }) {
        guard let operation = value as? [String: Any], ["get", "put", "post", "patch", "delete"].contains(method) else {
          continue
        }
        // A stream has no end.
        if path.contains("stream") || path.hasSuffix("/events") { continue }
        let parameters = (item["parameters"] as? [Any] ?? []) + (operation["parameters"] as? [Any] ?? [])
        let all = parameters.compactMap { $0 as? [String: Any] }.map(resolved)
        let bodies = bodies(of: operation)
        func add(_ names: [String: String], body: (type: String, text: String)?) {
          var headers: [String: String] = [:]
          if let body { headers["Content-Type"] = body.type }
          requests.append(
            Request(
              method: method.uppercased(), target: target(path, all, names), headers: headers, body: body?.text))
        }
        for parameter in all {
          guard let name = parameter["name"] as? String, let place = parameter["in"] as? String,
            place == "path" || place == "query"
          else { continue }
          add([name: Self.nul], body: bodies.first)
          add([name: "a\(Self.nul)b"], body: bodies.first)
        }
        for body in bodies {
          for text in Self.withNUL(body.text) { add([:], body: (body.type, text)) }
        }
      }
    }
    return requests
  }

  private func resolved(_ value: [String: Any]) -> [String: Any] {
    guard let reference = value["$ref"] as? String else { return value }
    var node: Any? = api
    for part in reference.split(separator: "/").dropFirst() { node = (node as? [String: Any])?[String(part)] }
    return node as? [String: Any] ?? value
  }

  private func target(_ path: String, _ parameters: [[String: Any]], _ values: [String: String]) -> String {
    var (path, query): (String, [String]) = (path, [])
    for parameter in parameters {
      guard let name = parameter["name"] as? String else { continue }
      let isInPath = parameter["in"] as? String == "path"
      let isRequired = parameter["required"] as? Bool == true
      guard isInPath || (parameter["in"] as? String == "query" && (isRequired || values[name] != nil)) else { continue }
      let schema = resolved(parameter["schema"] as? [String: Any] ?? [:])
      let example = parameter["example"] ?? schema["example"] ?? (schema["enum"] as? [Any])?.first
      let text = example.map { "\($0)" } ?? (name.lowercased().hasSuffix("id") ? Self.id : "1")
      let encoded = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
      if isInPath {
        path = path.replacing("{\(name)}", with: values[name] ?? encoded)
      } else {
        query.append("\(name)=\(values[name] ?? encoded)")
      }
    }
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  private func bodies(of operation: [String: Any]) -> [(type: String, text: String)] {
    let body = resolved(operation["requestBody"] as? [String: Any] ?? [:])
    let content = body["content"] as? [String: Any] ?? [:]
    return content.sorted { $0.key < $1.key }.compactMap { type, media in
      guard let media = media as? [String: Any], let example = media["example"] else { return nil }
      if let text = example as? String { return (type, text) }
      guard let data = try? JSONSerialization.data(withJSONObject: example, options: [.sortedKeys]) else { return nil }
      return (type, String(decoding: data, as: UTF8.self))
    }
  }

  /// Returns copies of a JSON text, in each of which one string, a key or a value, has a NUL character.
  private static func withNUL(_ text: String) -> [String] {
    text.matches(of: /"(?:[^"\\]|\\.)+"/).map { match in
      var copy = text
      copy.insert(contentsOf: "\\u0000", at: copy.index(before: match.range.upperBound))
      return copy
    }
  }
}
