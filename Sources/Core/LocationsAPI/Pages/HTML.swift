/// Functions that write text as HTML.
package enum HTML {
  /// Returns text with the characters escaped that have a meaning in HTML, in quoted attributes too.
  package static func escape(_ text: String) -> String {
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

  package static func link(_ text: String, _ target: String, _ attributes: String = "") -> String {
    "<a dir=\"auto\" href=\"\(escape(target))\"\(attributes)>\(escape(text))</a>"
  }

  /// Returns a list of items, which are HTML.
  package static func list(_ items: [String]) -> String { "<ul>" + items.map { "<li>\($0)</li>" }.joined() + "</ul>" }

  /// Returns a table of rows of a heading and a cell, which is HTML.
  package static func table(_ rows: [(String, String)]) -> String {
    "<table>"
      + rows.map { "<tr><th scope=\"row\" dir=\"auto\">\(escape($0))</th><td dir=\"auto\">\($1)</td></tr>" }.joined()
      + "</table>"
  }
}
