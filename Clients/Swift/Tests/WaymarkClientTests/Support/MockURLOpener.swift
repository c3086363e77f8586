import Foundation
import WaymarkClient

/// Opens nothing, and remembers what it should have opened.
final class MockURLOpener: URLOpening {
  let canOpen: (URL) -> Bool
  private(set) var openedURLs: [URL] = []

  init(canOpen: @escaping (URL) -> Bool = { _ in true }) {
    self.canOpen = canOpen
  }

  func canOpenURL(_ url: URL) -> Bool { canOpen(url) }

  func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
    openedURLs.append(url)
    completion?(true)
  }
}
