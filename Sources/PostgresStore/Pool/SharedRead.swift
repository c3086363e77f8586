import Geo
import Points

/// A read whose statement can serve several callers at a time.
///
/// For a query of a few places, PostgreSQL spends about as much on receiving, starting and ending the statement as on
/// executing it. When more callers wait than there are connections, several of their queries are sent as one statement,
/// which joins the numbers of each caller with the rows it finds.
struct SharedRead: Sendable {
  /// The statement. It takes an array for each value, with an element for each caller; its last column is the caller's
  /// number, from 1.
  let statement: Statement

  /// The values of this caller.
  let values: Values

  /// The maximum number of rows for a caller.
  var rowsEach = 1

  /// The maximum number of rows of a batch. A single caller's rows may be more.
  private static let maximumRows = 1280

  /// The group of reads that can be sent together, and its limits.
  var group: PoolStateMachine.Group {
    switch values {
    case .numbers: .init(name: statement.name, batchSize: max(1, min(16, Self.maximumRows / rowsEach)))
    // Finding a row by its key costs PostgreSQL less than receiving a query and sending a result.
    case .id: .init(name: statement.name, connections: 2, batchSize: 64)
    }
  }

  enum Values: Hashable, Sendable {
    /// One element for each `float8[]`.
    case numbers([Double])
    /// One element for a `uuid[]`.
    case id(PointID)
  }

  /// Returns the parameters for several callers of the same statement.
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

/// The numbers of a ``SharedRead``, and the SQL expressions that refer to them.
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

  /// The source of the numbers in a statement: one row for each caller, with the caller's number as `caller`.
  ///
  /// The planner would inspect array parameters to estimate their length, consider a custom plan cheaper than the
  /// generic one, and plan each execution anew. It doesn't inspect subqueries.
  var source: String {
    let arrays = numbers.indices.map { "(SELECT $\($0 + 1)::float8[])" }.joined(separator: ", ")
    let names = numbers.indices.map { "n\($0 + 1)" }.joined(separator: ", ")
    return "unnest(\(arrays)) WITH ORDINALITY AS callers (\(names), caller)"
  }
}
