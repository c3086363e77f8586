import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/featured`: the featured place of the moment.
struct FeaturedRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/featured", scope: .read, id: "getFeaturedLocation", group: .search, link: "featured",
    summary: "Get the featured place", description: "A new one every 10 seconds, the same on every instance.",
    parameters: .translation, caching: .timed,
    responses: [.init(200, "The place.", headers: [.contentLanguage], media: .place)], problems: [.notFound])

  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request, fields: .standard, allowing: .translation)
    let featured = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.featuredPoint()
    }
    guard let (point, remainingSeconds) = featured else { throw .notFound("there are no places to feature") }
    var found = [FoundPoint(point: point, distanceMetres: nil)]
    let language = arguments.languages.translate(&found)
    var response = HTTPResponse(found[0], arguments)
    response.addContentLanguage(language)
    try await ContentCoding.apply(to: &response, of: request)
    response.addCaching(by: policy, maximumAgeSeconds: remainingSeconds)
    return response
  }
}
