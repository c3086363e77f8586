import PlaceFormats

/// The landmarks that are served where no other places are named.
enum BundledSample {
  /// The sample's GeoJSON, in one piece.
  static var chunks: AsyncStream<[UInt8]> {
    AsyncStream { continuation in
      continuation.yield(PackageResources.landmarks_geojson)
      continuation.finish()
    }
  }
}
