import Foundation
import SwiftUI

/// The banner of a screen whose places come from the cache: "As of 14:05, without a connection."
struct OfflineBanner: View {
  let isStale: Bool
  let receivedAt: Date?

  var body: some View {
    if isStale, let receivedAt {
      Text("As of \(receivedAt.formatted(date: .omitted, time: .shortened)), without a connection.").font(.caption)
    }
  }
}
