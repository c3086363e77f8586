import Foundation

/// A message for the user: short, and with what to do next. Its English text is its key in `Localizable.xcstrings`.
enum Message: String, CaseIterable {
  case offline = "You are offline. Check your connection and try again."
  case timedOut = "The service takes too long to respond. Try again later."
  case unreachable = "The service can’t be reached. Try again later."
  case notReached = "This network may require you to sign in. Open a website to do so, then try again."
  case insecure = "There is no secure connection to the service. Try another network."
  case cancelled = "The request was cancelled."
  case failed = "The service has a problem. Try again later."
  case unreadable = "The response can’t be read. Update the app, or try again later."
  case tooLarge = "There is too much to load. Narrow your search."
  case rateLimited = "There were too many requests. Wait a moment and try again."
  case busy = "The service is busy. Try again in a moment."
  case unauthenticated = "You need to sign in. Do so and try again."
  case forbidden = "You don’t have permission to do this."
  case notFound = "This place doesn’t exist any more."
  case versionMismatch = "Someone else has changed this place. Load it again and repeat your change."
  case conflict = "This place exists already, or is being changed. Try again in a moment."
  case invalid = "Some of the entries are not valid. Check them and try again."
  case filterTimeout = "The search takes too long. Narrow it and try again."
  case outcomeUnknown = "It is not certain that your change was saved. Load the place again to see it."
  case unsupported = "The service doesn’t offer this."
  case servicesDisabled = "Location services are off. Turn them on in the settings."
  case noLocation = "Your location can’t be determined. Try again in another spot."
  case nothingOpens = "No app on this device can open this place."
  case invalidPosition = "This position is not valid."
  case invalidText = "Enter a text of 1 to 200 characters."
  case incompletePlace = "Load this place again before you change it."
  case defect = "The app can’t make this request. Update it, or tell its developer."

  /// The text in the language of the app.
  var text: String { MessageCatalogue.standard?.text(of: rawValue) ?? rawValue }
}

/// The catalogue `Localizable.xcstrings`, in the bundle of this library's resources.
///
/// Xcode compiles it into a table of each language. Elsewhere it is a file in JSON.
struct MessageCatalogue {
  private final class Token {}

  private struct File: Decodable {
    struct Text: Decodable {
      let localizations: [String: Localization]
    }
    struct Localization: Decodable {
      let stringUnit: Unit
    }
    struct Unit: Decodable {
      let value: String
    }

    let strings: [String: Text]
  }

  /// The catalogue; `nil` if the resources are missing, for example beside a program that was moved without them.
  static let standard: MessageCatalogue? = resources.flatMap { MessageCatalogue($0) }

  /// The accessor that the package manager generates ends the program if the bundle is missing.
  private static let resources: Bundle? = {
    let code = Bundle(for: Token.self)
    let folders = [Bundle.main.resourceURL, code.resourceURL, Bundle.main.bundleURL, code.bundleURL]
    for folder in folders.compactMap({ $0 }) + [code.bundleURL.deletingLastPathComponent()] {
      for suffix in ["bundle", "resources"] {
        if let bundle = Bundle(url: folder.appending(path: "waymark-client_WaymarkClient.\(suffix)")) { return bundle }
      }
    }
    return nil
  }()

  private let bundle: Bundle
  private let file: File?

  private init(_ bundle: Bundle) {
    self.bundle = bundle
    file = bundle.url(forResource: "Localizable", withExtension: "xcstrings").flatMap { url in
      (try? Data(contentsOf: url)).flatMap { try? JSONDecoder().decode(File.self, from: $0) }
    }
  }

  /// Returns the text in the language of the app.
  func text(of key: String) -> String {
    guard let file else { return bundle.localizedString(forKey: key, value: key, table: nil) }
    return text(of: key, for: Locale.preferredLanguages, in: file)
  }

  /// Returns the text in the language of the app, or on Linux of a locale.
  func text(of key: String, in locale: Locale) -> String {
    guard let file else { return bundle.localizedString(forKey: key, value: key, table: nil) }
    return text(of: key, for: [locale.identifier], in: file)
  }

  /// Returns the text in the first of the languages that there is, or else in English.
  func text(of key: String, for languages: [String]) -> String {
    file.map { text(of: key, for: languages, in: $0) } ?? key
  }

  private func text(of key: String, for languages: [String], in file: File) -> String {
    guard let texts = file.strings[key]?.localizations else { return key }
    for language in languages {
      let code = Locale.Language(identifier: language).languageCode?.identifier ?? language
      if let text = texts[code] { return text.stringUnit.value }
    }
    return texts["en"]?.stringUnit.value ?? key
  }
}

extension String {
  /// Returns the text as a sentence: with a capital letter and a full stop, and with the identifier of a request.
  func sentence(requestID: String? = nil) -> String {
    let end = hasSuffix(".") || hasSuffix("!") || hasSuffix("?") ? "" : "."
    let reference = requestID.map { " (Request \($0))" } ?? ""
    return prefix(1).uppercased() + dropFirst() + end + reference
  }
}
