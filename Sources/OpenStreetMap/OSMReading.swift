/// The state of a reader.
final class OSMReading {
  private(set) var report = OSMReport()

  init(
    _ file: OSMFile, _ selection: OSMSelection, _ options: OSMReaderOptions,
    _ onProgress: (@Sendable (OSMProgress) -> Void)?
  ) throws(OSMError) {
    throw .unreadable("the reader is not there yet")
  }

  func nextPlaces() throws(OSMError) -> [OSMPlace]? { nil }

  func nextChanges() throws(OSMError) -> [OSMChange]? { nil }
}
