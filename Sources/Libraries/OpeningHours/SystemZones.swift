import Foundation
import Synchronization

extension ZoneRules {
  /// The directories that may have the time zone database, as Debian, macOS and others place it.
  private static let directories = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"]

  private static let maximumNameLength = 64

  /// A Boolean value that indicates whether the system has the time zone database.
  package static var hasDatabase: Bool { !countries.isEmpty }

  /// The zones that were read, of which there are as many as files.
  private static let known = Mutex<[String: ZoneRules]>([:])

  /// Returns the rules of a zone of the system's database, which are read once; `nil` if it has none of this name.
  ///
  /// - Parameter name: a name such as `Europe/Vienna`.
  package static func system(named name: String) -> ZoneRules? {
    if let rules = known.withLock({ $0[name] }) { return rules }
    guard isName(name) else { return nil }
    for directory in directories {
      guard let bytes = FileManager.default.contents(atPath: "\(directory)/\(name)"),
        let rules = ZoneRules(name: name, tzif: bytes)
      else { continue }
      known.withLock { $0[name] = rules }
      return rules
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether a text is the name of a zone, and thus of no file elsewhere.
  private static func isName(_ text: String) -> Bool {
    guard 1...maximumNameLength ~= text.utf8.count else { return false }
    return text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
      part.utf8.first.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xDF } == true
        && part.utf8.allSatisfy { byte in
          UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte & 0xDF || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || [UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-")].contains(byte)
        }
    }
  }

  /// The country of each zone that one country is known by, from the database's `zone.tab`.
  private static let countries: [String: String] = {
    for directory in directories {
      guard let bytes = FileManager.default.contents(atPath: "\(directory)/zone.tab") else { continue }
      var countries: [String: String] = [:]
      for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
        let columns = line.split(separator: "\t")
        if columns.count >= 3 { countries[String(columns[2])] = String(columns[0]) }
      }
      return countries
    }
    return [:]
  }()

  /// The country that the zone is used in by its name, a code of ISO 3166-1; `nil` if it is none's or unknown.
  package var country: String? { Self.countries[name] }
}
