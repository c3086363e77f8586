import CBundledSample
import PlaceFormats

/// The landmarks that are served where no other places are named.
enum BundledSample {
  /// The sample's GeoJSON, in one piece.
  static var chunks: AsyncStream<[UInt8]> {
    AsyncStream { continuation in
      continuation.yield(Array(UnsafeBufferPointer(start: waymark_sample_bytes(), count: waymark_sample_count())))
      continuation.finish()
    }
  }
}
