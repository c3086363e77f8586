import Basics
import Synchronization

/// A store that is read and written, one place at a time and in bulk.
public typealias WritablePointStore = PointStore & PointWriter & PointImporter & PointExporter

/// The changes of the service. It adds to a store what does not depend on where the places are: changes that consist of
/// several calls, and the rejection of imports that repeat one in progress. All other writes go to ``store`` directly.
public struct PointEditor: Sendable {
  /// The maximum number of attempts at an update that other changes come before. Each time one of those has succeeded.
  public static let maximumAttempts = 100

  /// The store of the places.
  public let store: any WritablePointStore

  private let importsInProgress = KeysInProgress()

  /// Creates an editor of a store's places.
  public init(store: any WritablePointStore) {
    self.store = store
  }

  /// Deletes all places of a data set, batch by batch; others may read and write in between.
  ///
  /// - Returns: the number of places that were deleted.
  /// - Throws: ``IncompleteDeletion`` when a batch fails or the task is cancelled. The batches before it stay deleted.
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

  /// Replaces the place of an id by the result of a closure.
  ///
  /// The change is made to the version that the closure received, or not at all: where another change came between, the
  /// closure is called again with the result of that one, so that neither is lost.
  ///
  /// - Throws: ``PointUpdateError``.
  public func update<Failure>(
    id: PointID,
    if condition: WriteCondition,
    _ change: (PointOfInterest) throws(Failure) -> PointDraft
  ) async throws(PointUpdateError<Failure>) -> PointOfInterest {
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
      let changed: PointDraft
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

  /// Imports all rows except those it rejects, or none when the sequence or the store fails; see ``PointImporter``.
  ///
  /// An import lasts as long as its upload, and its repeats would wait behind it. A repeat of one in progress here is
  /// rejected before its first row.
  ///
  /// - Throws: ``PointStoreError``, ``PointWriteError/keyInFlight``, ``PointWriteError/keyReused``, or the error of the
  ///   sequence; nothing has been imported then.
  public func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    guard let key = options.key, !options.dryRun else { return try await store.importRows(batches, options: options) }
    let keyText = ExactText(key.text)
    guard importsInProgress.keys.withLock({ $0.insert(keyText).inserted }) else { throw PointWriteError.keyInFlight }
    defer { importsInProgress.keys.withLock { _ = $0.remove(keyText) } }
    return try await store.importRows(batches, options: options)
  }
}

/// The keys of the imports in progress, shared by all copies of an editor.
private final class KeysInProgress: Sendable {
  let keys = Mutex<Set<ExactText>>([])
}

/// The error of a deletion that ended before the last place of a data set.
public struct IncompleteDeletion: Error, Hashable, Sendable {
  /// The number of places that were deleted before.
  public let count: Int

  /// The error that ended the deletion.
  public let error: PointWriteError
}

/// The error of an update that was not made.
public enum PointUpdateError<Change: Error>: Error {
  /// The store did not make the change.
  case write(PointWriteError)
  /// The closure failed.
  case change(Change)
  /// Other changes came before, ``PointEditor/maximumAttempts`` times.
  case contended
}

extension PointUpdateError: Equatable where Change: Equatable {}
