import Geo
import Points

/// A question that one statement can answer for several callers at a time.
///
/// A query of a few places costs PostgreSQL about as much for being received, started and ended as for being run. When
/// more callers wait than there are connections, a connection is sent what several of them ask as one statement, which
/// joins the numbers of each with what they find.
struct SharedRead: Sendable {
  /// Takes an array for each of the values, with an element for each caller; its last column is which of the callers a
  /// row is for, from 1 on.
  let statement: Statement

  /// What this caller asks about.
  let values: Values

  /// The maximum number of rows for a caller.
  var rowsEach = 1

  /// The maximum number of rows of a statement for several callers. A caller's own may be more.
  private static let maximumRows = 1280

  /// Who may be asked for together with this caller, and how many.
  var group: PoolStateMachine.Group {
    switch values {
    case .numbers: .init(name: statement.name, together: max(1, min(16, Self.maximumRows / rowsEach)))
    // To find a row by its key costs PostgreSQL less than to take a question in and send an answer off.
    case .id: .init(name: statement.name, connections: 2, together: 64)
    }
  }

  /// The values of one caller.
  enum Values: Hashable, Sendable {
    /// An element for each of so many `float8[]`.
    case numbers([Double])
    /// An element for a `uuid[]`.
    case id(PointID)
  }

  /// The statement's values for several callers. All are asked with the same statement.
  static func parameters(of reads: [SharedRead]) -> Parameters {
    var parameters = Parameters()
    switch reads.first?.values {
    case .numbers(let numbers):
      for index in numbers.indices {
        parameters.add(
          reads.compactMap { read -> Double? in
            if case .numbers(let numbers) = read.values { numbers[index] } else { nil }
          }
        )
      }
    case .id:
      parameters.add(reads.compactMap { read -> PointID? in if case .id(let id) = read.values { id } else { nil } })
    case nil: break
    }
    return parameters
  }
}

/// Numbers, and the SQL that stands for them in a ``SharedRead``'s statement.
struct SharedNumbers: SpatialBinding {
  private(set) var numbers: [Double] = []

  mutating func bind(_ value: Double) -> String {
    numbers.append(value)
    return "n\(numbers.count)"
  }

  mutating func bind(_ value: EarthCentred) -> String {
    "ST_SetSRID(\(point(value.x, value.y, value.z)), 4978)"
  }

  mutating func bind(_ value: SpatialBox) -> String {
    let corners = [value.least, value.greatest].map { point($0.x, $0.y, $0.z) }
    return "ST_SetSRID(ST_MakeLine(\(corners[0]), \(corners[1])), 4978)"
  }

  private mutating func point(_ x: Double, _ y: Double, _ z: Double) -> String {
    "ST_MakePoint(\(bind(x)), \(bind(y)), \(bind(z)))"
  }

  /// What a statement takes the numbers from: a row for each caller, with the caller's number as `caller`.
  ///
  /// PostgreSQL would look into the arrays to guess their length, find that a plan for just these callers looks better
  /// than one for any, and plan anew each time; it doesn't look into subqueries.
  var source: String {
    let arrays = numbers.indices.map { "(SELECT $\($0 + 1)::float8[])" }.joined(separator: ", ")
    let names = numbers.indices.map { "n\($0 + 1)" }.joined(separator: ", ")
    return "unnest(\(arrays)) WITH ORDINALITY AS callers (\(names), caller)"
  }
}
