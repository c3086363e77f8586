import CBuiltInMappings

/// The mappings that are part of the program.
package enum BuiltInMappings {
  /// The names.
  package static let names: [String] = (0...).lazy.map(entry).prefix { $0 != nil }.compactMap { $0?.name }

  /// Returns the text of a mapping file; `nil` where there is none of that name.
  package static func text(named name: String) -> String? {
    (0...).lazy.map(entry).prefix { $0 != nil }.compactMap(\.self).first { $0.name == name }?.text
  }

  private static func entry(_ index: Int) -> (name: String, text: String)? {
    let mapping = waymark_built_in_mapping(index)
    guard let name = mapping.name else { return nil }
    let bytes = UnsafeBufferPointer(start: mapping.bytes, count: mapping.count)
    return (String(cString: name), String(decoding: bytes, as: UTF8.self))
  }
}
