package import Points

extension PointPage: Equatable {
  package static func == (left: PointPage, right: PointPage) -> Bool {
    left.points == right.points && left.next == right.next
  }

  /// The places of the page as copies of those that ``borrowed`` passes.
  package var copied: [FoundPoint] {
    var points: [FoundPoint] = []
    borrowed.forEach { points.append(FoundPoint(copying: $0)) }
    return points
  }
}

extension FoundPoint {
  fileprivate init(copying place: BorrowedPoint) {
    func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    var origin: SourceReference?
    if let source = place.source, let sourceID = place.sourceID {
      origin = SourceReference(source: text(source), sourceID: text(sourceID))
    }
    let draft = PointDraft(
      storedName: text(place.name), category: place.category.map(text), coordinate: place.coordinate,
      tags: Tags(storedJSON: text(place.tags.beginning) + text(place.tags.rest)), origin: origin)
    self.init(
      point: PointOfInterest(
        id: place.id, draft: draft, version: place.version, createdAt: place.createdAt, updatedAt: place.updatedAt),
      distanceMetres: place.distanceMetres, alongMetres: place.alongMetres)
  }
}
