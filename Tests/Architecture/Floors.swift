/// The floors of `Sources`. A module imports modules of its own floor or of a lower one, and a feature no other feature.
enum Floor: Int, Comparable {
  /// Nothing in them knows of places; each could be a package of its own.
  case libraries
  /// Places: found, kept, served.
  case core
  /// The parts that a service may leave out.
  case features
  /// The programs and the commands.
  case program

  /// Creates the floor of a folder below `Sources`; `nil` if it belongs to none.
  init?(folder: Substring) {
    switch folder {
    case "Libraries": self = .libraries
    case "Core": self = .core
    case "Features": self = .features
    case "waymark", "waymark-core": self = .program
    default: return nil
    }
  }

  static func < (one: Floor, other: Floor) -> Bool { one.rawValue < other.rawValue }
}

extension Module {
  /// The folders from `Sources` to where the module belongs.
  private var place: [Substring] { folder.dropFirst("Sources/".count).split(separator: "/") }

  /// The floor; `nil` if its folder is that of none.
  var floor: Floor? { place.first.flatMap { Floor(folder: $0) } }

  /// The name of the feature that it is a part of.
  var feature: String? { floor == .features ? place.dropFirst().first.map { String($0) } : nil }
}
