import APIDescription
import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/featured`: the featured place of the moment.
struct FeaturedRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/featured", scope: .read, joinsRestriction: true, id: "getFeaturedLocation", group: .search,
    link: "featured",
    summary: "Get the featured place", description: "A new one every 10 seconds, the same on every instance.",
    parameters: .translation, caching: .timed,
    responses: [.init(200, "The place.", headers: [.contentLanguage], media: .place)], problems: [.notFound])

  let service: PointsService
  let policy: CachePolicy
  let clock: any WallClock

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request, fields: .standard, allowing: .translation)
    let featured =
      service.isRestricted
      ? try await featuredOfFirst(request)
      : try await request.result(of: await service.featuredPoint(notBefore: request.minimumPosition))
    guard let (point, remainingSeconds) = featured else { throw .notFound("there are no places to feature") }
    var found = [FoundPoint(point: point, distanceMetres: nil)]
    let language = arguments.languages.translate(&found)
    var response = HTTPResponse(found[0], arguments)
    response.addContentLanguage(language)
    try await ContentCoding.apply(to: &response, of: request)
    response.addCaching(by: policy, maximumAgeSeconds: remainingSeconds)
    return response
  }

  /// The number of places among which that of a sender with a restriction is chosen.
  private static let restrictedCount = 100

  /// Returns the featured place among the first ones by id, and the number of seconds that it stays; `nil` when there
  /// are none.
  private func featuredOfFirst(
    _ request: HTTPRequest
  ) async throws(Problem) -> (point: PointOfInterest, remainingSeconds: Int64)? {
    let now = clock.now()
    let slot = FeaturedPlace.Slot(at: now)
    let query = PointQuery(limit: Self.restrictedCount)
    let points = try await service.page(matching: query, isRecorded: false, for: request) { $0.points }
    guard !points.isEmpty else { return nil }
    let choice = Int(FeaturedPlace.choice(at: slot) % UInt64(points.count))
    return (points[choice].point, slot.remainingSeconds(at: now))
  }
}
