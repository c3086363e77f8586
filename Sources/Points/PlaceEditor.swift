import JSONText
import Synchronization

/// A store that takes changes, one at a time and in bulk, and gives everything away.
public typealias WritablePointStore = PointStore & PointWriter & PointImporter & PointExporter

/// What the service does to places, whoever asks and wherever the places are kept: the writing side of
/// ``PointsService``.
public struct PlaceEditor: Sendable {
  /// How often a change is tried again that others' changes came before. Each time one of them has succeeded.
  public static let maximumAttempts = 100

  private let store: any WritablePointStore
  private let importing = KeysInProgress()

  /// Creates an editor of a store's places.
  public init(store: any WritablePointStore) {
    self.store = store
  }

  /// Creates a place under a new id.
  ///
  /// - Parameter key: makes a repeat of the call answer as the first did, for ``IdempotencyKey/lifetime``.
  /// - Throws: ``PointWriteError``: `originTaken`, `keyInFlight`, `keyReused` or `store`.
  public func create(_ place: Place, once key: IdempotencyKey?) async throws(PointWriteError) -> PointOfInterest {
    try await store.create(place, once: key)
  }

  /// Replaces the place of that id, or creates it.
  ///
  /// - Throws: ``PointWriteError``: `originTaken`, `conditionFailed` or `store`.
  public func put(
    _ place: Place, id: PointID, if condition: WriteCondition
  ) async throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    try await store.put(place, id: id, if: condition)
  }

  /// Removes the place of that id.
  ///
  /// - Throws: ``PointWriteError``: `notFound`, `conditionFailed` or `store`.
  public func delete(id: PointID, if condition: WriteCondition) async throws(PointWriteError) {
    try await store.delete(id: id, if: condition)
  }

  /// Removes all places of a data set, batch by batch; others may read and write in between.
  ///
  /// - Returns: the number of places that were removed.
  /// - Throws: ``IncompleteDeletion`` when a batch fails or the task is cancelled. The batches before it stay removed.
  public func deletePlaces(ofSource source: String) async throws(IncompleteDeletion) -> Int {
    var count = 0
    var last: ExactText?
    repeat {
      let batch: DeletedBatch
      do throws(PointWriteError) {
        if Task.isCancelled { throw .store(.unavailable(reason: "the call was cancelled")) }
        batch = try await store.deleteBatch(ofSource: source, after: last)
      } catch {
        throw IncompleteDeletion(count: count, error: error)
      }
      count += batch.count
      last = batch.next
    } while last != nil
    return count
  }

  /// Changes the place of that id to what the closure makes of it.
  ///
  /// The change is made to the version that the closure saw, or not at all: where another change came between, the
  /// closure is called again with what that one left, so that neither is lost.
  ///
  /// - Throws: ``PlaceUpdateError``.
  public func update<Failure>(
    id: PointID,
    if condition: WriteCondition,
    _ change: (PointOfInterest) throws(Failure) -> Place
  ) async throws(PlaceUpdateError<Failure>) -> PointOfInterest {
    for _ in 0..<Self.maximumAttempts {
      let current: PointOfInterest?
      do {
        current = try await store.point(id: id)
      } catch {
        throw .write(.store(error))
      }
      guard let current else { throw .write(.notFound) }
      guard condition.holds(of: current.version) else {
        throw .write(.conditionFailed(currentVersion: current.version))
      }
      let changed: Place
      do {
        changed = try change(current)
      } catch {
        throw .change(error)
      }
      do {
        return try await store.put(changed, id: id, if: .versions([current.version])).point
      } catch {
        guard case .conditionFailed = error else { throw .write(error) }
      }
    }
    throw .contended
  }

  /// Takes all the rows but those it rejects, or none when the sequence or the store fails; see ``PointImporter``.
  ///
  /// - Throws: ``PointStoreError``, ``PointWriteError/keyInFlight``, ``PointWriteError/keyReused``, or what the sequence
  ///   throws; nothing has been taken then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, mode: ImportMode, dryRun: Bool, once key: ImportKey? = nil
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    guard let key, !dryRun else { return try await store.importRows(batches, mode: mode, dryRun: dryRun) }
    guard importing.insert(key.text) else { throw PointWriteError.keyInFlight }
    defer { importing.remove(key.text) }
    return try await store.importRows(batches, mode: mode, dryRun: dryRun, once: key)
  }

  /// Hands over every place that matches; see ``PointExporter``.
  ///
  /// - Throws: ``PointStoreError``, or what `consume` throws.
  public func exportPoints(
    matching query: PointQuery, to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    try await store.exportPoints(matching: query, to: consume)
  }
}

/// The keys of imports in progress here. A repeat that comes meanwhile is rejected before it takes anything: an import
/// lasts as long as its upload, and its repeats would wait behind it.
private final class KeysInProgress: Sendable {
  private let keys = Mutex<Set<[UInt8]>>([])

  /// Returns whether the key was not there.
  func insert(_ key: String) -> Bool { keys.withLock { $0.insert(Array(key.utf8)).inserted } }

  func remove(_ key: String) { keys.withLock { _ = $0.remove(Array(key.utf8)) } }
}

/// The reason that not all places of a data set were removed.
public struct IncompleteDeletion: Error, Hashable, Sendable {
  /// The number of places that were removed before.
  public let count: Int

  /// The error that ended the deletion.
  public let error: PointWriteError

  /// Creates an error.
  public init(count: Int, error: PointWriteError) {
    self.count = count
    self.error = error
  }
}

/// Why a place was not updated.
public enum PlaceUpdateError<Change: Error>: Error {
  /// The store did not make the change.
  case write(PointWriteError)
  /// What the place was to be changed to could not be made.
  case change(Change)
  /// Other changes came before, ``PlaceEditor/maximumAttempts`` times.
  case contended
}

extension PlaceUpdateError: Equatable where Change: Equatable {}
