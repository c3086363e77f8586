import Foundation
import Testing

@testable import WaymarkClient

/// Tests of the messages for users and of the catalogue with their translations.
@Suite struct MessageTests {
  private struct Catalogue: Decodable {
    struct Text: Decodable {
      let localizations: [String: [String: Unit]]
    }
    struct Unit: Decodable {
      let state: String
      let value: String
    }

    let sourceLanguage: String
    let strings: [String: Text]

    init() throws {
      let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/WaymarkClient/Messages/Localizable.xcstrings").standardized
      self = try JSONDecoder().decode(Self.self, from: try Data(contentsOf: file))
    }
  }

  private static let languages = ["de", "en", "es", "fr", "ja", "ko"]

  @Test(arguments: languages) func everyMessageIsTranslated(language: String) throws {
    let catalogue = try Catalogue()

    for message in Message.allCases {
      let text = try #require(catalogue.strings[message.rawValue]?.localizations[language]?["stringUnit"])
      #expect(text.state == "translated")
      #expect((text.value == message.rawValue) == (language == "en"), "\(message) in \(language)")
      #expect((5...110).contains(text.value.count), "\(message) in \(language)")
      #expect(text.value.last == (language == "ja" ? "。" : "."))
      #expect(MessageCatalogue.standard?.text(of: message.rawValue, for: ["xx", language]) == text.value)
    }
  }

  @Test(arguments: languages) func wordsOfOpeningHoursAreTranslated(language: String) throws {
    let catalogue = try Catalogue()

    for words in HoursText.allCases {
      let text = try #require(catalogue.strings[words.rawValue]?.localizations[language]?["stringUnit"])
      #expect(text.state == "translated")
      #expect((text.value == words.rawValue) == (language == "en"), "\(words) in \(language)")
      #expect(text.value.contains("%@") == words.rawValue.contains("%@"))
    }
  }

  @Test func theCatalogueHasNoOtherTexts() throws {
    let catalogue = try Catalogue()

    #expect(
      Set(catalogue.strings.keys) == Set(Message.allCases.map(\.rawValue) + HoursText.allCases.map(\.rawValue)))
    #expect(catalogue.sourceLanguage == "en")
    #expect(catalogue.strings.values.allSatisfy { $0.localizations.count == Self.languages.count })
  }

  @Test(arguments: [
    ("de-AT", "Der Dienst ist nicht erreichbar. Versuche es später erneut."),
    ("es-419", "No se puede acceder al servicio. Inténtalo más tarde."),
    ("ko", "서비스에 연결할 수 없습니다. 나중에 다시 시도하세요."),
    ("tlh", "The service can’t be reached. Try again later."),
  ])
  func regionsHaveTheTextOfTheirLanguage(language: String, text: String) {
    #expect(MessageCatalogue.standard?.text(of: Message.unreachable.rawValue, for: [language]) == text)
  }

  private static let problems: [(ProblemDetails.Code, Int, Message)] = [
    (.missingParameter, 400, .invalid), (.invalidParameter, 400, .invalid), (.unknownParameter, 400, .invalid),
    (.malformedBody, 400, .invalid), (.unauthenticated, 401, .unauthenticated), (.forbidden, 403, .forbidden),
    (.notFound, 404, .notFound), (.bodyTooLarge, 413, .invalid), (.uriTooLong, 414, .invalid),
    (.conflict, 409, .conflict), (.versionMismatch, 412, .versionMismatch), (.invalidPlace, 422, .invalid),
    (.ifMatchRequired, 428, .versionMismatch), (.idempotencyKeyReused, 422, .invalid),
    (.rateLimited, 429, .rateLimited),
    (.internal, 500, .failed), (.notImplemented, 501, .unsupported), (.filterTimeout, 503, .filterTimeout),
    (.storeUnavailable, 503, .busy), (.overloaded, 503, .busy), (.storeTimeout, 504, .timedOut),
    (.outcomeUnknown, 504, .outcomeUnknown), (ProblemDetails.Code(rawValue: "new"), 500, .failed),
  ]

  @Test(arguments: problems) func problemHasItsMessage(code: ProblemDetails.Code, status: Int, message: Message) {
    let detail = "The current version of the place is 1795463085017261."
    let problem = ProblemDetails(status: status, code: code, detail: detail, requestID: "6j6pw")
    let error = WaymarkError.problem(problem)

    #expect(error.localizedDescription == message.text)
    #expect(error.failureReason == "\(detail) (Request 6j6pw)")
  }

  private static let errors: [(any LocalizedError, Message)] = [
    (WaymarkError.unexpectedStatus(502), .failed), (WaymarkError.unreadable(status: 200, reason: "R"), .unreadable),
    (WaymarkError.tooLarge(maximumBytes: 1), .tooLarge), (WaymarkError.untrustedLink("L"), .failed),
    (WaymarkError.repeatedPage("L"), .failed), (WaymarkError.untrustedRedirect("L"), .failed),
    (WaymarkError.unreachable(.notConnectedToInternet), .offline), (WaymarkError.unreachable(.timedOut), .timedOut),
    (WaymarkError.unreachable(.cannotFindHost), .unreachable), (WaymarkError.unreachable(.cancelled), .cancelled),
    (WaymarkError.unreachable(.secureConnectionFailed), .insecure), (WaymarkError.notReached(reason: "R"), .notReached),
    (RequestError.invalidCoordinate, .invalidPosition), (RequestError.invalidText, .invalidText),
    (RequestError.incompletePlace, .incompletePlace), (RequestError.invalidAPIKey, .unauthenticated),
    (RequestError.invalidLimit, .defect), (LocationError.servicesDisabled, .servicesDisabled),
    (LocationError.noLocation, .noLocation), (PointOpenerError.nothingOpens, .nothingOpens),
    (PointOpenerError.invalidScheme("1"), .defect),
    (RequestError.invalidBox, .invalidPosition), (RequestError.invalidGeometry("R"), .invalidPosition),
  ]

  @Test(arguments: errors) func errorHasItsMessage(error: any LocalizedError, message: Message) {
    #expect(error.localizedDescription == message.text)
    #expect(error.failureReason != nil && error.failureReason != message.text)
  }
}
