/// What a header field of an answer is to the server that sends it.
enum ResponseField {
  /// It says how the message is framed or when it was made: the server writes it itself.
  case serversOwn
  case contentLength
  case requestID
  case other

  /// Finds out by the name; most are told by its length alone.
  init(_ name: String) {
    self =
      switch name.utf8.count {
      case 4 where name.equalsIgnoringCase("date"), 10 where name.equalsIgnoringCase("connection"),
        17 where name.equalsIgnoringCase("transfer-encoding"):
        .serversOwn
      case 14 where name.equalsIgnoringCase("content-length"): .contentLength
      case 12 where name.equalsIgnoringCase(RequestID.headerName): .requestID
      default: .other
      }
  }
}
