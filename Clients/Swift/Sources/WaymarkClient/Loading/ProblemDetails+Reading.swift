import Foundation

extension ProblemDetails {
  /// The problem that an answer tells of; `nil` where its body is no problem details.
  ///
  /// Lenient: the status and the headers count most, and a member of another type than it should be is left out.
  init?(_ answer: HTTPAnswer, retryAfter: Duration?) {
    guard answer.mediaType == "application/problem+json",
      let body = try? JSONDecoder().decode(Body.self, from: answer.body)
    else { return nil }
    self.init(
      status: answer.status,
      code: Code(rawValue: body.code ?? ""),
      title: body.title,
      detail: body.detail,
      errors: body.errors,
      retryAfter: retryAfter,
      entityTag: answer.entityTag
    )
  }

  private struct Body: Decodable {
    private enum CodingKeys: CodingKey {
      case code, title, detail, errors
    }

    let code: String?
    let title: String?
    let detail: String?
    let errors: [InputError]

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      code = try? members.decode(String.self, forKey: .code)
      title = try? members.decode(String.self, forKey: .title)
      detail = try? members.decode(String.self, forKey: .detail)
      errors = (try? members.decode([ErrorBody].self, forKey: .errors))?.map(\.error) ?? []
    }
  }

  private struct ErrorBody: Decodable {
    private enum CodingKeys: CodingKey {
      case parameter, pointer, row, detail
    }

    let error: InputError

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      var location: InputError.Location?
      if let name = try? members.decode(String.self, forKey: .parameter) {
        location = .parameter(name)
      } else if let pointer = try? members.decode(String.self, forKey: .pointer) {
        location = .pointer(pointer)
      } else if let number = try? members.decode(Int.self, forKey: .row) {
        location = .row(number)
      }
      error = InputError(location: location, detail: (try? members.decode(String.self, forKey: .detail)) ?? "")
    }
  }
}
