import Foundation
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The values that the examples of the documentation comments use without declaring them.
@MainActor
struct ExampleContext {
  let baseURL: URL
  let session: URLSession
  let waymark: Waymark
  let account: Account
  let key: String
  let token: String

  let here: Coordinate
  let box: BoundingBox
  let area: SearchArea
  let route: SearchRoute
  let filter: PointFilter
  let id: UUID
  let place: PointOfInterest
  let details: PlaceDetails
  let draft: PointDraft
  let link: URL
  let position: String

  let data: Data
  let file: Data
  let fileURL: URL
  let folder: URL

  let provider: CurrentLocationProvider
  let model: PointListModel
  let copy: AreaCopy

  /// The account of a user at the app's own server.
  struct Account: Sendable {
    let id: String

    func accessToken(replacing rejected: String?) async throws -> String? { rejected.map { $0 + "+" } }
  }
}
