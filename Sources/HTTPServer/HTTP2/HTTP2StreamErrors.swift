import NIOHTTP2

extension Error {
  /// Whether this is an error of one stream, which its client was told by RST_STREAM, and leaves the others alone.
  /// Any other ends the connection, and so does one that is not known.
  var isConfinedToAStream: Bool {
    switch self {
    case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.NoSuchStream,
      is NIOHTTP2Errors.BadStreamStateTransition, is NIOHTTP2Errors.TrailersWithoutEndStream,
      is NIOHTTP2Errors.FlowControlViolation, is NIOHTTP2Errors.InvalidFlowControlWindowSize:
      true
    case is NIOHTTP2Errors.InvalidPseudoHeaders, is NIOHTTP2Errors.UnknownPseudoHeader,
      is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
      is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.EmptyPathHeader,
      is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.MissingPseudoHeader,
      is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName,
      is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue:
      true
    case is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
      is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
      true
    default: false
    }
  }
}
