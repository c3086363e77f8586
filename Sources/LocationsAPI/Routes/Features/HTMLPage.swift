import Crypto
import Foundation
import HTTPServer
import NIOHTTP1

/// A page in HTML that loads nothing: its one style is in it, and it has no scripts.
struct HTMLPage {
  let title: String

  /// The pages above this one, with their addresses.
  var parents: [(title: String, target: String)] = []

  /// The content behind the heading.
  var body: String

  /// The alternate representation.
  var alternate: String

  private static let style = """
    :root{color-scheme:light dark;--text:#222;--ground:#fff;--link:#0645ad;--visited:#6b3fa0;--line:#ddd;--edge:#ccc;\
    --map:#f4f8fb;--grid:#c5d3de;--label:#5a6b7b;--place:#c0392b}\
    @media(prefers-color-scheme:dark){:root{--text:#e4e9ef;--ground:#151a20;--link:#82bcf5;--visited:#c9a7f5;\
    --line:#333d48;--edge:#4a5663;--map:#1e252d;--grid:#37444f;--label:#a3aebb;--place:#ff7b6b}}\
    body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem;\
    color:var(--text);background:var(--ground)}\
    a{color:var(--link)}a:visited{color:var(--visited)}\
    nav{font-size:.9rem}table{border-collapse:collapse;width:100%}\
    th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid var(--line)}\
    th{white-space:nowrap}td{overflow-wrap:anywhere}\
    svg{width:100%;height:auto;border:1px solid var(--edge);background:var(--map)}\
    .l{stroke:var(--grid);stroke-width:1;fill:none}.t{font-size:11px;fill:var(--label)}\
    .p{fill:var(--place);fill-opacity:.8}
    """

  /// Nothing is loaded, nothing runs, and no other page has this one in a frame.
  private static let securityPolicy: String = {
    let digest = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none';"
      + " frame-ancestors 'none'"
  }()

  /// Returns text with the characters escaped that have a meaning in HTML, in quoted attributes too.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  static func link(_ text: String, _ target: String) -> String {
    "<a href=\"\(escape(target))\">\(escape(text))</a>"
  }

  /// Returns a list of items, which are HTML.
  static func list(_ items: [String]) -> String { "<ul>" + items.map { "<li>\($0)</li>" }.joined() + "</ul>" }

  /// Returns a table of rows of a heading and a cell, which is HTML.
  static func table(_ rows: [(String, String)]) -> String {
    "<table>" + rows.map { "<tr><th>\(escape($0))</th><td>\($1)</td></tr>" }.joined() + "</table>"
  }

  /// The text of the page.
  var text: String {
    let path = parents.map { Self.link($0.title, $0.target) }.joined(separator: " / ")
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>\(Self.escape(title))</title>
      <style>\(Self.style)</style>
      </head>
      <body>
      <nav>\(path)</nav>
      <h1>\(Self.escape(title))</h1>
      \(body)
      <p>\(Self.link("JSON", alternate))</p>
      </body>
      </html>

      """
  }

  fileprivate static func addFields(to response: inout HTTPResponse) {
    response.headers.add(name: "content-security-policy", value: securityPolicy)
    response.headers.add(name: "x-content-type-options", value: "nosniff")
    response.headers.add(name: "referrer-policy", value: "no-referrer")
  }
}

extension HTTPResponse {
  init(_ page: HTMLPage) {
    self.init(contentType: FeatureFormat.html.mediaType, bytes: Array(page.text.utf8))
    HTMLPage.addFields(to: &self)
  }
}
