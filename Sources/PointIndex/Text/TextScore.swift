import Geo
import Points

/// The score of a match: the number of its tier, and a fraction below 1.
///
///     0.5 × coverage × (1 − 0.1 × edits) + 0.2 × importance + 0.29 × weight / (1 + distance / scale)
///
/// The coverage is the part of the letters of the best name that the query has; the distance is that through the earth
/// from the location of the bias.
struct TextScore: Sendable {
  private let center: EarthCentred?
  private let weight: Double
  private let scale: Double

  static let coverageWeight = 0.5
  static let importanceWeight = 0.2
  static let biasWeight = 0.29
  static let editPenalty = 0.1

  /// The number of edits above which further ones do not lower the score.
  static let maximumEdits = 5

  init(_ bias: LocationBias?) {
    center = bias.map { EarthCentred($0.center) }
    weight = Self.biasWeight * (bias?.weight ?? 0)
    scale = bias?.scaleMetres ?? 1
  }

  /// The greatest bonus of the bias.
  var maximumBonus: Double { weight }

  /// A Boolean value that indicates whether there is a bias.
  var isBiased: Bool { center != nil && weight > 0 }

  /// Returns the bonus of a position.
  @inline(__always)
  func bonus(x: Double, y: Double, z: Double) -> Double {
    guard let center else { return 0 }
    return weight / (1 + center.chordSquared(to: EarthCentred(x: x, y: y, z: z)).squareRoot() / scale)
  }

  /// Returns an upper bound of the bonus of the places of a block.
  @inline(__always)
  func maximumBonus(of block: PostingBlock) -> Double {
    guard let center else { return 0 }
    return weight / (1 + block.leastChord(to: center) / scale)
  }

  /// Returns an upper bound of the bonus of a place.
  @inline(__always)
  func maximumBonus(of place: PlaceBounds) -> Double {
    guard let center else { return 0 }
    return weight / (1 + place.leastChord(to: center) / scale)
  }

  /// Returns an upper bound of the part by coverage.
  ///
  /// - Parameters:
  ///   - nameLetters: the least number of letters of a name, 255 for any greater number too.
  ///   - letters: the number of letters of the query.
  static func maximumCoverage(nameLetters: Int, letters: Int) -> Double {
    let coverage = nameLetters == 255 ? 1 : min(1, Double(letters) / Double(max(nameLetters, 1)))
    return coverageWeight * coverage
  }

  /// Returns what an importance of 0 to 255 adds to the fraction.
  @inline(__always)
  static func importanceTerm(_ importance: UInt8) -> Double { importanceWeight * Double(importance) / 255 }

  /// Returns the fraction without the bonus.
  @inline(__always)
  static func fraction(coverage: Double, edits: Int, importance: UInt8) -> Double {
    coverageWeight * coverage * (1 - editPenalty * Double(min(edits, maximumEdits)))
      + importanceTerm(importance)
  }
}
